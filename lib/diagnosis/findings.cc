#include "diagnosis/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ringtrue::diagnosis {
namespace {

std::string rate_text(double rate) {
  return to_text(BytesPerSecond(rate));
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string plural(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// What one finding stands for: one suspect, or both sides of a node.
using Group = std::vector<const Suspect*>;

class Conclusion {
 public:
  Conclusion(const Case& c, Diagnosis& out) : c_(c), out_(out), reference_(c.inference.reference.rate) {}

  void run() {
    fill_rates();
    if (reference_ > 0) {
      for (const Group& group : groups()) add_finding(group);
      add_fleet();
      add_doubts();
    }
    std::stable_sort(out_.findings.begin(), out_.findings.end(), [](const Finding& a, const Finding& b) {
      if (a.severity != b.severity) return a.severity > b.severity;
      return a.ratio.value_or(1) < b.ratio.value_or(1);
    });
    decide();
  }

 private:
  const std::string& node(int i) const { return out_.nodes[std::size_t(i)]; }

  void fill_rates() {
    const int n = c_.readings.nodes();
    out_.rates.assign(std::size_t(n), std::vector<std::optional<BytesPerSecond>>(std::size_t(n)));
    for (int x = 0; x < n; ++x) {
      for (int y = 0; y < n; ++y) {
        if (const auto best = c_.readings.best(x, y))
          out_.rates[std::size_t(x)][std::size_t(y)] = BytesPerSecond(*best);
      }
    }
    out_.coverage = {c_.readings.pairs_measured(), n * (n - 1)};
  }

  std::vector<Group> groups() const {
    std::vector<Group> out;
    std::set<const Suspect*> taken;
    for (const Suspect& s : c_.inference.suspects) {
      if (!s.confirmed || taken.count(&s)) continue;
      Group group{&s};
      if (s.type != ScopeType::path) {
        const auto other_type = s.type == ScopeType::sender ? ScopeType::receiver : ScopeType::sender;
        const Suspect* other = c_.inference.find(other_type, s.node);
        if (other && other->confirmed) group.push_back(other);
      }
      taken.insert(group.begin(), group.end());
      out.push_back(std::move(group));
    }
    return out;
  }

  static bool explains(const Suspect& s, int x, int y) {
    if (s.type == ScopeType::path) return s.node == x && s.peer == y;
    return s.type == ScopeType::sender ? s.node == x : s.node == y;
  }

  // The slowest hop that remains on the ring once `fixed` are repaired.
  double ring_after(const Group& fixed) const {
    double slowest = reference_;
    const auto& order = c_.ring_order;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int x = order[i], y = order[(i + 1) % order.size()];
      for (const Suspect& s : c_.inference.suspects) {
        if (!s.confirmed || std::find(fixed.begin(), fixed.end(), &s) != fixed.end()) continue;
        if (explains(s, x, y)) slowest = std::min(slowest, s.best);
      }
    }
    return slowest;
  }

  std::string impact(const Group& group) const {
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

  bool on_ring(const Suspect& s) const {
    const auto& order = c_.ring_order;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (explains(s, order[i], order[(i + 1) % order.size()])) return true;
    }
    return false;
  }

  std::string readings_text(const Suspect& s) const {
    std::set<int> runs;
    for (const Reading& r : s.readings) runs.insert(r.run);
    return fmt::format("{} in {}, {} to {}", plural(s.readings.size(), "reading", "readings"),
                       plural(runs.size(), "experiment", "experiments"), rate_text(s.readings.back().rate),
                       rate_text(s.readings.front().rate));
  }

  void add_evidence(const Suspect& s, Finding& f) const {
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
    const auto& w = c_.witness;
    if (w && explains(s, w->source, w->destination) && w->rate < w->typical * 0.95) {
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
    if (std::all_of(s.readings.begin(), s.readings.end(),
                    [](const Reading& r) { return r.cpu_busy > 0.9; })) {
      f.evidence.push_back("processors were more than 90 % busy in all of these experiments");
    }
  }

  void add_other_side(const Suspect& s, Finding& f) const {
    if (s.type == ScopeType::path) return;
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

  void add_finding(const Group& group) {
    const Suspect& worst = *group[0];  // suspects are sorted
    Finding f;
    f.scope.node = worst.node;
    f.scope.node_name = node(worst.node);
    f.scope.type = group.size() > 1 ? ScopeType::node : worst.type;
    if (worst.type == ScopeType::path) {
      f.scope.peer = worst.peer;
      f.scope.peer_name = node(worst.peer);
    }
    f.kind = "slow-" + std::string(name(f.scope.type));
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
    f.next = next(f.scope);
    out_.findings.push_back(std::move(f));
  }

  // The ports that the accused ends' data went through, where it was RDMA.
  void add_rails(Finding& f) const {
    for (const std::string& name : {f.scope.node_name, f.scope.peer_name}) {
      const auto rails = out_.rails.find(name);
      if (name.empty() || rails == out_.rails.end() || rails->second.empty()) continue;
      std::string ports;
      for (const RdmaPort& port : rails->second)
        ports += fmt::format("{}{} port {}", ports.empty() ? "" : ", ", port.device, port.number);
      f.evidence.push_back(fmt::format("{}'s data went through {}", name, ports));
      if (name == f.scope.node_name && rails->second.size() == 1)
        f.scope.device = fmt::format("{}/{}", rails->second[0].device, rails->second[0].number);
    }
  }

  std::string next(const Scope& s) const {
    if (s.type == ScopeType::path) {
      return fmt::format(
          "look at the route between {0} and {1} (switch ports, trunks, hash collisions, rate limits), "
          "then see the pair again: ringtrue sweep --hosts {0},{1}",
          s.node_name, s.peer_name);
    }
    const char* part = s.type == ScopeType::sender
                           ? "what it sends through: port speed, shaping, errors on its cable"
                       : s.type == ScopeType::receiver
                           ? "what it receives through: its switch port, ring drops, pause frames"
                           : "its port, cable and slot: speed, width, errors";
    return fmt::format(
        "on {}, look at {} (ethtool, ethtool -S, tc qdisc); after the repair run ringtrue check again",
        s.node_name, part);
  }

  Severity severity(double ratio) const {
    return ratio < c_.thresholds.critical  ? Severity::critical
           : ratio < c_.thresholds.warning ? Severity::warning
                                           : Severity::info;
  }

  void add_fleet() {
    const Reference& r = c_.inference.reference;
    if (r.above_declared && out_.expected.value) {
      Finding f;
      f.kind = "above-link-rate";
      f.scope.type = ScopeType::fleet;
      f.measured = BytesPerSecond(r.rate);
      f.expected = out_.expected.value;
      f.ratio = r.share;
      f.confidence = 1;
      f.evidence.push_back(
          fmt::format("most sides carry {}, above the declared link rate: it is not these links' rate, "
                      "so the fleet's majority is used instead",
                      rate_text(r.rate)));
      f.next = "give the links' true rate with --link-rate";
      out_.findings.push_back(std::move(f));
    }
    if (!r.fleet_slow) {
      if (r.share > 0 && r.share < c_.thresholds.warning) {
        out_.not_checked.push_back(
            {fmt::format("the last {} of all links' rate", percent(1 - r.share)),
             fmt::format("most sides reach {} of what is attainable at the link rate; so little "
                         "may be lost in measuring",
                         percent(r.share))});
      }
      return;
    }
    bool busy = c_.readings.nodes() > 0;
    for (int x = 0; x < c_.readings.nodes(); ++x) {
      for (int y = 0; y < c_.readings.nodes(); ++y) {
        for (const Reading& reading : c_.readings.of(x, y)) busy &= reading.cpu_busy > 0.9;
      }
    }
    const std::string fact = fmt::format("most sides reach {}, {} of what is attainable at the link rate",
                                         rate_text(r.rate), percent(r.share));
    if (busy || c_.fleet_repeats < 2) {
      out_.not_checked.push_back(
          {"whether all links are slow",
           fact + (busy ? ", but processors were more than 90 % busy" : ", but it was measured too seldom")});
      return;
    }
    Finding f;
    f.kind = "slow-fleet";
    f.scope.type = ScopeType::fleet;
    f.severity = severity(r.share);
    f.measured = BytesPerSecond(r.rate);
    f.expected = out_.expected.value;
    f.ratio = r.share;
    f.confidence = 0.7;  // a wrong --link-rate looks the same
    f.evidence.push_back(fact + ", and none comes near it");
    f.impact = fmt::format("fixing it: {} -> {} busbw", rate_text(r.rate),
                           out_.expected.value ? to_text(*out_.expected.value) : std::string("unknown"));
    f.next =
        "make sure that --link-rate is the links' nominal rate; then look at what all nodes share: switch, "
        "MTU, "
        "speed negotiation";
    out_.findings.push_back(std::move(f));
  }

  void add_doubts() {
    std::size_t unclear_paths = 0;
    for (const Suspect& s : c_.inference.suspects) {
      if (s.confirmed) continue;
      if (s.readings.empty()) {
        ++unclear_paths;
        continue;
      }
      Scope scope{s.type, s.node, s.peer, node(s.node), s.peer < 0 ? "" : node(s.peer), ""};
      out_.not_checked.push_back(
          {fmt::format("{}: {} of {}", scope.text(), rate_text(s.best), rate_text(reference_)), s.missing});
    }
    if (unclear_paths > 0) {
      out_.not_checked.push_back({plural(unclear_paths, "path", "paths") + " of nodes with a slow side",
                                  "acknowledgements queue there, and there was no time to measure one "
                                  "direction at a time; check again after the repair"});
    }
    add_held_back();
    for (const Side& side : c_.inference.overshadowed) {
      const bool sends = side.direction == Direction::sends;
      const auto limit = (sends ? c_.inference.sends : c_.inference.receives)[std::size_t(side.node)];
      const Suspect* other = c_.inference.find(sends ? ScopeType::receiver : ScopeType::sender, side.node);
      if (!other || !limit || *limit >= c_.thresholds.warning * reference_) continue;
      if (c_.inference.find(sends ? ScopeType::sender : ScopeType::receiver, side.node)) continue;
      if (c_.inference.cleared_at(side)) continue;
      out_.not_checked.push_back(
          {fmt::format("{}'s {} side: {} of {}", node(side.node), sends ? "sending" : "receiving",
                       rate_text(*limit), rate_text(reference_)),
           "its other side is so slow that acknowledgements queue behind it; check again after the repair"});
    }
  }

  // Sides of which every reading was held back by the receiving program.
  void add_held_back() {
    for (int y = 0; y < c_.readings.nodes(); ++y) {
      if (c_.inference.receives[std::size_t(y)]) continue;
      std::size_t all = 0;
      for (int x = 0; x < c_.readings.nodes(); ++x) all += c_.readings.of(x, y).size();
      if (all == 0) continue;
      out_.not_checked.push_back({fmt::format("{}'s receiving side", node(y)),
                                  fmt::format("in all of {} the program on {} took the data too slowly to "
                                              "rate the wire; look at its processors",
                                              plural(all, "reading", "readings"), node(y))});
    }
  }

  void decide() {
    Severity worst = Severity::info;
    for (const Finding& f : out_.findings) worst = std::max(worst, f.severity);
    if (worst == Severity::critical) {
      out_.verdict = Verdict::faulty;
    } else if (worst == Severity::warning) {
      out_.verdict = Verdict::degraded;
    } else {
      out_.verdict = out_.error || reference_ <= 0 || grave_doubt() ? Verdict::unknown : Verdict::healthy;
    }
  }

  // Others, between other ports, are often as slow.
  bool disturbed(int x, int y, double best) const {
    const double as_low =
        c_.readings.share_as_low(best, false, [&](int a, int b) { return a == x || b == y; });
    if (as_low > common_share) return true;
    const auto readings = c_.readings.counting(x, y).size();
    return as_low > 0 && may_be_chance(as_low, int(readings), c_.readings.nodes());
  }

  // No pass, though not proven either.
  bool grave_doubt() {
    const double critical = c_.thresholds.critical * reference_;
    const auto& all = c_.inference.suspects;
    bool grave = std::any_of(all.begin(), all.end(),
                             [&](const Suspect& s) { return !s.confirmed && s.best < critical; });
    // Too few readings for a suspect, or only the ring's.
    const int n = c_.readings.nodes();
    for (int x = 0; x < n; ++x) {
      for (int y = 0; y < n; ++y) {
        const auto best = c_.readings.best(x, y);
        if (!best || *best >= critical || c_.readings.only_momentary(x, y)) continue;
        if (disturbed(x, y, *best)) continue;
        grave = true;
        const bool named =
            std::any_of(all.begin(), all.end(), [&](const Suspect& s) { return explains(s, x, y); });
        if (named) continue;
        out_.not_checked.push_back(
            {fmt::format("{} -> {}: {} of {}", node(x), node(y), rate_text(*best), rate_text(reference_)),
             "there was no time to measure it again with other partners"});
      }
    }
    const auto& w = c_.witness;
    grave |=
        w && w->rate < critical && w->rate < 0.8 * w->typical && !c_.readings.best(w->source, w->destination);
    const double expected =
        out_.expected.value ? std::min(out_.expected.value->value, reference_) : reference_;
    // Where readings scatter widely, a ring waits for the worst of them at every step.
    const double seen = c_.readings.least(), least = seen > 0 ? std::min(expected, seen) : expected;
    if (out_.ring_busbw && out_.ring_busbw->value < c_.thresholds.critical * least) {
      grave = true;
      out_.not_checked.push_back(
          {fmt::format("the ring's busbw: {} of {}", rate_text(out_.ring_busbw->value), rate_text(expected)),
           "no slow link explains it; see the same with ringtrue run ring"});
    }
    return grave;
  }

  const Case& c_;
  Diagnosis& out_;
  const double reference_;
};

}  // namespace

void conclude(const Case& c, Diagnosis& diagnosis) {
  Conclusion(c, diagnosis).run();
}

}  // namespace ringtrue::diagnosis
