// Topo documents: any text is read or refused in one line; what is read is written and read again as the
// same, and whatever it says of parents and peers, what is worked out of it comes to an end.
#include "topology/json.h"

#include <set>
#include <string>

#include "tests/fuzz/expect.h"
#include "topology/links.h"
#include "topology/merge.h"
#include "topology/path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue;
  using namespace ringtrue::topology;
  const auto cluster = from_json({reinterpret_cast<const char*>(data), size});
  if (!cluster) {
    expect(!cluster.error().what.empty() && cluster.error().what.find('\n') == std::string::npos);
    return 0;
  }
  const auto again = from_json(to_json(*cluster));
  expect(again && *again == *cluster);
  expect(*from_json(to_json(*cluster, -1)) == *cluster);
  const Cluster merged = merge({*cluster, *cluster});
  std::set<std::string> names, unique;  // nodes of one name may be one
  for (const Node& node : cluster->nodes) names.insert(node.name);
  for (const Node& node : merged.nodes) unique.insert(node.name);
  expect(merged.nodes.size() >= names.size() && unique.size() == merged.nodes.size());
  for (const Node& node : merged.nodes)
    for (const Gpu& gpu : node.gpus) {
      path_to_root(node, gpu.name);
      for (const Nic& nic : node.nics) path(node, gpu.name, nic.name);
      for (const Gpu& other : node.gpus) path(node, gpu.name, other.name);
    }
  return 0;
}
