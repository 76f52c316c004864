#include "topology/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <string_view>

#include "base/statistics.h"

namespace ringtrue::topology {

int Routes::add_switch(std::string name) {
  switches_.push_back({std::move(name)});
  return switches() - 1;
}

int Routes::add_trunk(const Trunk& trunk) {
  if (trunk.from_port >= 0) {
    auto& list = switches_[std::size_t(trunk.from)].trunk;
    if (list.size() <= std::size_t(trunk.from_port)) list.resize(std::size_t(trunk.from_port) + 1, -1);
    list[std::size_t(trunk.from_port)] = int(trunks_.size());
  }
  trunks_.push_back(trunk);
  return int(trunks_.size()) - 1;
}

int Routes::add_port(RoutedPort port) {
  ports_.push_back(std::move(port));
  return int(ports_.size()) - 1;
}

std::uint16_t& Routes::out_of(int at, int port) {
  auto& out = switches_[std::size_t(at)].out;
  if (out.size() <= std::size_t(port))
    out.resize(std::max(ports_.size(), std::size_t(port) + 1), unknown_port);
  return out[std::size_t(port)];
}

void Routes::send(int at, int port, int out) {
  out_of(at, port) = std::uint16_t(out);
}

void Routes::no_way(int at, int port) {
  out_of(at, port) = no_way_port;
}

std::vector<int> Routes::ports_of(const std::string& node) const {
  const auto find = [&](std::string_view name) {
    std::vector<int> out;
    for (std::size_t i = 0; i < ports_.size(); ++i)
      if (ports_[i].node == name) out.push_back(int(i));
    return out;
  };
  std::vector<int> out = find(node);
  if (out.empty()) out = find(std::string_view(node).substr(0, node.find('.')));
  std::stable_sort(out.begin(), out.end(), [&](int a, int b) {
    const std::string &x = ports_[std::size_t(a)].device, &y = ports_[std::size_t(b)].device;
    return x.size() != y.size() ? x.size() < y.size() : x < y;  // mlx5_2 before mlx5_10
  });
  return out;
}

Routes::Way Routes::next(int at, int port, int& trunk) const {
  const Switch& here = switches_[std::size_t(at)];
  trunk = -1;
  if (ports_[std::size_t(port)].at == at) return Way::known;
  if (here.out.size() <= std::size_t(port)) return Way::unknown;
  const std::uint16_t out = here.out[std::size_t(port)];
  if (out == unknown_port) return Way::unknown;
  if (out == no_way_port) return Way::none;
  if (out < here.trunk.size()) trunk = here.trunk[out];
  return trunk >= 0 ? Way::known : Way::unknown;  // by a cable that nobody told of
}

Routes::Way Routes::way(int from, int to, std::vector<int>& trunks) const {
  trunks.clear();
  int at = ports_[std::size_t(from)].at;
  const int end = ports_[std::size_t(to)].at;
  while (at != end) {
    int trunk = -1;
    if (const Way way = next(at, to, trunk); way != Way::known) return way;
    if (int(trunks.size()) > switches()) return Way::none;
    trunks.push_back(trunk);
    at = trunks_[std::size_t(trunk)].to;
  }
  return Way::known;
}

std::string Routes::end(int at, int port) const {
  return port < 0 ? name(at) : fmt::format("{} port {}", name(at), port);
}

std::string Routes::text(const Trunk& t) const {
  return fmt::format("{} -> {}", end(t.from, t.from_port), end(t.to, t.to_port));
}

std::string Routes::cable(const Trunk& t) const {
  return fmt::format("{} <-> {}", end(t.from, t.from_port), end(t.to, t.to_port));
}

namespace {

// The ports on each switch, and how far each switch is from one that has any.
struct Shape {
  explicit Shape(const Routes& routes)
      : ports(std::size_t(routes.switches())), level(std::size_t(routes.switches()), -1) {
    for (const RoutedPort& port : routes.ports()) ++ports[std::size_t(port.at)];
    std::vector<std::vector<int>> neighbours(ports.size());
    for (const Trunk& t : routes.trunks()) neighbours[std::size_t(t.from)].push_back(t.to);
    std::queue<int> next;
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (ports[i] > 0) level[i] = 0, next.push(int(i));
    for (; !next.empty(); next.pop())
      for (const int other : neighbours[std::size_t(next.front())])
        if (level[std::size_t(other)] < 0)
          level[std::size_t(other)] = level[std::size_t(next.front())] + 1, next.push(other);
  }
  std::vector<std::int64_t> ports;
  std::vector<int> level;
};

// What is sent to one port from everywhere: switches in the order of their way to it, each after those whose
// way goes over it.
class Tree {
 public:
  Tree(const Routes& routes, const Shape& shape)
      : routes_(routes),
        shape_(shape),
        trunk_(shape.ports.size()),
        fate_(trunk_.size()),
        pairs_(trunk_.size()) {}

  void add(int port, RouteUse& use) {
    const int end = routes_.ports()[std::size_t(port)].at;
    std::fill(fate_.begin(), fate_.end(), Fate::open);
    fate_[std::size_t(end)] = Fate::arrives;
    std::vector<int> order;  // each after what its way goes over
    for (int s = 0; s < int(fate_.size()); ++s)
      if (shape_.ports[std::size_t(s)] > 0) settle(s, port, order);
    std::fill(pairs_.begin(), pairs_.end(), 0);
    for (std::size_t s = 0; s < fate_.size(); ++s) {
      const std::int64_t own = int(s) == end ? 0 : shape_.ports[s];
      use.pairs += own;
      (fate_[s] == Fate::arrives ? use.known : fate_[s] == Fate::lost ? use.none : use.unknown) += own;
      pairs_[s] = fate_[s] == Fate::arrives ? own : 0;
    }
    for (auto s = order.rbegin(); s != order.rend(); ++s) {
      const int trunk = trunk_[std::size_t(*s)];
      use.by_trunk[std::size_t(trunk)] += pairs_[std::size_t(*s)];
      pairs_[std::size_t(routes_.trunks()[std::size_t(trunk)].to)] += pairs_[std::size_t(*s)];
    }
  }

 private:
  enum class Fate : std::uint8_t { open, on_the_way, arrives, lost, unknown };

  void settle(int from, int port, std::vector<int>& order) {
    std::vector<int> walked;
    Fate end = Fate::open;
    for (int at = from; end == Fate::open;) {
      Fate& fate = fate_[std::size_t(at)];
      if (fate != Fate::open) {
        end = fate == Fate::on_the_way ? Fate::lost : fate;  // a circle
        break;
      }
      int& trunk = trunk_[std::size_t(at)];
      const Routes::Way way = routes_.next(at, port, trunk);
      fate = Fate::on_the_way;
      walked.push_back(at);
      if (way != Routes::Way::known) {
        end = way == Routes::Way::none ? Fate::lost : Fate::unknown;
      } else {
        at = routes_.trunks()[std::size_t(trunk)].to;
      }
    }
    for (auto s = walked.rbegin(); s != walked.rend(); ++s) {
      fate_[std::size_t(*s)] = end;
      if (end == Fate::arrives) order.push_back(*s);
    }
  }

  const Routes& routes_;
  const Shape& shape_;
  std::vector<int> trunk_;
  std::vector<Fate> fate_;
  std::vector<std::int64_t> pairs_;
};

void compare_ways_back(const Routes& routes, RouteUse& use) {
  const int n = int(routes.ports().size());
  if (std::int64_t(n) * n > max_pairs_looked_at) return;
  use.asymmetric = use.unlike = 0;
  std::vector<int> forth, back;
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      if (routes.ports()[std::size_t(a)].at == routes.ports()[std::size_t(b)].at) continue;
      if (routes.way(a, b, forth) != Routes::Way::known || routes.way(b, a, back) != Routes::Way::known)
        continue;
      bool same = forth.size() == back.size();
      for (std::size_t i = 0; same && i < forth.size(); ++i)
        same = routes.trunks()[std::size_t(forth[i])].back == back[back.size() - 1 - i];
      *use.asymmetric += !same;
      *use.unlike += forth.size() != back.size();
    }
  }
}

}  // namespace

RouteUse use_of(const Routes& routes) {
  RouteUse use;
  const std::size_t trunks = routes.trunks().size();
  use.by_trunk.assign(trunks, 0);
  const Shape shape(routes);
  Tree tree(routes, shape);
  for (int port = 0; port < int(routes.ports().size()); ++port) tree.add(port, use);

  std::map<std::pair<int, int>, std::vector<double>> alike;
  const auto kind = [&](const Trunk& t) {
    return std::pair(shape.level[std::size_t(t.from)], shape.level[std::size_t(t.to)]);
  };
  for (std::size_t t = 0; t < trunks; ++t)
    if (use.by_trunk[t] > 0) alike[kind(routes.trunks()[t])].push_back(double(use.by_trunk[t]));
  std::map<std::pair<int, int>, double> medians;
  for (auto& [levels, loads] : alike) medians[levels] = upper_median(std::move(loads));
  for (std::size_t t = 0; t < trunks; ++t) {
    const double usual = medians[kind(routes.trunks()[t])];
    use.usual.push_back(usual);
    if (use.by_trunk[t] == 0 && use.unknown == 0) use.unused.push_back(int(t));
    if (usual > 0 && double(use.by_trunk[t]) > crowded_share * usual) use.crowded.push_back(int(t));
  }
  compare_ways_back(routes, use);
  return use;
}

}  // namespace ringtrue::topology
