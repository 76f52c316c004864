
#include <algorithm>
#include <set>

#include "diagnosis/findings/combine.h"
#include "diagnosis/findings/conclusion.h"
#include "diagnosis/findings/rings.h"
#include "diagnosis/infer/at_times.h"
#include "diagnosis/infer/generations.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t max_busy_nodes = 8;  // named, the busiest
constexpr double worth_telling = 0.95;     // of the declared rate, that most reach
constexpr double may_be_declared_wrong = 0.8;

// What a hop is to carry (bytes/s).
double attainable(const Expected& expected, double reference) {
  return expected.value ? std::min(expected.value->value, reference) : reference;
}

// The busbw (bytes/s) of the longest ring where each hop carries `hop`: its steps take latency as well, which
// counts where there are many of them.
std::optional<double> ring_due(const Evidence& seen, double hop) {
  const RunRecord* const ring = last_ring_of(seen.runs, seen.ring_busbw);
  if (!seen.ring_busbw || !ring) return std::nullopt;
  const double n = double(ring->experiment.order.size());
  const double steps = 2 * (n - 1), moving = steps / n * double(ring->experiment.bytes.value) / hop;
  return moving / (moving + steps * seen.latencies.usual()) * hop;
}

// Slower nodes by what they are held to, the slowest first, each with those that differ little from it.
template <class IsMeasured>
std::vector<std::vector<int>> alike(const std::vector<double>& generations, IsMeasured is_measured) {
  constexpr double little = 0.97;
  std::vector<std::pair<double, int>> slower;
  for (std::size_t i = 0; i < generations.size(); ++i)
    if (generations[i] < little && is_measured(int(i))) slower.emplace_back(generations[i], int(i));
  std::sort(slower.begin(), slower.end());
  std::vector<std::vector<int>> out;
  double least = 0;
  for (const auto& [share, i] : slower) {
    if (out.empty() || little * share > least) out.emplace_back(), least = share;
    out.back().push_back(i);
  }
  for (auto& list : out) std::sort(list.begin(), list.end());
  return out;
}

}  // namespace

void Conclusion::add_fleet() {
  const Reference& r = c_.inference.reference;
  if (r.above_declared && out_.expected.value) {
    Finding f;
    f.kind = FindingKind::above_link_rate;
    f.scope.type = ScopeType::fleet;
    f.measured = BytesPerSecond(r.rate);
    f.expected = out_.expected.value;
    f.ratio = r.share;
    f.confidence = 1;
    f.evidence.push_back({StatementKind::above_declared, {}, {{"rate_Bps", r.rate}}});
    f.next = StatementKind::give_link_rate;
    out_.findings.push_back(std::move(f));
  }
  if (!r.fleet_slow) {
    if (r.share > 0 && r.share < worth_telling) {
      out_.not_checked.push_back(
          {StatementKind::last_share, {}, {{"missing_share", 1 - r.share}, {"reached_share", r.share}}});
    }
    return;
  }
  if (parts_.slow_rail()) return;  // which explains it
  bool busy = c_.readings.nodes() > 0;
  c_.readings.each_pair([&](int x, int y) {
    for (const Reading& reading : c_.readings.of(x, y)) busy &= reading.cpu_busy > 0.9;
  });
  if (busy || c_.inference.crowded || c_.seen.fleet_repeats < 2) {
    out_.not_checked.push_back(
        {StatementKind::all_links, {}, {{"rate_Bps", r.rate}, {"reached_share", r.share}, {"busy", busy}}});
    return;
  }
  Finding f;
  f.kind = FindingKind::slow_fleet;
  f.scope.type = ScopeType::fleet;
  // A declaration that is wrong, readings that scatter and work of the machines may lack as much as that: it
  // is told, and accuses nobody.
  f.severity = r.share < may_be_declared_wrong ? severity(r.share) : Severity::info;
  f.measured = BytesPerSecond(r.rate);
  f.expected = out_.expected.value;
  f.ratio = r.share;
  f.confidence = 0.7;  // a wrong --link-rate looks the same
  f.evidence.push_back({StatementKind::fleet_rate, {}, {{"rate_Bps", r.rate}, {"reached_share", r.share}}});
  f.impact = {StatementKind::repair, {}, {{"from_Bps", r.rate}}};
  if (out_.expected.value) f.impact.values.push_back({"to_Bps", out_.expected.value->value});
  f.next = StatementKind::look_at_fleet;
  add_of_all(std::move(f));
}

// Of the fleet or a rail. Where two nodes are newer than all others, these alone show it, and the fault of
// one of them looks the same.
void Conclusion::add_of_all(Finding f) {
  const std::vector<int> newest = newest_of(c_.structure.port_rates);
  if (newest.size() != 2 || c_.readings.nodes() == 2) {
    out_.findings.push_back(std::move(f));
    return;
  }
  const auto is_named = [&](int from, int to) {
    return std::ranges::any_of(c_.inference.suspects,
                               [&](const Suspect& s) { return s.confirmed && s.explains(from, to); });
  };
  for (const auto& [from, to] : {std::pair(newest[0], newest[1]), std::pair(newest[1], newest[0])}) {
    if (is_named(from, to)) continue;  // what it is
    Finding path = f;
    path.kind = FindingKind::slow_path;
    path.scope.type = ScopeType::path;
    path.scope.node = from, path.scope.peer = to;
    path.scope.subject.node = node(from), path.scope.peer_name = node(to);
    path.evidence.push_back({StatementKind::cannot_be_told_apart, {node(from), node(to)}});
    path.impact = {};
    path.next = next(path.scope);
    out_.findings.push_back(std::move(path));
  }
}

std::optional<double> Conclusion::slower_than_declared() const {
  const bool declared = out_.expected.origin == ideal::Origin::declared;
  return below_declared(c_.inference.generations, reference_,
                        declared ? std::optional(out_.expected.value->value) : std::nullopt,
                        c_.thresholds.warning, c_.structure.port_rates);
}

// Not wrong, but what the others are held to would accuse them.
void Conclusion::add_generations() {
  const auto members = alike(c_.inference.generations, [&](int i) {
    return c_.inference.sends[std::size_t(i)] || c_.inference.receives[std::size_t(i)];
  });
  if (members.empty()) return;
  Finding f;
  f.kind = FindingKind::mixed_generations;
  f.scope.type = ScopeType::fleet;
  f.confidence = 1;
  for (const std::vector<int>& list : members) {
    double most = 0;  // that they did themselves
    std::vector<std::string> names;
    for (const int i : list) {
      const auto &sends = c_.inference.sends[std::size_t(i)],
                 &receives = c_.inference.receives[std::size_t(i)];
      most = std::max(most, std::max(sends.value_or(0), receives.value_or(0)) * c_.inference.generation(i));
      names.push_back(node(i));
    }
    f.evidence.push_back({StatementKind::generation_rate,
                          {},
                          {{"members", double(list.size())},
                           {"rate_Bps", most},
                           {"fastest_Bps", reference_},
                           {"names", names}}});
  }
  f.next = StatementKind::look_at_generations;
  // Slower than somebody said that they are, whatever the reason.
  if (const auto slowest = slower_than_declared();
      slowest && are_shown(c_.inference.generations, c_.seen.readings)) {
    f.severity = Severity::warning;
    f.measured = BytesPerSecond(*slowest);
    f.expected = out_.expected.value;
    f.ratio = *slowest / out_.expected.value->value;
    f.confidence = 0.7;  // they may be meant to have a rate of their own
  } else if (slowest) {
    out_.not_checked.push_back({StatementKind::slower_part,
                                {},
                                {{"rate_Bps", *slowest}, {"expected_Bps", out_.expected.value->value}}});
  }
  out_.findings.push_back(std::move(f));
  for (std::size_t i = 0; i < c_.inference.held_to.size(); ++i)
    if (c_.inference.held_to[i] < c_.inference.generations[i])
      out_.not_checked.push_back({StatementKind::alone_as_fast,
                                  {node(int(i))},
                                  {{"rate_Bps", c_.inference.held_to[i] * reference_}}});
}

// What others sent is no fault, and explains what was slower meanwhile.
void Conclusion::add_others() {
  if (c_.seen.others.empty()) return;
  Finding f;
  f.kind = FindingKind::others_traffic;
  f.scope.type = ScopeType::fleet;
  f.confidence = 1;
  std::vector<std::pair<double, int>> nodes;
  for (const auto& [at, traffic] : c_.seen.others) nodes.emplace_back(-traffic.most(), at);
  std::sort(nodes.begin(), nodes.end());
  if (nodes.size() > max_busy_nodes) nodes.resize(max_busy_nodes);
  for (const auto& [rate, at] : nodes) {
    const OthersTraffic& traffic = c_.seen.others.at(at);
    std::vector<Quantity> values;
    if (traffic.sends > 0) values.push_back({"sends_Bps", traffic.sends});
    if (traffic.receives > 0) values.push_back({"receives_Bps", traffic.receives});
    if (values.size() == 2) values.push_back({"both", true});
    f.evidence.push_back({StatementKind::others_on_ports, {node(at)}, std::move(values)});
  }
  f.next = StatementKind::look_at_others;
  out_.findings.push_back(std::move(f));
}

void Conclusion::add_inconclusive() {
  std::size_t unclear_paths = 0, chance = 0;
  for (const Suspect& s : c_.inference.suspects) {
    if (s.confirmed || (s.type == ScopeType::path && parts_.part_of(s.node, s.peer))) continue;
    if (s.chance && s.type == ScopeType::path && between_neighbours(c_.structure, c_.readings.nodes())) {
      ++chance;
      continue;
    }
    if (s.readings.empty() && c_.inference.crowded && s.type == ScopeType::path) continue;  // told as a whole
    if (s.readings.empty()) {
      ++unclear_paths;
      continue;
    }
    const Scope scope{s.type, s.node, s.peer, node(s.node), s.peer < 0 ? "" : node(s.peer)};
    out_.not_checked.push_back({StatementKind::unconfirmed,
                                {},
                                {{"scope", scope.text()},
                                 {"rate_Bps", s.best * c_.inference.generation(s)},
                                 {"expected_Bps", reference_ * c_.inference.generation(s)}},
                                s.missing});
  }
  if (unclear_paths > 0) {
    out_.not_checked.push_back({StatementKind::unclear_paths, {}, {{"paths", unclear_paths}}});
  }
  if (chance > 0) {
    out_.not_checked.push_back({StatementKind::low_by_chance, {}, {{"paths", chance}}});
  }
  if (c_.inference.crowded)
    out_.not_checked.push_back({StatementKind::shared_links, {}, {{"pairs", c_.inference.low_pairs}}});
  add_held_back();
  for (const Side& side : c_.inference.overshadowed) {
    const bool sends = side.direction == Direction::sends;
    const auto limit = (sends ? c_.inference.sends : c_.inference.receives)[std::size_t(side.node)];
    const Suspect* other = c_.inference.find(sends ? ScopeType::receiver : ScopeType::sender, side.node);
    if (!other || !limit || *limit >= c_.thresholds.warning * reference_) continue;
    if (c_.inference.find(sends ? ScopeType::sender : ScopeType::receiver, side.node)) continue;
    if (c_.inference.fine_alone_at(side)) continue;
    out_.not_checked.push_back({StatementKind::hidden_side,
                                {node(side.node)},
                                {{"sends", sends}, {"rate_Bps", limit}, {"expected_Bps", reference_}}});
  }
}

// Sides of which every reading was held back by the receiving program.
void Conclusion::add_held_back() {
  for (int y = 0; y < c_.readings.nodes(); ++y) {
    const Suspect* program = c_.inference.find(ScopeType::node, y);
    if (c_.inference.receives[std::size_t(y)] || (program && program->confirmed)) continue;
    std::size_t all = 0;
    for (const int x : c_.readings.senders_to(y))
      for (const Reading& r : c_.readings.of(x, y)) all += r.held_back;
    if (all == 0) continue;
    out_.not_checked.push_back({StatementKind::held_back_side, {node(y)}, {{"readings", all}}});
  }
}

void Conclusion::decide() {
  out_.verdict = verdict_of(out_.findings);
  const bool untold = out_.verdict == Verdict::healthy && (out_.error || reference_ <= 0 || may_be_faulty());
  if (untold) out_.verdict = Verdict::unknown;
  add_scattered_ring();
}

// No pass, though not proven either.
bool Conclusion::may_be_faulty() {
  const double critical = c_.thresholds.critical * reference_;
  const auto& all = c_.inference.suspects;
  if (std::ranges::count(out_.not_checked, StatementKind::slower_part, &NotChecked::kind)) return true;
  // What may be chance, or others' traffic, and is told as that.
  const auto may_be_fine = [&](const Suspect& s) {
    return s.beside_others || (s.chance && between_neighbours(c_.structure, c_.readings.nodes()));
  };
  bool grave = std::any_of(all.begin(), all.end(), [&](const Suspect& s) {
    const bool crowd = c_.inference.crowded && s.type == ScopeType::path &&
                       (s.readings.empty() || parts_.part_of(s.node, s.peer));
    return !s.confirmed && !s.unsteady && !may_be_fine(s) && !crowd && s.best < critical;
  });
  // Slow at times, as chance explains in no fleet, and not proven for want of something else.
  grave |= parts_.chance_at_times() < at_times::by_chance || std::ranges::any_of(all, [&](const Suspect& s) {
             return s.unsteady && !s.confirmed && !s.alone && s.busy < 0 && s.best < critical &&
                    s.chance_of_it < at_times::by_chance;
           });
  // Chance explains some sides, and not those of a tenth of the fleet.
  std::set<int> by_chance;
  for (const Suspect& s : all)
    if (s.peer < 0 && s.chance && !s.confirmed && !s.unsteady && !s.beside_others && s.best < critical)
      by_chance.insert(s.node);
  grave |= double(by_chance.size()) > std::max(2.0, 0.1 * c_.readings.nodes());
  // Where hops share links, a side counts as good once it was seen to be.
  if (c_.structure.leaf.empty() && c_.inference.crowded) {
    const auto open = [&](const std::optional<double>& shown, int node, ScopeType type) {
      const bool named = std::any_of(out_.findings.begin(), out_.findings.end(),
                                     [&](const Finding& f) { return f.scope.node == node; });
      const Direction d = type == ScopeType::sender ? Direction::sends : Direction::receives;
      if (!shown || *shown >= critical || named || c_.inference.find(type, node)) return;
      if (c_.inference.fine_alone_at({node, d})) return;
      grave = true;
    };
    for (int node = 0; node < c_.readings.nodes(); ++node) {
      open(c_.inference.sends[std::size_t(node)], node, ScopeType::sender);
      open(c_.inference.receives[std::size_t(node)], node, ScopeType::receiver);
    }
  }
  for (const SlowGroup& group : c_.inference.groups)
    grave |= !group.confirmed && group.readings.size() >= 2 && group.readings.front().rate < critical;
  // Too few readings for a suspect, or only the ring's.
  const auto named_at_times = [&](int x, int y) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Suspect& s) { return s.unsteady && s.confirmed && s.explains(x, y); });
  };
  for (const auto& [x, y] : inconclusive_pairs(c_.readings, c_.inference, c_.thresholds)) {
    if (c_.seen.is_dead(x) || c_.seen.is_dead(y) || named_at_times(x, y)) continue;
    const auto told = [&, source = x, destination = y](const Suspect& s) {
      return s.type == ScopeType::path && s.explains(source, destination) && may_be_fine(s);
    };
    if (std::any_of(all.begin(), all.end(), told)) continue;
    grave = true;
    if (c_.inference.explains(x, y)) continue;
    out_.not_checked.push_back({StatementKind::too_few_readings,
                                {node(x), node(y)},
                                {{"rate_Bps", c_.readings.best(x, y)}, {"expected_Bps", reference_}}});
  }
  if (c_.inference.crowded) return grave;  // hops that share links make a ring slow, and are told
  const auto& w = c_.seen.slowest_hop;
  const double slowest = c_.inference.slowest_generation();
  grave |= w && w->rate < slowest * critical && w->rate < 0.8 * slowest * w->typical &&
           c_.readings.of(w->source, w->destination).empty();
  const bool faster = ring_is_faster();
  return ring_is_slow() || faster || grave;
}

// Every hop of a ring carries at least its busbw: where all pairs read far less, something held the machines
// up when these were measured, and what is due is not known.
bool Conclusion::ring_is_faster() {
  constexpr double far = 1.25;
  const RunRecord* const ring = last_ring_of(c_.seen.runs, out_.ring_busbw);
  if (!out_.ring_busbw || !ring || ring->stage != Stage::ring) return false;
  if (out_.ring_busbw->value <= far * reference_) return false;
  out_.not_checked.push_back(
      {StatementKind::fast_ring, {}, {{"rate_Bps", out_.ring_busbw}, {"expected_Bps", reference_}}});
  return true;
}

// A ring that no link explains. Beside others' traffic, which is told, it waits for whoever has least left.
bool Conclusion::ring_is_slow() {
  if (!c_.seen.others.empty()) return false;
  const auto expected =
      slow_ring(c_.seen, out_.expected, c_.inference.slowest_generation() * reference_, c_.thresholds);
  if (!expected) return false;
  out_.not_checked.push_back(
      {StatementKind::slow_ring, {}, {{"rate_Bps", out_.ring_busbw}, {"expected_Bps", expected}}});
  return true;
}

// A ring that only the scatter of readings explains: no fault is known, and the job on these nodes is as
// slow.
void Conclusion::add_scattered_ring() {
  if (out_.verdict != Verdict::healthy || c_.inference.crowded || !c_.seen.others.empty()) return;
  const double expected = attainable(out_.expected, c_.inference.slowest_generation() * reference_);
  const double low = c_.seen.readings.least();
  if (low <= 0 || low >= c_.thresholds.critical * expected) return;
  const auto due = ring_due(c_.seen, expected);
  if (!due || out_.ring_busbw->value >= c_.thresholds.critical * *due) return;
  out_.not_checked.push_back({StatementKind::scattered_ring,
                              {},
                              {{"rate_Bps", out_.ring_busbw}, {"expected_Bps", expected}, {"low_Bps", low}}});
}

std::optional<double> slow_ring(const Evidence& seen, const Expected& expected, double reference,
                                const Thresholds& thresholds) {
  // Where readings scatter widely, it waits for the worst of them at every step.
  const double most = attainable(expected, reference), least = seen.readings.least();
  const auto due = ring_due(seen, least > 0 ? std::min(most, least) : most);
  if (!due || seen.ring_busbw->value >= thresholds.critical * *due) return std::nullopt;
  return most;
}

}  // namespace ringtrue::diagnosis
