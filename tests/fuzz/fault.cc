// Fault scripts: any text is read or refused, and each fault's own text reads back as one fault of that text.
#include "collective/fault.h"

#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::collective;
  const auto faults = parse_faults({reinterpret_cast<const char*>(data), size});
  if (!faults) {
    expect(!faults.error().what.empty());
    return 0;
  }
  for (const Fault& fault : *faults) {
    const std::string text = to_text(fault);
    const auto again = parse_faults(text);
    expect(again && again->size() == 1);
    expect(again->front().kind == fault.kind && again->front().source == fault.source &&
           again->front().destination == fault.destination && again->front().nth == fault.nth &&
           again->front().share == fault.share && again->front().seed == fault.seed);
    expect(to_text(again->front()) == text);
  }
  return 0;
}
