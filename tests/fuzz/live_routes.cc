// What a daemon says of its fabric: any text becomes routes or is refused in a line; what is read leads
// somewhere or is unknown.
#include "operator/routes.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue;
  const auto known = ops::read_live_routes(std::string(reinterpret_cast<const char*>(data), size));
  if (!known) {
    expect(!known.error().what.empty() && known.error().what.find('\n') == std::string::npos);
    return 0;
  }
  for (const std::string& note : known->notes) expect(note.size() <= 256 && note.find('\n') == note.npos);
  const topology::RouteUse use = topology::use_of(known->routes);
  expect(use.pairs == use.known + use.unknown + use.none);
  return 0;
}
