// NCCL's topology: any text is read or refused, with names of GPUs and NICs that are unique.
#include <set>

#include "formats/format.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::formats;
  using namespace ringtrue::topology;
  const auto node = read_nccl_xml(std::string_view(reinterpret_cast<const char*>(data), size), "fuzzed");
  if (!node) {
    expect(!node.error().what.empty());
    return 0;
  }
  std::set<std::string> names;
  for (const Gpu& gpu : node->gpus) expect(names.insert(gpu.name).second);
  names.clear();
  for (const Nic& nic : node->nics) expect(names.insert(nic.name).second);
  expect(read_hwloc_xml(write_hwloc_xml(*node), "again").has_value());
  return 0;
}
