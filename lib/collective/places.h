// Who shares a node with whom.
#pragma once

#include <algorithm>
#include <vector>

#include "collective/types.h"

namespace ringtrue::collective {

struct Places {
  std::vector<std::vector<Rank>> nodes;  // ranks of each node, rising; nodes in order of their first rank
  std::size_t node = 0;                  // where `rank` is: nodes[node][local]
  std::size_t local = 0;

  const std::vector<Rank>& neighbours() const { return nodes[node]; }
  bool uniform() const {
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](const auto& n) { return n.size() == nodes[0].size(); });
  }
};

inline Places places_of(const Layout& layout, Rank rank) {
  Places places;
  const auto& of = layout.node_of_rank;
  const int highest = of.empty() ? 0 : *std::max_element(of.begin(), of.end());
  std::vector<int> index(std::size_t(highest) + 1, -1);
  for (Rank r = 0; r < layout.ranks(); ++r) {
    int& node = index[std::size_t(of[std::size_t(r)])];
    if (node < 0) {
      node = int(places.nodes.size());
      places.nodes.emplace_back();
    }
    std::vector<Rank>& members = places.nodes[std::size_t(node)];
    if (r == rank) {
      places.node = std::size_t(node);
      places.local = members.size();
    }
    members.push_back(r);
  }
  return places;
}

}  // namespace ringtrue::collective
