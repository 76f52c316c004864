#include "diagnosis/infer/groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "diagnosis/infer/significance.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t min_readings = 4, min_runs = 3, min_partners = 3;
constexpr std::size_t min_members = 2;
// How many of one more reading are taken for low, where nothing else is known: of a few hops at once, and
// alone.
constexpr double share_unknown = 0.5, share_alone = 0.1;

using Edges = std::vector<std::vector<int>>;

// Kosaraju's: an order by the end of a search forth, components by searches back in the reverse of it.
// Without recursion, for fleets of many thousands.
std::vector<int> strongly_connected(const Edges& forth, const Edges& back) {
  const std::size_t n = forth.size();
  std::vector<int> order, component(n, -1);
  std::vector<char> seen(n, 0);
  std::vector<std::pair<int, std::size_t>> stack;  // node, next edge
  for (std::size_t start = 0; start < n; ++start) {
    if (seen[start]) continue;
    seen[start] = 1;
    stack.emplace_back(int(start), 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const auto& edges = forth[std::size_t(node)];
      if (next == edges.size()) {
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      const int to = edges[next++];
      if (!seen[std::size_t(to)]) seen[std::size_t(to)] = 1, stack.emplace_back(to, 0);
    }
  }
  int count = 0;
  std::vector<int> open;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    if (component[std::size_t(*at)] >= 0) continue;
    component[std::size_t(*at)] = count;
    open.assign(1, *at);
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      for (const int from : back[std::size_t(node)])
        if (component[std::size_t(from)] < 0) component[std::size_t(from)] = count, open.push_back(from);
    }
    ++count;
  }
  return component;
}

// Whether a pair has done well, in whatever company or alone.
bool did_well(const Readings& readings, const Readings& alone, int x, int y, const Inference& inference) {
  const double good = inference.thresholds.warning * inference.reference.rate;
  // Of a brief reading a burst may be a tenth, more often than not is none.
  const double fair = inference.thresholds.critical * inference.reference.rate;
  const auto is_not_low = [&](const Reading& r) {
    return !r.momentary && !r.held_back && r.rate >= good && r.without_burst() >= fair;
  };
  return readings.shown(x, y).value_or(0) >= good || std::ranges::any_of(readings.of(x, y), is_not_low) ||
         std::ranges::any_of(alone.of(x, y), is_not_low);
}

}  // namespace

std::vector<int> components(const Readings& readings, const Readings& alone, const Inference& inference) {
  const auto n = std::size_t(readings.nodes());
  Edges forth(n), back(n);
  readings.each_pair([&](int x, int y) {
    if (!did_well(readings, alone, x, y, inference)) return;
    forth[std::size_t(x)].push_back(y);
    back[std::size_t(y)].push_back(x);
  });
  std::vector<int> out = strongly_connected(forth, back), sizes(n, 0);
  for (const int component : out) ++sizes[std::size_t(component)];
  const int largest = n == 0 ? 0 : int(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
  for (int& component : out)
    component = component == largest ? 0 : component < largest ? component + 1 : component;
  return out;
}

namespace {

// What is known of one group: low readings of good ends, and how common such are elsewhere.
class GroupEvidence {
 public:
  GroupEvidence(const Readings& readings, const Readings& alone, const Inference& inference)
      : readings_(readings),
        alone_(alone),
        inference_(inference),
        good_(inference.thresholds.warning * inference.reference.rate),
        low_(inference.thresholds.path * inference.reference.rate),
        shown_(readings) {}

  // `inside`: by node.
  SlowGroup look_at(std::vector<int> members, const std::vector<char>& inside) const {
    SlowGroup out;
    bool leaves = false, enters = false;  // over a good edge
    readings_.each_pair([&](int x, int y) {
      if (inside[std::size_t(x)] == inside[std::size_t(y)] || !did_well(readings_, alone_, x, y, inference_))
        return;
      (inside[std::size_t(x)] ? leaves : enters) = true;
    });
    out.members = std::move(members);
    out.sends = !leaves, out.receives = !enters;
    if (!out.sends && !out.receives) return out;
    std::set<int> ours, others;
    const Seen few = collect(readings_, out, inside, ours, others),
               alone = collect(alone_, out, inside, ours, others);
    std::sort(out.readings.begin(), out.readings.end(),
              [](const Reading& a, const Reading& b) { return a.rate > b.rate; });
    if (out.readings.empty()) return out;
    const double chance = chance_of_members(out.members, few, alone);
    constexpr double ways = 100;  // strictly, as a side of a fleet of which nobody told anything
    out.confirmed = out.readings.size() >= min_readings && few.runs.size() + alone.runs.size() >= min_runs &&
                    ours.size() >= min_members &&
                    others.size() >= std::min(min_partners, inside.size() - out.members.size()) &&
                    out.readings.front().rate < low_ && !may_be_chance(chance, ways);
    return out;
  }

 private:
  struct Seen {
    std::set<int> runs;
    std::map<int, std::set<int>> of;  // by member: its runs
    int all = 0, low = 0;             // of pairs that do not cross
    // That all readings of a member were low by chance: as one of `prior` that is added to what was seen.
    double chance(int member, double prior) const {
      const auto at = of.find(member);
      return at == of.end() ? 1 : chance_of((low + prior) / (all + 1.0), int(at->second.size()));
    }
  };

  // That so many nodes of the fleet as there are members have all their readings low by chance. They need not
  // be near one another for that: those who were unlucky with all others met each other, as the rounds have
  // it.
  double chance_of_members(const std::vector<int>& members, const Seen& few, const Seen& alone) const {
    double expected = 0;  // of the fleet's nodes
    for (const int m : members) expected += few.chance(m, share_unknown) * alone.chance(m, share_alone);
    expected *= double(readings_.nodes()) / double(members.size());
    // Poisson's tail: 1 - sum of e^-m m^k / k! below.
    double term = std::exp(-expected), below = 0;
    for (std::size_t k = 0; k < members.size(); ++k) below += term, term *= expected / double(k + 1);
    // Where little is left of 1, the tail's first term, which is most of it.
    return below < 1 - 1e-9 ? 1 - below : term;
  }

  Seen collect(const Readings& from, SlowGroup& out, const std::vector<char>& inside, std::set<int>& ours,
               std::set<int>& others) const {
    Seen seen;
    from.each_pair([&](int x, int y) {
      if (shown_.sends[std::size_t(x)] < good_ || shown_.receives[std::size_t(y)] < good_) return;
      const bool from_inside = inside[std::size_t(x)] != 0;
      const bool crosses = from_inside != (inside[std::size_t(y)] != 0);
      const bool across = crosses && (from_inside ? out.sends : out.receives);
      for (const Reading& r : from.counting(x, y)) {
        if (r.company > few_hops(readings_.nodes())) continue;
        if (!across) {
          ++seen.all, seen.low += r.rate < low_;
          continue;
        }
        seen.runs.insert(r.run), ours.insert(from_inside ? x : y), others.insert(from_inside ? y : x);
        seen.of[from_inside ? x : y].insert(r.run);
        out.readings.push_back(r);
        if (out.pairs.empty() || out.pairs.back() != std::pair(x, y)) out.pairs.emplace_back(x, y);
      }
    });
    return seen;
  }

  const Readings &readings_, &alone_;
  const Inference& inference_;
  const double good_, low_;
  const Shown shown_;
};

}  // namespace

namespace {

bool carries_for_others(const Readings& readings, const std::vector<char>& inside) {
  bool any = false;
  readings.each_pair([&](int x, int y) {
    for (const Reading& r : readings.of(x, y))
      any |= (inside[std::size_t(x)] && r.is_beside(r.others_sent)) ||
             (inside[std::size_t(y)] && r.is_beside(r.others_received));
  });
  return any;
}

}  // namespace

std::vector<SlowGroup> slow_groups(const Readings& readings, const Readings& alone,
                                   const Inference& inference) {
  std::vector<SlowGroup> out;
  if (inference.reference.rate <= 0) return out;
  const std::vector<int> component = components(readings, alone, inference);
  std::vector<std::vector<int>> members(component.size() + 1);
  for (std::size_t node = 0; node < component.size(); ++node)
    members[std::size_t(component[node])].push_back(int(node));
  const GroupEvidence evidence(readings, alone, inference);
  for (std::size_t k = 1; k < members.size(); ++k) {
    if (members[k].size() < min_members) continue;
    std::vector<char> inside(component.size(), 0);
    for (const int node : members[k]) inside[std::size_t(node)] = 1;
    SlowGroup group = evidence.look_at(members[k], inside);
    if (!group.sends && !group.receives) continue;
    // What it carries for others crosses the same trunks.
    if (inference.lasting_others > 0 && carries_for_others(readings, inside)) continue;
    group.halves = members[0].size() + members[k].size() == component.size() &&
                   2 * members[k].size() == component.size();
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace ringtrue::diagnosis
