#include "diagnosis/findings/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/statistics.h"
#include "diagnosis/findings/conclusion.h"
#include "diagnosis/findings/confidence.h"
#include "diagnosis/infer/generations.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int max_rows = 256;  // of the matrix of rates

std::optional<BytesPerSecond> middle_of(const std::vector<double>& rates) {
  return rates.empty() ? std::nullopt : std::optional(BytesPerSecond(middle_mean(rates)));
}

}  // namespace

std::string in_words(Course course, int low_runs, int all_runs) {
  const std::string of = fmt::format("{} of {} experiments", low_runs, all_runs);
  return course == Course::began   ? "became slow during the check, in the last " + of
         : course == Course::ended ? "was slow in the first " + of + ", and no more since"
                                   : "is slow at times, in " + of;
}

void Conclusion::run() {
  fill_rates();
  add_dead();
  add_late();
  if (reference_ > 0) {
    for (const Group& group : groups()) add_finding(group);
    add_parts();
    add_fleet();
    add_generations();
    add_inconclusive();
  }
  add_others();
  constexpr double most_of_one_machine = 0.7;  // as a busy processor looks the same
  if (c_.structure.one_machine)
    for (Finding& f : out_.findings)
      if (f.kind != FindingKind::dead_node) f.confidence = std::min(f.confidence, most_of_one_machine);
  std::stable_sort(out_.findings.begin(), out_.findings.end(), [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.ratio.value_or(1) < b.ratio.value_or(1);
  });
  decide();
}

// Also of readings that shared links: a rail carries what they show, at least.
void Conclusion::fill_rail_rates() {
  using ByRail = std::vector<std::vector<double>>;  // each partner's best
  std::vector<ByRail> sends(out_.sides.size()), receives(sends);
  const auto add = [](const std::vector<double>& best, ByRail& to) {
    to.resize(std::max(to.size(), best.size()));
    for (std::size_t k = 0; k < best.size(); ++k)
      if (best[k] > 0) to[k].push_back(best[k]);
  };
  c_.readings.each_pair([&](int x, int y) {
    const std::vector<double> best = best_by_rail(c_.seen.readings.usable(x, y));
    add(best, sends[std::size_t(x)]);
    add(best, receives[std::size_t(y)]);
  });
  for (std::size_t i = 0; i < out_.sides.size(); ++i) {
    auto& rails = out_.sides[i].rails;
    rails.resize(std::max(sends[i].size(), receives[i].size()));
    for (std::size_t k = 0; k < sends[i].size(); ++k) rails[k].sends = middle_of(sends[i][k]);
    for (std::size_t k = 0; k < receives[i].size(); ++k) rails[k].receives = middle_of(receives[i][k]);
  }
}

void Conclusion::fill_rates() {
  const int n = c_.readings.nodes();
  if (n <= max_rows) {
    out_.rates.assign(std::size_t(n), std::vector<std::optional<BytesPerSecond>>(std::size_t(n)));
    // What an end carried for others meanwhile counts, but no hop does more than the ports at both its ends.
    const std::vector<double>& ports = c_.structure.port_rates;
    const bool known = knows_all(ports);
    c_.readings.each_pair([&](int x, int y) {
      auto best = c_.seen.readings.best(x, y);
      if (!best) return;
      if (known) *best = std::min({*best, ports[std::size_t(x)], ports[std::size_t(y)]});
      out_.rates[std::size_t(x)][std::size_t(y)] = BytesPerSecond(*best);
    });
  }
  std::vector<std::vector<double>> sends(static_cast<std::size_t>(n)), receives(sends);
  c_.readings.each_pair([&](int x, int y) {
    const auto best = c_.seen.readings.best(x, y);
    if (!best) return;
    sends[std::size_t(x)].push_back(*best);
    receives[std::size_t(y)].push_back(*best);
  });
  for (std::size_t i = 0; i < sends.size(); ++i)
    out_.sides.push_back(
        {middle_of(sends[i]), middle_of(receives[i]), int(sends[i].size()), int(receives[i].size())});
  fill_rail_rates();
  // What shared links with others and read low says nothing of its path.
  int unrated = 0;
  const auto alone = [&](int x, int y) {  // it has readings of its own
    return std::any_of(c_.inference.suspects.begin(), c_.inference.suspects.end(), [&](const Suspect& s) {
      return s.type == ScopeType::path && !s.readings.empty() && s.explains(x, y);
    });
  };
  c_.readings.each_pair([&](int x, int y) {
    const auto list = c_.readings.of(x, y);
    unrated +=
        std::all_of(list.begin(), list.end(),
                    [&](const Reading& r) { return r.shared && r.rate < c_.thresholds.path * reference_; }) &&
        !alone(x, y);
  });
  out_.coverage = {c_.readings.pairs_measured() - unrated, n * (n - 1)};
}

// Slow on the rails on which an end of it is, and about as slow: it is one NIC.
bool Conclusion::is_of_a_nic(const Suspect& path) const {
  constexpr double alike = 0.1;
  const std::vector<int> rails = parts_.slow_rails(path);
  return !rails.empty() && std::ranges::any_of(c_.inference.suspects, [&](const Suspect& s) {
    const bool at_an_end = s.node == path.node || s.node == path.peer;
    return s.confirmed && s.type != ScopeType::path && at_an_end &&
           std::abs(s.ratio - path.ratio) <= alike * path.ratio && parts_.slow_rails(s) == rails;
  });
}

std::vector<Group> Conclusion::groups() const {
  std::vector<Group> out;
  std::set<const Suspect*> taken;
  for (const Suspect& s : c_.inference.suspects) {
    if (!s.confirmed || taken.count(&s)) continue;
    if (s.type == ScopeType::path && (parts_.part_of(s.node, s.peer) || is_of_a_nic(s))) continue;
    Group group{&s};
    if (s.type == ScopeType::sender || s.type == ScopeType::receiver) {
      const auto other_type = s.type == ScopeType::sender ? ScopeType::receiver : ScopeType::sender;
      const Suspect* other = c_.inference.find(other_type, s.node);
      // Of different rails they are two causes.
      if (other && other->confirmed && parts_.slow_rails(s) == parts_.slow_rails(*other))
        group.push_back(other);
    }
    taken.insert(group.begin(), group.end());
    out.push_back(std::move(group));
  }
  return out;
}

// How often it was measured, and what came out.
std::vector<Quantity> Conclusion::readings_of(const Suspect& s) const {
  std::set<int> runs;
  for (const Reading& r : s.readings) runs.insert(r.run);
  const double share = c_.inference.generation(s);
  return {{"rate_Bps", share * s.best},
          {"expected_Bps", share * reference_},
          {"readings", double(s.readings.size())},
          {"experiments", double(runs.size())},
          {"low_Bps", share * s.readings.back().rate},
          {"high_Bps", share * s.readings.front().rate}};
}

void Conclusion::add_evidence(const Suspect& s, Finding& f) const {
  const Subject name = node(s.node);
  const bool sends = s.type == ScopeType::sender;
  const auto say = [&](StatementKind kind, std::vector<Subject> whom = {},
                       std::vector<Quantity> values = {}) {
    f.evidence.emplace_back(kind, std::move(whom), std::move(values));
  };
  std::vector<Quantity> readings = readings_of(s);
  const auto say_at_times = [&](StatementKind kind, std::vector<Subject> whom,
                                std::vector<Quantity> more = {}) {
    std::vector<Quantity> values{{"low_runs", double(s.low_runs)},
                                 {"runs", double(s.all_runs)},
                                 {"rate_Bps", c_.inference.generation(s) * s.best},
                                 {"expected_Bps", c_.inference.generation(s) * reference_}};
    values.insert(values.end(), more.begin(), more.end());
    f.evidence.push_back(
        {kind, std::move(whom), std::move(values), in_words(s.course, s.low_runs, s.all_runs)});
  };
  if (s.type == ScopeType::path) {
    const Subject peer = node(s.peer);
    if (s.unsteady)
      say_at_times(StatementKind::path_slow_at_times, {name, peer});
    else
      say(StatementKind::path_rate, {name, peer}, std::move(readings));
    if (s.ends_alike) {
      say(StatementKind::cannot_be_told_apart, {name, peer});
    } else {
      say(StatementKind::ends_do_better, {name, peer},
          {{"sends_Bps",
            c_.inference.sends[std::size_t(s.node)].value_or(0) * c_.inference.generation(s.node)},
           {"receives_Bps",
            c_.inference.receives[std::size_t(s.peer)].value_or(0) * c_.inference.generation(s.peer)}});
    }
  } else {
    readings.push_back({"partners", double(s.partners)});
    if (s.unsteady)
      say_at_times(sends ? StatementKind::sends_slowly_at_times : StatementKind::receives_slowly_at_times,
                   {name}, {{"partners", double(s.partners)}});
    else
      say(sends ? StatementKind::send_rate : StatementKind::receive_rate, {name}, std::move(readings));
    const auto& others = sends ? c_.inference.receives : c_.inference.sends;
    double weakest = 0;
    for (const Reading& r : s.readings) {
      const double limit = others[std::size_t(sends ? r.destination : r.source)].value_or(0);
      weakest = weakest == 0 ? limit : std::min(weakest, limit);
    }
    if (weakest > s.best * 1.02)
      say(sends ? StatementKind::partners_receive : StatementKind::partners_send, {},
          {{"rate_Bps", weakest}});
  }
  if (s.type == ScopeType::node) say(StatementKind::program_holds_back, {name});
  add_causes(s, f);
  const auto& w = c_.seen.slowest_hop;
  if (w && s.explains(w->source, w->destination) && w->rate < w->typical * 0.95)
    say(StatementKind::slowest_hop, {node(w->source), node(w->destination)},
        {{"rate_Bps", w->rate}, {"typical_Bps", w->typical}});
  for (const PortReading& p : c_.seen.ports) {
    const bool same_side = s.type == (p.receives ? ScopeType::receiver : ScopeType::sender);
    if (!same_side || p.node != s.node || p.rate >= std::max(p.typical, reference_) * 0.95) continue;
    say(p.receives ? StatementKind::aggregator_received : StatementKind::aggregator_sent, {name},
        {{"aggregator", double(p.aggregator)}, {"rate_Bps", p.rate}, {"typical_Bps", p.typical}});
  }
  if (s.alternative) say(StatementKind::other_causes);
  if (std::all_of(s.readings.begin(), s.readings.end(), [](const Reading& r) { return r.cpu_busy > 0.9; }))
    say(StatementKind::busy_processors);
}

namespace {

// What the senders' kernels count in some pairs' readings.
struct SenderCounts {
  double lost = 0, segments = 0, busy = 0, window = 0, send_buffer = 0;

  void add(const Reading& r, double segment) {
    lost += double(r.retransmits);
    segments += 1 + double(r.bytes) / segment;
    busy += r.busy;
    window += r.window_limited * r.busy;
    send_buffer += r.send_buffer_limited * r.busy;
  }
  double share(double SenderCounts::*of, double SenderCounts::*all) const {
    return this->*all > 0 ? this->*of / this->*all : 0;
  }
};

}  // namespace

// Causes, where the transport's own counters tell one far more often than elsewhere: segments that were sent
// again, windows, send buffers.
void Conclusion::add_causes(const Suspect& s, Finding& f) const {
  constexpr double fewest_lost = 5, least_share = 1e-4, more_than_elsewhere = 4, half_of_one = 0.5;
  constexpr double often = 0.3, more_often_by = 0.2;
  SenderCounts here, elsewhere;
  c_.readings.each_pair([&](int x, int y) {
    for (const Reading& r : c_.readings.of(x, y))
      (s.explains(x, y) ? here : elsewhere).add(r, c_.seen.segment);
  });
  const std::string& name = node(s.node);
  const std::string where = s.type == ScopeType::path     ? fmt::format("from {} to {}", name, node(s.peer))
                            : s.type == ScopeType::sender ? fmt::format("that {} sent", name)
                                                          : fmt::format("towards {}", name);
  const double lost = here.share(&SenderCounts::lost, &SenderCounts::segments);
  elsewhere.lost += half_of_one;
  const double usual = elsewhere.share(&SenderCounts::lost, &SenderCounts::segments);
  if (here.lost >= fewest_lost && lost >= least_share && lost >= more_than_elsewhere * usual) {
    elsewhere.lost -= half_of_one;
    f.evidence.push_back(
        {StatementKind::resent,
         {name},
         {{"resent", here.lost},
          {"segments", here.segments},
          {"resent_percent", 100 * lost},
          {"elsewhere_percent", 100 * elsewhere.share(&SenderCounts::lost, &SenderCounts::segments)}},
         where});
  }
  const auto limited = [&](StatementKind kind, double SenderCounts::*by, const std::string& whom) {
    const double share = here.share(by, &SenderCounts::busy);
    if (share < often || share < elsewhere.share(by, &SenderCounts::busy) + more_often_by) return;
    f.evidence.push_back({kind, {name}, {{"limited_percent", 100 * share}}, whom});
  };
  limited(StatementKind::window_limited, &SenderCounts::window,
          s.type == ScopeType::path ? node(s.peer) : "");
  limited(StatementKind::send_buffer_limited, &SenderCounts::send_buffer,
          s.type == ScopeType::receiver ? "" : name);
}

// What a side did at its best says nothing of when its node's other side was slow.
bool Conclusion::was_fine_meanwhile(Side side, const Suspect& s) const {
  constexpr int fewest = 2;
  std::set<int> low_runs;
  for (const Reading& r : s.readings) low_runs.insert(r.run);
  int fine = 0, low = 0;
  for (const auto& [x, y] : pairs_of(c_.readings, side))
    for (const Reading& r : c_.readings.counting_for(side.direction, x, y))
      if (low_runs.count(r.run)) ++(r.rate < c_.thresholds.warning * c_.inference.due(x, y) ? low : fine);
  return fine >= fewest && low < fine;
}

void Conclusion::add_other_side(const Suspect& s, Finding& f) const {
  if (s.type == ScopeType::path || s.type == ScopeType::node) return;
  const bool sends = s.type == ScopeType::sender;
  const Side side{s.node, sends ? Direction::receives : Direction::sends};
  const double share = c_.inference.generation(s);
  if (const auto alone = c_.inference.fine_alone_at(side))
    f.evidence.push_back({sends ? StatementKind::alone_receives : StatementKind::alone_sends,
                          {},
                          {{"rate_Bps", *alone * share}}});
  // What reads low at times, and is not proven, is not fine.
  if (c_.inference.is_overshadowed(side) ||
      c_.inference.find(sends ? ScopeType::receiver : ScopeType::sender, s.node))
    return;
  if (s.unsteady && !was_fine_meanwhile(side, s)) return;
  const auto other = (sends ? c_.inference.receives : c_.inference.sends)[std::size_t(s.node)];
  if (!other || *other < c_.thresholds.warning * reference_) return;
  f.evidence.push_back(
      {sends ? StatementKind::also_receives : StatementKind::also_sends, {}, {{"rate_Bps", *other * share}}});
}

void Conclusion::add_finding(const Group& group) {
  const Suspect& worst = *group[0];  // suspects are sorted
  Finding f;
  f.scope.node = worst.node;
  f.scope.subject = node(worst.node);
  f.scope.type = group.size() > 1 ? ScopeType::node : worst.type;
  if (worst.type == ScopeType::path) {
    f.scope.peer = worst.peer;
    f.scope.peer_name = node(worst.peer);
  }
  name_rails(group, f);
  f.kind = worst.type == ScopeType::node ? FindingKind::slow_compute : slow_kind(f.scope.type);
  f.severity = severity(worst.ratio);
  // What is over is told, and no reason to take a node out.
  if (std::all_of(group.begin(), group.end(),
                  [](const Suspect* s) { return s->unsteady && s->course == Course::ended; }))
    f.severity = Severity::info;
  f.measured = BytesPerSecond(worst.best * c_.inference.generation(worst));
  f.expected = BytesPerSecond(reference_ * c_.inference.generation(worst));
  f.ratio = worst.ratio;
  f.confidence = confidence(f.scope.type, worst.ratio, group);
  for (const Suspect* s : group) add_evidence(*s, f);
  if (group.size() == 1) add_other_side(worst, f);
  add_rails(f);
  f.next = worst.type == ScopeType::node ? Statement(StatementKind::look_at_program, {f.scope.subject.node})
                                         : next(f.scope);
  out_.findings.push_back(std::move(f));
}

// The ports that the suspected ends' data went through, where it was RDMA.
void Conclusion::add_rails(Finding& f) const {
  for (const std::string& name : {f.scope.subject.node, f.scope.peer_name}) {
    const auto rails = out_.rails.find(name);
    if (name.empty() || rails == out_.rails.end() || rails->second.empty()) continue;
    std::string ports;
    for (const RdmaPort& port : rails->second)
      ports += fmt::format("{}{} port {}", ports.empty() ? "" : ", ", port.device, port.port);
    f.evidence.push_back({StatementKind::rdma_ports, {name}, {}, ports});
    if (name == f.scope.subject.node && rails->second.size() == 1 && f.scope.subject.device.empty())
      f.scope.subject.device = port_name(rails->second[0]);
  }
}

Statement Conclusion::next(const Scope& s) const {
  if (s.type == ScopeType::path) return {StatementKind::look_at_route, {s.subject.node, s.peer_name}};
  return {s.type == ScopeType::sender     ? StatementKind::look_at_sender
          : s.type == ScopeType::receiver ? StatementKind::look_at_receiver
                                          : StatementKind::look_at_port,
          {s.subject.node}};
}

Severity Conclusion::severity(double ratio) const {
  return ratio < c_.thresholds.critical  ? Severity::critical
         : ratio < c_.thresholds.warning ? Severity::warning
                                         : Severity::info;
}

void conclude(const Measured& c, Diagnosis& diagnosis) {
  Conclusion(c, diagnosis).run();
}

}  // namespace ringtrue::diagnosis
