// Which trunks the hops between the nodes of a check cross, where that is known.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "topology/routes.h"

namespace ringtrue::diagnosis {

class NodeRoutes {
 public:
  // `ports`: by node its ports, one a rail, -1 where it has none.
  NodeRoutes(std::shared_ptr<const topology::Routes> routes, std::vector<std::vector<int>> ports);
  // Where each hop has a way of its own, as traced connections have: `ways` by source * nodes + destination,
  // nullopt where it is not known; one port a node.
  using Ways = std::vector<std::optional<std::vector<int>>>;
  NodeRoutes(std::shared_ptr<const topology::Routes> routes, std::vector<std::vector<int>> ports, Ways ways);

  // Whether nodes on the same switches may have other ways to one node.
  bool by_hop() const { return !ways_.empty(); }

  const topology::Routes& all() const { return *routes_; }
  int nodes() const { return int(ports_.size()); }
  int rails() const { return rails_; }
  int port(int node, int rail) const;       // -1: none
  int switch_of(int node, int rail) const;  // -1: unknown

  // Appends the trunks that a rail of a hop crosses. False: not all of them are known.
  bool way(int source, int destination, int rail, std::vector<int>& trunks) const;
  // Those of all rails, as far as they are known.
  std::vector<int> way(int source, int destination) const;
  // By node: a number for all switches that it hangs on.
  std::vector<int> leaves() const;

 private:
  std::shared_ptr<const topology::Routes> routes_;
  std::vector<std::vector<int>> ports_;
  Ways ways_;
  int rails_ = 0;
};

// By the nodes' names; nullptr where some node has no port in the fabric.
std::shared_ptr<const NodeRoutes> routes_between(const std::vector<std::string>& nodes,
                                                 std::shared_ptr<const topology::Routes> routes,
                                                 std::string& missing);

}  // namespace ringtrue::diagnosis
