// Scripts of fabric faults and places: any text is read or refused, and each one's own text reads back as the
// same.
#include "sim/fabric_fault.h"

#include "sim/network.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::sim;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto place = parse_place(text)) expect(parse_place(to_text(*place)) == *place);
  const auto faults = parse_fabric_faults(text);
  if (!faults) {
    expect(!faults.error().what.empty());
    return 0;
  }
  Fabric fabric;
  fabric.nodes = 16;
  fabric.leaf = 2;
  fabric.pod = 4;
  fabric.cables = 2;
  for (const FabricFault& fault : *faults) {
    const std::string written = to_text(fault);
    const auto again = parse_fabric_faults(written);
    expect(again && again->size() == 1 && to_text(again->front()) == written);
    expect(again->front().place == fault.place && again->front().kind == fault.kind);
    expect(contains(fault.place, fault.place));
    fabric.faults = {fault};
    if (check(fabric)) Network(fabric, 1, 0);
  }
  return 0;
}
