#include "diagnosis/routes.h"

#include <algorithm>
#include <map>

namespace ringtrue::diagnosis {

using topology::Routes;

NodeRoutes::NodeRoutes(std::shared_ptr<const Routes> routes, std::vector<std::vector<int>> ports)
    : routes_(std::move(routes)), ports_(std::move(ports)) {
  for (const auto& list : ports_) rails_ = std::max(rails_, int(list.size()));
}

NodeRoutes::NodeRoutes(std::shared_ptr<const Routes> routes, std::vector<std::vector<int>> ports, Ways ways)
    : NodeRoutes(std::move(routes), std::move(ports)) {
  ways_ = std::move(ways);
}

int NodeRoutes::port(int node, int rail) const {
  const auto& list = ports_[std::size_t(node)];
  return rail < int(list.size()) ? list[std::size_t(rail)] : -1;
}

int NodeRoutes::switch_of(int node, int rail) const {
  const int p = port(node, rail);
  return p < 0 ? -1 : routes_->ports()[std::size_t(p)].at;
}

bool NodeRoutes::way(int source, int destination, int rail, std::vector<int>& trunks) const {
  const int from = port(source, rail), to = port(destination, rail);
  if (from < 0 || to < 0) return false;
  if (by_hop()) {
    const auto& own = ways_[std::size_t(source) * ports_.size() + std::size_t(destination)];
    if (own) trunks.insert(trunks.end(), own->begin(), own->end());
    return own.has_value();
  }
  std::vector<int> way;
  if (routes_->way(from, to, way) != Routes::Way::known) return false;
  trunks.insert(trunks.end(), way.begin(), way.end());
  return true;
}

std::vector<int> NodeRoutes::way(int source, int destination) const {
  std::vector<int> trunks;
  for (int rail = 0; rail < rails_; ++rail) way(source, destination, rail, trunks);
  return trunks;
}

std::vector<int> NodeRoutes::leaves() const {
  std::map<std::vector<int>, int> numbers;
  std::vector<int> out;
  for (int node = 0; node < nodes(); ++node) {
    std::vector<int> on;
    for (int rail = 0; rail < rails_; ++rail) on.push_back(switch_of(node, rail));
    out.push_back(numbers.try_emplace(on, int(numbers.size())).first->second);
  }
  return out;
}

std::shared_ptr<const NodeRoutes> routes_between(const std::vector<std::string>& nodes,
                                                 std::shared_ptr<const Routes> routes, std::string& missing) {
  std::vector<std::vector<int>> ports;
  for (const std::string& node : nodes) {
    ports.push_back(routes->ports_of(node));
    if (!ports.back().empty()) continue;
    missing = node;
    return nullptr;
  }
  return std::make_shared<const NodeRoutes>(std::move(routes), std::move(ports));
}

}  // namespace ringtrue::diagnosis
