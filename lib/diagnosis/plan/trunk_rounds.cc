#include "diagnosis/plan/trunk_rounds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace ringtrue::diagnosis {
namespace {

constexpr int shifts_tried = 12;        // by so many leaves each, near and far
constexpr int open_trunk = 3;           // crossing one costs a hop as much as so many open ports
constexpr std::size_t hops_tried = 48;  // through an element, for one that fits into a round

}  // namespace

// A round as it fills.
struct TrunkRounds::Round {
  Round(const NodeRoutes& routes, const std::vector<int>& nodes)
      : next(std::size_t(routes.nodes()), -1),
        before(next),
        used(routes.all().trunks().size()),
        kept(used.size()),
        takes_part(next.size()) {
    for (const int node : nodes) takes_part[std::size_t(node)] = 1;
  }
  bool can_send(int node) const { return takes_part[std::size_t(node)] && next[std::size_t(node)] < 0; }
  bool can_receive(int node) const { return takes_part[std::size_t(node)] && before[std::size_t(node)] < 0; }
  bool free(const std::vector<int>& trunks) const {
    return std::none_of(trunks.begin(), trunks.end(), [&](int t) { return used[std::size_t(t)] > 0; });
  }
  bool spares(const std::vector<int>& trunks) const {
    return std::none_of(trunks.begin(), trunks.end(), [&](int t) { return kept[std::size_t(t)]; });
  }
  void add(int source, int destination, const std::vector<int>& trunks) {
    next[std::size_t(source)] = destination, before[std::size_t(destination)] = source;
    for (const int t : trunks) ++used[std::size_t(t)];
  }

  std::vector<int> next, before;  // by node; -1: none
  std::vector<int> used;          // by trunk: hops
  std::vector<char> kept;         // trunks that nobody else is to cross
  std::vector<char> takes_part;
};

TrunkRounds::TrunkRounds(const Crossings& crossings, std::vector<int> nodes)
    : c_(crossings), routes_(crossings.routes()), nodes_(std::move(nodes)), leaf_(routes_.leaves()) {
  const auto place = [&](int node) {
    const int port = routes_.port(node, 0);
    return std::tuple(leaf_[std::size_t(node)],
                      port < 0 ? 0 : routes_.all().ports()[std::size_t(port)].number, node);
  };
  std::sort(nodes_.begin(), nodes_.end(), [&](int a, int b) { return place(a) < place(b); });
  for (const int node : nodes_) {
    const auto leaf = std::size_t(leaf_[std::size_t(node)]);
    if (below_.size() <= leaf) below_.resize(leaf + 1);
    below_[leaf].push_back(node);
  }
  find_users();
}

// Nodes on the same switches have the same ways to everybody else, but for those of hops.
void TrunkRounds::find_users() {
  used_.assign(std::size_t(c_.trunks()), 0);
  for (const auto& leaf : below_) {
    for (const int from : leaf) {
      for (const int to : nodes_) {
        if (leaf_[std::size_t(to)] == leaf_[std::size_t(from)]) continue;
        for (const int t : routes_.way(from, to)) used_[std::size_t(t)] = 1;
      }
      if (!routes_.by_hop()) break;  // it stands for all of them
    }
  }
}

bool TrunkRounds::few_switches() const {
  constexpr int few_leaves = 4, few_above = 2;  // of four leaves one has part in half of the ways
  const auto leaves =
      std::count_if(below_.begin(), below_.end(), [](const auto& leaf) { return !leaf.empty(); });
  std::set<int> above;
  for (int t = 0; t < c_.trunks(); ++t)
    if (used_[std::size_t(t)]) above.insert(routes_.all().trunks()[std::size_t(t)].to);
  return leaves <= few_leaves || int(above.size()) - int(leaves) * routes_.rails() <= few_above;
}

int TrunkRounds::unmet() const {
  int out = 0;
  for (int t = 0; t < c_.trunks(); ++t) out += used_[std::size_t(t)] && c_.met(t) == 0;
  return out;
}

// The shift of all nodes that crosses most trunks that are wanted; of equals the first.
int TrunkRounds::shift_that_fits(int times, int turn) const {
  const int n = int(nodes_.size());
  int below = 1, leaves = 0;
  for (const auto& leaf : below_) below = std::max(below, int(leaf.size())), leaves += !leaf.empty();
  std::set<int> tried;
  int best = -1;
  double most = -1;
  std::vector<int> used(std::size_t(c_.trunks()), 0);
  for (int i = 0; i < 2 * shifts_tried; ++i) {
    // By one leaf, two and so on, then by half of them and on from there.
    const int by = i < shifts_tried ? 1 + i : leaves / 2 + i - shifts_tried;
    const int shift = (by * below + turn % below) % n;
    if (shift == 0 || by >= leaves || !tried.insert(shift).second) continue;
    std::fill(used.begin(), used.end(), 0);
    double wanted = 0;
    for (int i2 = 0; i2 < n; ++i2) {
      const auto trunks = routes_.way(nodes_[std::size_t(i2)], nodes_[std::size_t((i2 + shift) % n)]);
      if (!std::all_of(trunks.begin(), trunks.end(), [&](int t) { return used[std::size_t(t)] == 0; }))
        continue;
      for (const int t : trunks) used[std::size_t(t)] = 1, wanted += c_.met(t) < times;
    }
    if (wanted > most) most = wanted, best = shift;
  }
  return best;
}

RoundOrder TrunkRounds::cover(int times, int turn) {
  Round round(routes_, nodes_);
  const std::size_t n = nodes_.size();
  if (n < 2) return {};
  if (const int shift = shift_that_fits(times, turn); shift > 0) {
    const std::size_t first = std::size_t(turn) * n / 3;
    for (const bool wanted : {true, false}) {  // those first that cross what is wanted
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t k = (first + i) % n;
        const int x = nodes_[k], y = nodes_[(k + std::size_t(shift)) % n];
        if (!round.can_send(x) || !round.can_receive(y)) continue;
        const auto trunks = routes_.way(x, y);
        if (!round.free(trunks)) continue;
        if (wanted && std::none_of(trunks.begin(), trunks.end(), [&](int t) { return c_.met(t) < times; }))
          continue;
        round.add(x, y, trunks);
      }
    }
  }
  // What a shift does not cross: other hops, where they fit.
  for (int t = 0; t < c_.trunks(); ++t) {
    if (!used_[std::size_t(t)] || c_.met(t) > 0 || round.used[std::size_t(t)] > 0) continue;
    for (const Hop& hop : hops_over(t, -1, turn)) {
      if (!round.can_receive(hop.destination)) continue;
      for (const int x : like(hop.source)) {
        if (x == hop.destination || !round.can_send(x)) continue;
        const auto trunks = routes_.way(x, hop.destination);
        if (round.free(trunks)) round.add(x, hop.destination, trunks);
        break;
      }
      if (round.used[std::size_t(t)] > 0) break;
    }
  }
  fill_locally(round);
  return chained(round);
}

RoundOrder TrunkRounds::two_over_unmet() const {
  for (int t = 0; t < c_.trunks(); ++t) {
    if (!used_[std::size_t(t)] || c_.met(t) > 0) continue;
    for (const Hop& hop : hops_over(t, -1, 0)) return {hop.source, hop.destination};
  }
  return {};
}

// Who has nobody to send to, with one who has nobody to receive from, on the same switches.
void TrunkRounds::fill_locally(Round& round) const {
  for (const auto& leaf : below_) {
    std::vector<int> senders, receivers;
    for (const int node : leaf) {
      if (round.can_send(node)) senders.push_back(node);
      if (round.can_receive(node)) receivers.push_back(node);
    }
    const std::size_t m = std::min(senders.size(), receivers.size());
    for (std::size_t i = 0; i < m; ++i) {
      // Turned by one, so that nobody sends to itself where all are left.
      const int x = senders[i], y = receivers[(i + 1) % receivers.size()];
      if (x != y && round.can_receive(y)) round.add(x, y, {});
    }
  }
}

// Whether x -> v and y -> u meet nobody in a round that has x -> u and y -> v.
bool TrunkRounds::may_swap(const Round& round, int x, int u, int y, int v) const {
  if (!routes_.by_hop()) return true;
  std::map<int, int> more;  // by trunk: hops
  for (const int t : routes_.way(x, u)) --more[t];
  for (const int t : routes_.way(y, v)) --more[t];
  for (const int t : routes_.way(x, v)) ++more[t];
  for (const int t : routes_.way(y, u)) ++more[t];
  return std::ranges::all_of(
      more, [&](const auto& trunk) { return round.used[std::size_t(trunk.first)] + trunk.second <= 1; });
}

// One circle of all hops, which is how an experiment takes them. Two hops from the same switches may swap
// their ends: the trunks are the same.
RoundOrder TrunkRounds::chained(const Round& made) const {
  std::vector<int> next = made.next, before = made.before;
  std::vector<int> circle(next.size(), -1);
  int circles = 0;
  std::vector<int> heads;
  for (const int node : nodes_)
    if (next[std::size_t(node)] >= 0 && before[std::size_t(node)] < 0) heads.push_back(node);
  std::vector<char> in_chain(next.size(), 0);
  for (const int head : heads)
    for (int at = head; at >= 0; at = next[std::size_t(at)]) in_chain[std::size_t(at)] = 1;
  for (const int node : nodes_) {
    if (next[std::size_t(node)] < 0 || in_chain[std::size_t(node)] || circle[std::size_t(node)] >= 0)
      continue;
    for (int at = node; circle[std::size_t(at)] < 0; at = next[std::size_t(at)])
      circle[std::size_t(at)] = circles;
    ++circles;
  }
  std::vector<int> root(std::size_t(circles), 0);
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int c) {
    while (root[std::size_t(c)] != c) c = root[std::size_t(c)] = root[std::size_t(root[std::size_t(c)])];
    return c;
  };
  for (const auto& leaf : below_) {
    int first = -1;
    for (const int node : leaf) {
      if (circle[std::size_t(node)] < 0) continue;
      if (first < 0) first = node;
      const int a = find(circle[std::size_t(first)]), b = find(circle[std::size_t(node)]);
      if (a == b || !may_swap(made, first, next[std::size_t(first)], node, next[std::size_t(node)])) continue;
      std::swap(next[std::size_t(first)], next[std::size_t(node)]);
      root[std::size_t(b)] = a;
    }
  }
  // What is left is joined end to end, over trunks that nobody keeps where there are such.
  std::vector<std::vector<int>> parts;
  for (const int head : heads) {
    parts.emplace_back();
    for (int at = head; at >= 0; at = next[std::size_t(at)]) parts.back().push_back(at);
  }
  std::vector<char> seen(next.size(), 0);
  for (const int node : nodes_) {
    if (circle[std::size_t(node)] < 0 || seen[std::size_t(node)]) continue;
    parts.emplace_back();
    for (int at = node; !seen[std::size_t(at)]; at = next[std::size_t(at)])
      seen[std::size_t(at)] = 1, parts.back().push_back(at);
  }
  if (parts.empty()) return {};
  RoundOrder order = parts[0];
  std::vector<char> done(parts.size(), 0);
  done[0] = 1;
  std::vector<char> placed(next.size(), 0);
  for (const auto& part : parts)
    for (const int node : part) placed[std::size_t(node)] = 1;
  const auto link = [&](int from, const std::vector<int>& to_one_of) {
    int best = -1;
    for (const int to : to_one_of) {
      if (to == from) continue;
      if (leaf_[std::size_t(to)] == leaf_[std::size_t(from)]) return to;
      if (best < 0 && made.spares(routes_.way(from, to))) best = to;
    }
    if (best >= 0) return best;
    // Round about: by another node on the switches of one of them.
    for (const int to : to_one_of) {
      for (const int by : below_[std::size_t(leaf_[std::size_t(to)])]) {
        if (placed[std::size_t(by)] || !made.spares(routes_.way(from, by))) continue;
        placed[std::size_t(by)] = 1;
        order.push_back(by);
        return to;
      }
    }
    return to_one_of.front();
  };
  for (std::size_t k = 1; k < parts.size(); ++k) {
    std::vector<int> left;
    std::map<int, std::size_t> part_of;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!done[i]) left.push_back(parts[i][0]), part_of[parts[i][0]] = i;
    const int to = link(order.back(), left);
    const std::size_t i = part_of[to];
    done[i] = 1;
    order.insert(order.end(), parts[i].begin(), parts[i].end());
  }
  if (parts.size() > 1 || !heads.empty()) (void)link(order.back(), {order.front()});
  return order;
}

// Whose ways to others cross the same trunks.
std::vector<int> TrunkRounds::like(int node) const {
  return routes_.by_hop() ? std::vector<int>{node} : below_[std::size_t(leaf_[std::size_t(node)])];
}

std::vector<TrunkRounds::Hop> TrunkRounds::traced_over(int element, int turn) const {
  std::vector<Hop> out;
  const std::size_t n = nodes_.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) {
      const int x = nodes_[(i + std::size_t(turn) * 5) % n], y = nodes_[(k + std::size_t(turn) * 7) % n];
      if (x == y) continue;
      const auto trunks = routes_.way(x, y);
      if (std::find(trunks.begin(), trunks.end(), element) != trunks.end()) out.push_back({x, y, 0});
    }
  return out;
}

// Hops that cross a trunk on some rail (-1: any); the sources stand for all on their switches.
std::vector<TrunkRounds::Hop> TrunkRounds::hops_over(int element, int rail, int turn) const {
  if (routes_.by_hop()) return traced_over(element, turn);
  const topology::Trunk& trunk = routes_.all().trunks()[std::size_t(element)];
  std::vector<Hop> out;
  std::vector<int> trunks;
  for (int r = std::max(rail, 0); r < (rail < 0 ? routes_.rails() : rail + 1); ++r) {
    // Nodes on the switch where the trunk begins are those that send over it.
    const auto begins_there = [&](const std::vector<int>& leaf) {
      return !leaf.empty() && routes_.switch_of(leaf[0], r) == trunk.from;
    };
    const bool from_leaf = std::ranges::any_of(below_, begins_there);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const int to = nodes_[(i + std::size_t(turn) * 7) % nodes_.size()], port = routes_.port(to, r);
      int next = -1;
      if (port < 0 || routes_.all().next(trunk.from, port, next) != topology::Routes::Way::known ||
          next != element)
        continue;
      for (std::size_t l = 0; l < below_.size(); ++l) {
        const auto& leaf = below_[(l + std::size_t(turn) * 5) % below_.size()];
        if (leaf.empty() || leaf_[std::size_t(leaf[0])] == leaf_[std::size_t(to)]) continue;
        if (from_leaf && !begins_there(leaf)) continue;
        trunks.clear();
        if (!routes_.way(leaf[0], to, r, trunks)) continue;
        if (std::find(trunks.begin(), trunks.end(), element) == trunks.end()) continue;
        out.push_back({leaf[0], to, r});
        if (out.size() >= 4096) return out;
      }
    }
  }
  return out;
}

TrunkRounds::Separation TrunkRounds::separate(const std::vector<int>& open,
                                              const std::vector<std::pair<int, int>>& pairs, int turn) const {
  Separation out;
  Round round(routes_, nodes_);
  std::vector<char> is_open(std::size_t(c_.all()), 0);
  for (const int e : open) is_open[std::size_t(e)] = 1;
  std::map<int, std::set<int>> always;  // by open element: the others that all hops over it cross
  std::vector<int> others, crossed;     // of a hop: what it crosses that is open, too; trunks
  const auto look_at = [&](int e, int source, int destination, int rail) {
    others.clear();
    const auto add = [&](int other) {
      if (other != e && is_open[std::size_t(other)]) others.push_back(other);
    };
    std::ranges::for_each(crossed, add);
    add(c_.port_out(source, rail)), add(c_.port_in(destination, rail));
    const auto [known, fresh] = always.try_emplace(e, others.begin(), others.end());
    if (!fresh)
      std::erase_if(known->second,
                    [&](int f) { return std::find(others.begin(), others.end(), f) == others.end(); });
    // Ports are told by neighbours, so that they are known first.
    int weight = 0;
    for (const int other : others) weight += c_.is_trunk(other) ? open_trunk : 1;
    return weight;
  };
  struct Wanted {
    int element = -1;
    std::vector<std::pair<int, Hop>> hops;  // by how much that is open they cross
  };
  std::vector<Wanted> all;
  for (const int e : open) {
    Wanted wanted;
    wanted.element = e;
    const auto note = [&](int source, int destination, int rail) {
      const int weight = look_at(e, source, destination, rail);
      const bool before = c_.met(source, destination);
      wanted.hops.push_back({2 * weight + before, {source, destination, rail}});
    };
    const auto cross = [&](int source, int destination, int rail) {
      crossed.clear();
      routes_.way(source, destination, rail, crossed);
    };
    if (c_.is_trunk(e)) {
      for (int rail = 0; rail < routes_.rails(); ++rail)
        for (const Hop& hop : hops_over(e, rail, turn)) {
          const auto mates = like(hop.source);
          cross(hop.source, hop.destination, rail);
          for (std::size_t i = 0; i < std::min<std::size_t>(mates.size(), 6); ++i)
            if (const int mate = mates[(i + std::size_t(turn)) % mates.size()]; mate != hop.destination)
              note(mate, hop.destination, rail);
        }
    } else {
      const int node = c_.node_of(e), rail = (e - c_.port_out(node, 0)) / 2;
      const bool sends = e == c_.port_out(node, rail);
      if (round.takes_part[std::size_t(node)]) {
        // Neighbours first; of the rest a few, all round.
        std::vector<int> with = below_[std::size_t(leaf_[std::size_t(node)])];
        const std::size_t step = std::max<std::size_t>(1, nodes_.size() / hops_tried);
        for (std::size_t i = std::size_t(turn) % step; i < nodes_.size(); i += step)
          with.push_back(nodes_[i]);
        for (std::size_t i = 0; i < with.size(); ++i) {
          const int other = with[i];
          if (other == node) continue;
          cross(sends ? node : other, sends ? other : node, rail);
          note(sends ? node : other, sends ? other : node, rail);
        }
      }
    }
    // Of equals another one each turn.
    if (!wanted.hops.empty())
      std::rotate(wanted.hops.begin(),
                  wanted.hops.begin() + std::ptrdiff_t(std::size_t(turn) * 3 % wanted.hops.size()),
                  wanted.hops.end());
    std::stable_sort(wanted.hops.begin(), wanted.hops.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (!wanted.hops.empty()) all.push_back(std::move(wanted));
  }
  // Those first that can be told by themselves, as ports behind trunks can; of these, those with the fewest
  // ways.
  std::stable_sort(all.begin(), all.end(), [&](const Wanted& a, const Wanted& b) {
    return std::tuple(a.hops.front().first / 2, c_.is_trunk(a.element), a.hops.size()) <
           std::tuple(b.hops.front().first / 2, c_.is_trunk(b.element), b.hops.size());
  });
  std::set<int> tested;
  for (const Wanted& wanted : all) {
    if (tested.contains(wanted.element)) continue;
    const int least = wanted.hops.front().first / 2;
    for (std::size_t i = 0; i < wanted.hops.size(); ++i) {
      const auto& [weight, hop] = wanted.hops[i];
      if (weight / 2 > least || i > 4 * hops_tried) break;
      if (!round.can_send(hop.source) || !round.can_receive(hop.destination)) continue;
      if (round.next[std::size_t(hop.destination)] == hop.source && round.next.size() > 2) continue;
      const auto trunks = routes_.way(hop.source, hop.destination);
      std::vector<int> own;
      routes_.way(hop.source, hop.destination, hop.rail, own);
      if (!round.free(own) || !round.spares(trunks)) continue;
      round.add(hop.source, hop.destination, trunks);
      for (const int t : own) round.kept[std::size_t(t)] = 1;
      for (const int t : own)
        if (is_open[std::size_t(t)]) tested.insert(t);
      tested.insert(wanted.element);
      break;
    }
  }
  // Routes that are not in use any more let hops meet all the same: only one of a leaf goes out, and only one
  // comes in.
  std::set<int> from, to;
  for (const int node : nodes_) {
    const int next = round.next[std::size_t(node)];
    if (next < 0 || leaf_[std::size_t(node)] == leaf_[std::size_t(next)]) continue;
    from.insert(leaf_[std::size_t(node)]), to.insert(leaf_[std::size_t(next)]);
  }
  for (const auto& [x, y] : pairs) {
    if (!round.can_send(x) || !round.can_receive(y)) continue;
    const int a = leaf_[std::size_t(x)], b = leaf_[std::size_t(y)];
    if (a != b && (from.contains(a) || to.contains(b))) continue;
    const auto trunks = routes_.way(x, y);
    if (!round.free(trunks) || !round.spares(trunks)) continue;
    round.add(x, y, trunks);
    if (a != b) from.insert(a), to.insert(b);
    for (const int t : trunks) round.kept[std::size_t(t)] = 1;
  }
  for (const auto& [e, with] : always)
    for (const int f : with)
      if (f > e && always.contains(f) && always[f].contains(e)) {
        auto known = std::find_if(out.classes.begin(), out.classes.end(), [e = e](const auto& list) {
          return std::find(list.begin(), list.end(), e) != list.end();
        });
        if (known == out.classes.end()) known = out.classes.insert(out.classes.end(), {e});
        if (std::find(known->begin(), known->end(), f) == known->end()) known->push_back(f);
      }
  out.order = chained(round);
  return out;
}

}  // namespace ringtrue::diagnosis
