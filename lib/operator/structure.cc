#include "operator/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "formats/format.h"
#include "formats/leaves.h"

namespace ringtrue::ops {

Result<diagnosis::Structure> structure_by_leaves(const std::string& file,
                                                 const std::vector<std::string>& nodes) {
  static constexpr const char* wanted =
      "give a topology.conf of Slurm, a file of ibnetdiscover, or lines like 'leaf1: node[1-18]'";
  auto text = read_file(file, formats::max_file_bytes);
  if (!text)
    return fail(Cause::bad_input, fmt::format("{}: {}", file, text.error().what), "--leaves", wanted);
  const auto named = [&](Error error) {
    error.what = fmt::format("{}: {}", file, error.what);
    error.where = "--leaves";
    if (error.next.empty()) error.next = wanted;
    return tl::unexpected(std::move(error));
  };
  const auto leaves = formats::read_leaves(*text);
  if (!leaves) return named(leaves.error());
  auto numbers = formats::leaf_numbers(*leaves, nodes);
  if (!numbers) return named(numbers.error());
  diagnosis::Structure structure;
  structure.leaf = std::move(numbers->of);
  structure.leaf_names = std::move(numbers->names);
  return structure;
}

Result<diagnosis::Structure> structure_by_routes(topology::Routes routes,
                                                 const std::vector<std::string>& nodes) {
  std::string missing;
  diagnosis::Structure structure;
  structure.routes =
      diagnosis::routes_between(nodes, std::make_shared<const topology::Routes>(std::move(routes)), missing);
  if (!structure.routes)
    return fail(Cause::bad_input, "no port of it is in the fabric of --routes", missing,
                "name the node as ibnetdiscover does, or leave --routes out");
  structure.leaf = structure.routes->leaves();
  return structure;
}

std::vector<double> port_rates(const topology::Cluster& cluster, const std::vector<std::string>& nodes) {
  std::vector<double> out;
  for (const std::string& node : nodes) {
    double most = 0;
    for (const topology::Node& seen : cluster.nodes) {
      if (seen.name != node) continue;
      for (const topology::Nic& nic : seen.nics)
        for (const topology::Port& port : nic.ports)
          if (!nic.virtual_device && port.max_rate.value) most = std::max(most, port.max_rate.value->value);
    }
    out.push_back(most);
  }
  return out;
}

}  // namespace ringtrue::ops
