#include "diagnosis/traced_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace ringtrue::diagnosis {
namespace {

class TracedFabric {
 public:
  TracedFabric(const std::vector<std::string>& nodes, const std::vector<run::Way>& ways)
      : nodes_(nodes), ways_(ways), group_(nodes.size()) {
    std::iota(group_.begin(), group_.end(), 0);
    join_groups();
    name_switches();
  }

  std::shared_ptr<const NodeRoutes> routes() {
    const std::size_t n = nodes_.size();
    NodeRoutes::Ways out(n * n);
    for (const run::Way& way : ways_)
      if (way.known) out[std::size_t(way.source) * n + std::size_t(way.destination)] = trunks_of(way);
    if (routes_->trunks().empty()) return nullptr;
    std::vector<std::vector<int>> ports;
    for (std::size_t node = 0; node < n; ++node)
      ports.push_back({routes_->add_port({nodes_[node], "", switch_of(int(node)), 0})});
    return std::make_shared<const NodeRoutes>(routes_, std::move(ports), std::move(out));
  }

 private:
  int root(int node) const {
    while (group_[std::size_t(node)] != node) node = group_[std::size_t(node)];
    return node;
  }
  void join(int a, int b) { group_[std::size_t(std::max(root(a), root(b)))] = std::min(root(a), root(b)); }

  void join_groups() {
    std::map<std::string, int> first;  // router: who meets it first
    for (const run::Way& way : ways_) {
      if (way.known && way.routers.size() < 2) join(way.source, way.destination);
      if (!way.routers.empty()) join(first.try_emplace(way.routers[0], way.source).first->second, way.source);
    }
  }

  void name_switches() {
    std::map<int, std::string> names;  // by group
    for (const run::Way& way : ways_) {
      if (way.routers.empty()) continue;
      std::string& name = names[root(way.source)];
      if (name.empty() || way.routers[0] < name) name = way.routers[0];
    }
    for (int node = 0; node < int(nodes_.size()); ++node) {
      if (root(node) != node) continue;
      const std::string& name = names[node];
      switch_[node] =
          routes_->add_switch(name.empty() ? "the network of " + nodes_[std::size_t(node)] : name);
    }
    for (const run::Way& way : ways_) {
      if (!way.routers.empty()) by_address_.try_emplace(way.routers[0], switch_of(way.source));
      if (way.known && way.routers.size() > 1)
        by_address_.try_emplace(way.routers.back(), switch_of(way.destination));
    }
  }

  int switch_of(int node) const { return switch_.at(root(node)); }

  int switch_at(const std::string& address) {
    const auto [at, fresh] = by_address_.try_emplace(address, -1);
    if (fresh) at->second = routes_->add_switch(address);
    return at->second;
  }

  std::vector<int> trunks_of(const run::Way& way) {
    std::vector<int> out;
    int at = switch_of(way.source);
    for (std::size_t i = 1; i < way.routers.size(); ++i) {
      const bool last = i + 1 == way.routers.size();
      const int to = last ? switch_of(way.destination) : switch_at(way.routers[i]);
      if (to == at) continue;
      const auto [known, fresh] = trunk_.try_emplace(std::pair(at, to), -1);
      if (fresh) known->second = routes_->add_trunk({at, -1, to, -1, -1});
      out.push_back(known->second);
      at = to;
    }
    return out;
  }

  const std::vector<std::string>& nodes_;
  const std::vector<run::Way>& ways_;
  std::vector<int> group_;  // by node: another of the same switch
  std::shared_ptr<topology::Routes> routes_ = std::make_shared<topology::Routes>();
  std::map<int, int> switch_;  // by group
  std::map<std::string, int> by_address_;
  std::map<std::pair<int, int>, int> trunk_;  // by its switches
};

}  // namespace

std::shared_ptr<const NodeRoutes> traced_routes(const std::vector<std::string>& nodes,
                                                const std::vector<run::Way>& ways) {
  const auto known = std::count_if(ways.begin(), ways.end(), [](const run::Way& way) { return way.known; });
  if (known == 0 || std::size_t(known) * 2 < nodes.size() * (nodes.size() - 1)) return nullptr;
  return TracedFabric(nodes, ways).routes();
}

}  // namespace ringtrue::diagnosis
