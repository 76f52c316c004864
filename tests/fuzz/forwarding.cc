// Forwarding tables: any text is read or refused with a line, in pieces as at once; what is read leads
// somewhere or is unknown.
#include "formats/forwarding.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue;
  using namespace ringtrue::formats;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ForwardingReader::knows(text);
  ForwardingReader whole, pieces;
  auto read = whole.read(text);
  if (read) read = whole.end_of_file();
  auto again = pieces.read(text.substr(0, size / 3));
  if (again) again = pieces.read(text.substr(size / 3));
  if (again) again = pieces.end_of_file();
  expect(read.has_value() == again.has_value());
  if (!read) {
    expect(read.error().what.starts_with("line ") && read.error().what == again.error().what);
    return 0;
  }
  const Forwarding forwarding = whole.take();
  const auto routes = routes_of({}, forwarding);
  if (!routes) {
    expect(!routes.error().what.empty());
    return 0;
  }
  const topology::RouteUse use = topology::use_of(*routes);
  expect(use.pairs == use.known + use.unknown + use.none);
  return 0;
}
