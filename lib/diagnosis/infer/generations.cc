#include "diagnosis/infer/generations.h"

#include <algorithm>
#include <set>

namespace ringtrue::diagnosis {
namespace {

// Of a generation: its ports differ by no more than this, and it is slower by more than that.
constexpr double alike = 0.85, slower = 0.8;
constexpr double fewest_share = 0.05;  // of the nodes; and two
constexpr double met_share = 0.75;     // of the members, that met another one
constexpr double port_excess = 0.1;    // over a port's rate, that readings beside others' traffic show

struct Node {
  int node = 0;
  double rate = 0;
};

// Also of brief readings, which is all that a slow part of the fleet may have.
double best_of(const Readings& readings, int x, int y) {
  return std::max(readings.shown(x, y).value_or(0), readings.best(x, y).value_or(0));
}

// Brief readings count for no side that has longer ones: bursts and coarse clocks make them high.
Shown best_of(const Readings& readings) {
  Shown out(readings), brief(readings);
  readings.each_pair([&](int x, int y) {
    for (const Direction end : {Direction::sends, Direction::receives}) {
      Shown& to = readings.only_brief(x, y) ? brief : out;
      double& best = end == Direction::sends ? to.sends[std::size_t(x)] : to.receives[std::size_t(y)];
      best = std::max(best, readings.best_of(end, x, y).value_or(0));
    }
  });
  for (std::size_t i = 0; i < out.sends.size(); ++i) {
    if (out.sends[i] <= 0) out.sends[i] = brief.sends[i];
    if (out.receives[i] <= 0) out.receives[i] = brief.receives[i];
  }
  return out;
}

// Whether most of them, `from` to `to`, met one another, and did no better than with others.
bool slow_among_themselves(const Readings& readings, const std::vector<Node>& nodes, std::size_t from,
                           std::size_t to, double most) {
  std::vector<char> inside(std::size_t(readings.nodes()), 0), met(inside);
  for (std::size_t i = from; i < to; ++i) inside[std::size_t(nodes[i].node)] = 1;
  bool better = false;
  readings.each_pair([&](int x, int y) {
    if (!inside[std::size_t(x)] || !inside[std::size_t(y)]) return;
    met[std::size_t(x)] = met[std::size_t(y)] = 1;
    better |= best_of(readings, x, y) > most;
  });
  return !better && double(std::count(met.begin(), met.end(), 1)) >= met_share * double(to - from);
}

// Of the fastest's: 1, of all that differ little from it.
std::vector<double> shares_of_ports(const std::vector<double>& port_rates) {
  const double most = *std::max_element(port_rates.begin(), port_rates.end());
  std::vector<double> out;
  for (const double rate : port_rates) out.push_back(rate > slower * most ? 1 : rate / most);
  return out;
}

// A node that does more than its ports' rate over the fastest's has is none of them: what nodes have beside
// the ports that are measured says nothing.
std::vector<double> by_ports(const Readings& readings, const std::vector<double>& port_rates,
                             const Shown& shown) {
  std::vector<double> out = shares_of_ports(port_rates);
  double fastest = 0;
  readings.each_pair([&](int x, int y) {
    if (out[std::size_t(x)] == 1 && out[std::size_t(y)] == 1)
      fastest = std::max(fastest, best_of(readings, x, y));
  });
  if (fastest > 0)  // one of them may be slower than it was
    for (const auto& side : {shown.sends, shown.receives})
      fastest = std::max(fastest, *std::max_element(side.begin(), side.end()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double most_shown = std::max(shown.sends[i], shown.receives[i]);
    if (fastest <= 0 || slower * most_shown <= out[i] * fastest) continue;
    // Its ports are no faster: it is those with faster ones that do not reach theirs.
    const bool as_its_ports = most_shown <= (1 + port_excess) * port_rates[i];
    out[i] = as_its_ports ? std::min(1.0, most_shown / fastest) : 1;
  }
  return *std::min_element(out.begin(), out.end()) < 1 ? out : std::vector<double>();
}

}  // namespace

bool knows_all(const std::vector<double>& port_rates) {
  return !port_rates.empty() && std::find(port_rates.begin(), port_rates.end(), 0.0) == port_rates.end();
}

std::vector<int> newest_of(const std::vector<double>& port_rates) {
  std::vector<int> out;
  if (!knows_all(port_rates)) return out;
  const std::vector<double> shares = shares_of_ports(port_rates);
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] == 1) out.push_back(int(i));
  return out;
}

std::vector<double> generations(const Readings& readings, const std::vector<double>& port_rates) {
  const Shown shown = best_of(readings);
  if (knows_all(port_rates)) return by_ports(readings, port_rates, shown);
  std::vector<Node> nodes;  // with both ways alike, fastest first
  std::vector<Node> others;
  for (int node = 0; node < readings.nodes(); ++node) {
    const double sends = shown.sends[std::size_t(node)], receives = shown.receives[std::size_t(node)];
    if (std::min(sends, receives) > 0 && std::min(sends, receives) >= alike * std::max(sends, receives))
      nodes.push_back({node, std::max(sends, receives)});
    else
      others.push_back({node, std::max(sends, receives)});
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.rate > b.rate; });
  const std::size_t fewest = std::max<std::size_t>(2, std::size_t(fewest_share * readings.nodes()));
  std::vector<double> out;
  double first = 0;
  for (std::size_t from = 0, to = 0; from < nodes.size(); from = to) {
    for (to = from + 1; to < nodes.size() && nodes[to].rate > slower * nodes[to - 1].rate; ++to) {
    }
    const double middle = nodes[(from + to) / 2].rate;
    if (first == 0) {  // the fastest may be of any number
      if (2 * (to - from) < 2 * fewest && to - from < nodes.size() / 4) continue;
      first = middle;
      continue;
    }
    const bool tight = nodes[to - 1].rate >= alike * nodes[from].rate;
    if (!tight || to - from < fewest || middle > slower * first ||
        !slow_among_themselves(readings, nodes, from, to, middle / slower))
      continue;
    out.resize(std::size_t(readings.nodes()), 1);
    for (std::size_t i = from; i < to; ++i) out[std::size_t(nodes[i].node)] = middle / first;
    // One way is slow, and the other as it is to be.
    for (const Node& node : others)
      if (node.rate >= alike * middle && alike * node.rate <= middle)
        out[std::size_t(node.node)] = middle / first;
  }
  return out;
}

std::vector<double> held_to(std::vector<double> generations) {
  if (generations.size() < 2) return generations;
  const auto fastest = std::max_element(generations.begin(), generations.end());
  double next = 0;
  for (auto i = generations.begin(); i != generations.end(); ++i)
    if (i != fastest) next = std::max(next, *i);
  *fastest = std::min(*fastest, next);
  return generations;
}

std::optional<double> below_declared(const std::vector<double>& generations, double fastest,
                                     std::optional<double> attainable, double share,
                                     const std::vector<double>& port_rates) {
  if (generations.empty() || !attainable || knows_all(port_rates)) return std::nullopt;
  const double slowest = *std::min_element(generations.begin(), generations.end()) * fastest;
  return slowest < share * *attainable ? std::optional(slowest) : std::nullopt;
}

bool are_shown(const std::vector<double>& generations, const Readings& readings) {
  constexpr std::size_t fewest = 3;
  std::vector<std::set<int>> runs(generations.size());
  if (runs.empty()) return true;
  readings.each_pair([&](int x, int y) {
    for (const Reading& r : readings.of(x, y))
      if (!r.momentary && !r.held_back && !r.brief)
        runs[std::size_t(x)].insert(r.run), runs[std::size_t(y)].insert(r.run);
  });
  for (std::size_t i = 0; i < generations.size(); ++i)
    if (generations[i] < 1 && runs[i].size() < fewest) return false;
  return true;
}

}  // namespace ringtrue::diagnosis
