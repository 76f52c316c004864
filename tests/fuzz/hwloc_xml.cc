// hwloc's XML: any text is read or refused, and what was read can be written as hwloc's XML and read again.
#include "formats/format.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::formats;
  const auto node = read_hwloc_xml(std::string_view(reinterpret_cast<const char*>(data), size), "fuzzed");
  if (!node) {
    expect(!node.error().what.empty());
    return 0;
  }
  const auto again = read_hwloc_xml(write_hwloc_xml(*node), "again");
  expect(again.has_value());
  expect(again->pci.size() == node->pci.size());
  expect(again->gpus.size() == node->gpus.size());
  return 0;
}
