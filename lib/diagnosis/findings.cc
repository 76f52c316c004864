#include "diagnosis/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/plural.h"
#include "diagnosis/conclusion.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int most_rows = 256;  // of the matrix of rates

}  // namespace

std::string rate_text(double rate) {
  return to_text(BytesPerSecond(rate));
}

std::string share_text(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

void Conclusion::run() {
  fill_rates();
  add_dead();
  add_late();
  if (reference_ > 0) {
    for (const Group& group : groups()) add_finding(group);
    add_parts();
    add_fleet();
    add_doubts();
  }
  std::stable_sort(out_.findings.begin(), out_.findings.end(), [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.ratio.value_or(1) < b.ratio.value_or(1);
  });
  decide();
}

void Conclusion::fill_rates() {
  const int n = c_.readings.nodes();
  if (n <= most_rows) {
    out_.rates.assign(std::size_t(n), std::vector<std::optional<BytesPerSecond>>(std::size_t(n)));
    c_.readings.each_pair([&](int x, int y) {
      if (const auto best = c_.readings.best(x, y))
        out_.rates[std::size_t(x)][std::size_t(y)] = BytesPerSecond(*best);
    });
  }
  // What shared links with others and read low says nothing of its path.
  int unrated = 0;
  c_.readings.each_pair([&](int x, int y) {
    const auto list = c_.readings.of(x, y);
    unrated += std::all_of(list.begin(), list.end(), [&](const Reading& r) {
      return r.shared && r.rate < c_.thresholds.path * reference_;
    });
  });
  out_.coverage = {c_.readings.pairs_measured() - unrated, n * (n - 1)};
}

std::vector<Group> Conclusion::groups() const {
  std::vector<Group> out;
  std::set<const Suspect*> taken;
  for (const Suspect& s : c_.inference.suspects) {
    if (!s.confirmed || taken.count(&s)) continue;
    if (s.type == ScopeType::path && parts_.part_of(s.node, s.peer)) continue;
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

// The slowest hop that remains on the ring once `fixed` are repaired.
double Conclusion::ring_after(const Group& fixed) const {
  double slowest = reference_;
  const auto& order = c_.ring_order;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int x = order[i], y = order[(i + 1) % order.size()];
    for (const Suspect& s : c_.inference.suspects) {
      if (!s.confirmed || std::find(fixed.begin(), fixed.end(), &s) != fixed.end()) continue;
      if (s.explains(x, y)) slowest = std::min(slowest, s.best);
    }
  }
  return slowest;
}

bool Conclusion::on_ring(const Suspect& s) const {
  const auto& order = c_.ring_order;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (s.explains(order[i], order[(i + 1) % order.size()])) return true;
  }
  return false;
}

std::string Conclusion::impact(const Group& group) const {
  // A shaper's burst flatters short rings: no ring is faster than its slowest hop.
  const double now = out_.ring_busbw ? std::min(out_.ring_busbw->value, ring_after({})) : ring_after({});
  const double alone = ring_after(group);
  Group all;
  for (const Suspect& s : c_.inference.suspects) {
    if (s.confirmed) all.push_back(&s);
  }
  const double together = std::max(ring_after(all), now);
  if (std::none_of(group.begin(), group.end(), [&](const Suspect* s) { return on_ring(*s); })) {
    return fmt::format(
        "not on the ring in the order given (busbw {}); traffic between these two is held to {}",
        rate_text(now), rate_text(group[0]->best));
  }
  if (alone >= together * 0.99)
    return fmt::format("fixing it: {} -> {} busbw", rate_text(now), rate_text(together));
  if (alone > now * 1.05) {
    return fmt::format("fixing it: {} -> {} busbw; the other findings as well: {}", rate_text(now),
                       rate_text(alone), rate_text(together));
  }
  return fmt::format("fixing it together with the other findings: {} -> {} busbw", rate_text(now),
                     rate_text(together));
}

std::string Conclusion::readings_text(const Suspect& s) const {
  std::set<int> runs;
  for (const Reading& r : s.readings) runs.insert(r.run);
  return fmt::format("{} in {}, {} to {}", plural(s.readings.size(), "reading", "readings"),
                     plural(runs.size(), "experiment", "experiments"), rate_text(s.readings.back().rate),
                     rate_text(s.readings.front().rate));
}

void Conclusion::add_evidence(const Suspect& s, Finding& f) const {
  const std::string& name = node(s.node);
  const bool sends = s.type == ScopeType::sender;
  if (s.type == ScopeType::path) {
    f.evidence.push_back(fmt::format("{} -> {} carries at most {} ({}); expected {}", name, node(s.peer),
                                     rate_text(s.best), readings_text(s), rate_text(reference_)));
    if (out_.nodes.size() > 2) {
      f.evidence.push_back(
          fmt::format("both ends do better with others: {} sends up to {}, {} receives up to {}", name,
                      rate_text(c_.inference.sends[std::size_t(s.node)].value_or(0)), node(s.peer),
                      rate_text(c_.inference.receives[std::size_t(s.peer)].value_or(0))));
    } else {
      f.evidence.push_back(
          fmt::format("with two nodes, {}'s sending side, {}'s receiving side and the path "
                      "between cannot be told apart: all three are suspects",
                      name, node(s.peer)));
    }
  } else {
    f.evidence.push_back(fmt::format(
        "{} {} at most {} {} {} ({}); expected {}", name, sends ? "sends" : "receives", rate_text(s.best),
        sends ? "to any of" : "from any of", plural(std::size_t(s.partners), "partner", "partners"),
        readings_text(s), rate_text(reference_)));
    const auto& others = sends ? c_.inference.receives : c_.inference.sends;
    double weakest = 0;
    for (const Reading& r : s.readings) {
      const double limit = others[std::size_t(sends ? r.destination : r.source)].value_or(0);
      weakest = weakest == 0 ? limit : std::min(weakest, limit);
    }
    if (weakest > s.best * 1.02) {
      f.evidence.push_back(fmt::format("each of these partners {} {} or more with others",
                                       sends ? "receives" : "sends", rate_text(weakest)));
    }
  }
  if (s.type == ScopeType::node) {
    f.evidence.push_back(fmt::format(
        "each time the program on {} held the data back: its processors are the limit, not the wire", name));
  }
  add_losses(s, f);
  const auto& w = c_.witness;
  if (w && s.explains(w->source, w->destination) && w->rate < w->typical * 0.95) {
    f.evidence.push_back(fmt::format("{} -> {} was the slowest hop of the ring: {}, typical {}",
                                     node(w->source), node(w->destination), rate_text(w->rate),
                                     rate_text(w->typical)));
  }
  for (const PortReading& p : c_.ports) {
    const bool same_side = s.type == (p.receives ? ScopeType::receiver : ScopeType::sender);
    if (!same_side || p.node != s.node || p.rate >= std::max(p.typical, reference_) * 0.95) continue;
    f.evidence.push_back(fmt::format("in an omnireduce aggregator {} on {} {} {}, typical {}", p.aggregator,
                                     name, p.receives ? "received" : "sent", rate_text(p.rate),
                                     rate_text(p.typical)));
  }
  if (s.alternative) {
    f.evidence.push_back(
        "another set of as few causes would explain the readings as well; more nodes would decide");
  }
  if (std::all_of(s.readings.begin(), s.readings.end(), [](const Reading& r) { return r.cpu_busy > 0.9; })) {
    f.evidence.push_back("processors were more than 90 % busy in all of these experiments");
  }
}

// Packets that were sent again, where that is far more than others had to.
void Conclusion::add_losses(const Suspect& s, Finding& f) const {
  double lost = 0, bytes = 0, all_lost = 0, all_bytes = 0;
  for (const Reading& r : s.readings) lost += double(r.retransmits), bytes += double(r.bytes);
  c_.readings.each_pair([&](int x, int y) {
    for (const Reading& r : c_.readings.of(x, y))
      if (!s.explains(x, y)) all_lost += double(r.retransmits), all_bytes += double(r.bytes);
  });
  if (lost < 20 || all_bytes <= 0 || lost / bytes < 10 * all_lost / all_bytes) return;
  f.evidence.push_back(
      fmt::format("it loses packets: {:.0f} had to be sent again, {:.0f} for each gigabyte; elsewhere {:.0f}",
                  lost, lost / bytes * 1e9, all_lost / all_bytes * 1e9));
}

void Conclusion::add_other_side(const Suspect& s, Finding& f) const {
  if (s.type == ScopeType::path || s.type == ScopeType::node) return;
  const bool sends = s.type == ScopeType::sender;
  const Side side{s.node, sends ? Direction::receives : Direction::sends};
  if (const auto alone = c_.inference.cleared_at(side)) {
    f.evidence.push_back(
        fmt::format("while both directions are in use it {} less, as acknowledgements queue behind the "
                    "slow side's data; "
                    "alone it {} {}: that side is fine",
                    sends ? "receives" : "sends", sends ? "receives" : "sends", rate_text(*alone)));
  }
  if (c_.inference.is_overshadowed(side)) return;
  const auto other = (sends ? c_.inference.receives : c_.inference.sends)[std::size_t(s.node)];
  if (!other || *other < c_.thresholds.warning * reference_) return;
  f.evidence.push_back(
      fmt::format("it {} {}: that side is fine", sends ? "receives" : "sends", rate_text(*other)));
}

void Conclusion::add_finding(const Group& group) {
  const Suspect& worst = *group[0];  // suspects are sorted
  Finding f;
  f.scope.node = worst.node;
  f.scope.node_name = node(worst.node);
  f.scope.type = group.size() > 1 ? ScopeType::node : worst.type;
  if (worst.type == ScopeType::path) {
    f.scope.peer = worst.peer;
    f.scope.peer_name = node(worst.peer);
  }
  name_rails(group, f);
  f.kind = worst.type == ScopeType::node ? "slow-compute" : "slow-" + std::string(name(f.scope.type));
  f.severity = severity(worst.ratio);
  f.measured = BytesPerSecond(worst.best);
  f.expected = BytesPerSecond(reference_);
  f.ratio = worst.ratio;
  f.confidence = 1;
  for (const Suspect* s : group) {
    f.confidence = std::min(f.confidence, confidence(*s));
    add_evidence(*s, f);
  }
  if (group.size() == 1) add_other_side(worst, f);
  add_rails(f);
  f.impact = impact(group);
  f.next = worst.type == ScopeType::node
               ? fmt::format("on {}, look at what else its processors do, at their clocks and their cooling",
                             f.scope.node_name)
               : next(f.scope);
  out_.findings.push_back(std::move(f));
}

// The ports that the accused ends' data went through, where it was RDMA.
void Conclusion::add_rails(Finding& f) const {
  for (const std::string& name : {f.scope.node_name, f.scope.peer_name}) {
    const auto rails = out_.rails.find(name);
    if (name.empty() || rails == out_.rails.end() || rails->second.empty()) continue;
    std::string ports;
    for (const RdmaPort& port : rails->second)
      ports += fmt::format("{}{} port {}", ports.empty() ? "" : ", ", port.device, port.number);
    f.evidence.push_back(fmt::format("{}'s data went through {}", name, ports));
    if (name == f.scope.node_name && rails->second.size() == 1 && f.scope.device.empty())
      f.scope.device = fmt::format("{}/{}", rails->second[0].device, rails->second[0].number);
  }
}

std::string Conclusion::next(const Scope& s) const {
  if (s.type == ScopeType::path) {
    return fmt::format(
        "look at the route between {} and {} (switch ports, trunks, hash collisions, rate limits)",
        s.node_name, s.peer_name);
  }
  const char* part =
      s.type == ScopeType::sender     ? "what it sends through: port speed, shaping, errors on its cable"
      : s.type == ScopeType::receiver ? "what it receives through: its switch port, ring drops, pause frames"
                                      : "its port, cable and slot: speed, width, errors";
  return fmt::format(
      "on {}, look at {} (ethtool, ethtool -S, tc qdisc); after the repair run ringtrue check again",
      s.node_name, part);
}

Severity Conclusion::severity(double ratio) const {
  return ratio < c_.thresholds.critical  ? Severity::critical
         : ratio < c_.thresholds.warning ? Severity::warning
                                         : Severity::info;
}

void conclude(const Case& c, Diagnosis& diagnosis) {
  Conclusion(c, diagnosis).run();
}

}  // namespace ringtrue::diagnosis
