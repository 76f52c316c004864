// Files that say which leaves nodes hang below: any text is read or refused, and what is read names leaves.
#include "formats/leaves.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::formats;
  const auto leaves = read_leaves(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!leaves) {
    expect(!leaves.error().what.empty());
    return 0;
  }
  expect(!leaves->empty());
  std::vector<std::string> nodes;
  for (const auto& [node, switches] : *leaves) {
    expect(!switches.empty());
    nodes.push_back(node);
  }
  const auto numbers = leaf_numbers(*leaves, nodes);
  expect(numbers && numbers->of.size() == nodes.size() && !numbers->names.empty());
  return 0;
}
