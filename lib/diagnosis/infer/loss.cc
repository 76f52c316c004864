#include "diagnosis/infer/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "diagnosis/findings/combine.h"
#include "diagnosis/findings/confidence.h"
#include "run/counter_window.h"
#include "topology/counters.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t max_counting_nodes = 4;
// Losses come in bursts: counts scatter more than independent ones would, and tell this much less.
constexpr double burst = 2;
constexpr double stands_out = 10, nearly_as_likely = 3;  // differences of log likelihoods
constexpr double min_excess = 4;                         // over the others' share
constexpr double usual_packet = 4096;                    // bytes, where no counter of packets is known

struct Counted {
  std::uint64_t sent_lost = 0, sent = 0, received_lost = 0;
};

Counted count(const run::CounterWindow& window, const std::vector<RdmaPort>& rails) {
  Counted out;
  for (const run::CounterChange& change : window.changes) {
    if (!of_rails(change.device, rails)) continue;
    const std::uint64_t by = topology::rise(change);
    const topology::Loss loss = topology::loss_seen(change.counter);
    if (loss == topology::Loss::sending) out.sent_lost += by;
    if (loss == topology::Loss::receiving) out.received_lost += by;
    if (change.counter == "sent_pkts" || change.counter == "port_xmit_packets") out.sent += by;
  }
  return out;
}

// Of Poisson counts at the rate that fits them best, without what is the same under every hypothesis.
double log_likelihood(const Lost& of) {
  return of.lost > 0 ? of.lost * std::log(of.lost / of.packets) : 0;
}

// How much likelier the counts are if `inside` loses at a rate of its own, above that of the rest.
double gain(const Lost& inside, const Lost& all) {
  const Lost rest = all - inside;
  if (inside.packets <= 0 || inside.share() <= min_excess * rest.share()) return 0;
  return (log_likelihood(inside) + log_likelihood(rest) - log_likelihood(all)) / burst;
}

struct Fit {
  Scope scope;
  Lost inside;
  double gain = 0;
};

Statement share_lost(const Culprit& culprit, const Lost& all, bool tcp) {
  const Scope& s = culprit.scope;
  const std::string what =
      s.type == ScopeType::path       ? fmt::format("that {} sent to {}", s.subject.node, s.peer_name)
      : s.type == ScopeType::sender   ? fmt::format("that {} sent", s.subject.node)
      : s.type == ScopeType::receiver ? fmt::format("that were sent to {}", s.subject.node)
                                      : fmt::format("that {} sent or was sent", s.subject.node);
  const Lost &inside = culprit.inside, rest = all - inside;
  Statement out{
      StatementKind::lost_packets,
      {s.subject},
      {{"lost", inside.lost}, {"packets", inside.packets}, {"lost_percent", 100 * inside.share()}},
      what + (tcp ? " were sent again, as its kernel counts" : " were lost on the way, as the ports count")};
  if (rest.packets > 0)
    for (const Quantity& q : {Quantity{"others_lost", rest.lost}, Quantity{"others_packets", rest.packets},
                              Quantity{"others_percent", 100 * rest.share()}})
      out.values.push_back(q);
  return out;
}

// Loss makes some of a node's paths slow and others not: what is left of them is the node's own finding.
// True: there were such, and nothing else of that node is slow.
bool take_paths(const Scope& scope, std::vector<Finding>& findings) {
  if (scope.type == ScopeType::path) return false;
  const auto about = [&](const Finding& f) {
    return f.kind <= FindingKind::slow_compute && f.scope.type != ScopeType::fleet &&
           (f.scope.node == scope.node || f.scope.peer == scope.node);
  };
  const auto covered = [&](const Finding& f) {
    return f.kind == FindingKind::slow_path && covers(scope, f.scope.node, f.scope.peer);
  };
  const bool all = std::all_of(findings.begin(), findings.end(),
                               [&](const Finding& f) { return !about(f) || covered(f); });
  return all && std::erase_if(findings, [&](const Finding& f) { return about(f); }) > 0;
}

// The suspected node, then those at the links' other ends that counted most of it.
std::vector<std::string> counting_nodes(const Windows& windows, const Rails& rails,
                                        const Diagnosis& diagnosis, const Scope& scope) {
  if (scope.type == ScopeType::path) return {scope.subject.node, scope.peer_name};
  std::vector<std::pair<std::uint64_t, std::string>> others;
  for (const std::string& node : diagnosis.nodes) {
    const auto window = windows.find(node);
    const auto ports = rails.find(node);
    if (node == scope.subject.node || window == windows.end() || ports == rails.end()) continue;
    const Counted seen = count(window->second, ports->second);
    const std::uint64_t lost = (scope.type == ScopeType::receiver ? 0 : seen.received_lost) +
                               (scope.type == ScopeType::sender ? 0 : seen.sent_lost);
    if (lost > 0) others.emplace_back(lost, node);
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (others.size() > max_counting_nodes) others.resize(max_counting_nodes);
  std::vector<std::string> out{scope.subject.node};
  for (const auto& other : others) out.push_back(other.second);
  return out;
}

void name_nodes(Scope& scope, const std::vector<std::string>& nodes) {
  scope.subject.node = nodes[std::size_t(scope.node)];
  if (scope.peer >= 0) scope.peer_name = nodes[std::size_t(scope.peer)];
}

}  // namespace

bool covers(const Scope& scope, int source, int destination) {
  const bool sends = source == scope.node, receives = destination == scope.node;
  if (scope.type == ScopeType::path) return sends && destination == scope.peer;
  if (scope.type == ScopeType::sender) return sends;
  if (scope.type == ScopeType::receiver) return receives;
  return sends || receives;
}

void Losses::add(int source, int destination, Lost lost, int run) {
  seen_.push_back({source, destination, run, lost});
}

void Losses::add(const Observation& observation, const std::vector<std::string>& nodes, int run) {
  if (observation.rails.empty()) {
    for (const HopReading& hop : observation.hops)
      if (hop.bytes.value > 0 && hop.source != hop.destination)
        add(hop.source, hop.destination, {double(hop.retransmits), 1 + double(hop.bytes.value) / segment_},
            run);
    return;
  }
  std::map<int, std::set<int>> to, from;
  std::map<std::pair<int, int>, double> bytes;
  for (const HopReading& hop : observation.hops) {
    if (hop.bytes.value == 0 || hop.source == hop.destination) continue;
    to[hop.source].insert(hop.destination), from[hop.destination].insert(hop.source);
    bytes[{hop.source, hop.destination}] += double(hop.bytes.value);
  }
  const auto counted = [&](int node) -> std::optional<Counted> {
    const auto& name = nodes[std::size_t(node)];
    const auto window = observation.counters.find(name);
    const auto ports = observation.rails.find(name);
    if (window == observation.counters.end() || ports == observation.rails.end()) return std::nullopt;
    return count(window->second, ports->second);
  };
  for (const auto& [pair, amount] : bytes) {
    const auto [source, destination] = pair;
    if (to[source].size() > 1 || from[destination].size() > 1) continue;
    const auto sender = counted(source), receiver = counted(destination);
    if (!sender && !receiver) continue;
    const double packets = sender && sender->sent > 0 ? double(sender->sent) : 1 + amount / usual_packet;
    // One loss may leave many packets behind it out of sequence, but is answered once.
    const auto told = sender ? sender->sent_lost : 0;
    const auto lost = told > 0 ? told : receiver ? receiver->received_lost : 0;
    add(source, destination, {double(lost), packets}, run);
  }
}

Lost Losses::all() const {
  Lost sum;
  for (const Seen& seen : seen_) sum = sum + seen.lost;
  return sum;
}

std::map<int, Lost> Losses::by_run(const Scope& scope) const {
  std::map<int, Lost> runs;
  for (const Seen& seen : seen_)
    if (covers(scope, seen.source, seen.destination)) runs[seen.run] = runs[seen.run] + seen.lost;
  return runs;
}

bool Losses::steady(const Culprit& culprit) const {
  const auto runs = by_run(culprit.scope);
  const auto losing = std::size_t(std::count_if(runs.begin(), runs.end(), [&](const auto& run) {
    return run.second.share() >= culprit.inside.share() / 4;
  }));
  return losing >= 3 && 4 * losing >= 3 * runs.size() && 2 * culprit.inside.lost >= all().lost;
}

bool Losses::repeated(const Culprit& culprit) const {
  const auto runs = by_run(culprit.scope);
  const auto worst = std::max_element(
      runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.second.lost < b.second.lost; });
  const Lost rest = worst == runs.end() ? Lost{} : culprit.inside - worst->second;
  return rest.lost >= min_losses / 4 && rest.share() >= culprit.inside.share() / 4;
}

std::optional<Culprit> Losses::culprit() const {
  const Lost sum = all();
  if (sum.lost < min_losses) return std::nullopt;
  std::map<int, Lost> sent, received;
  std::map<std::pair<int, int>, Lost> pairs;
  for (const Seen& s : seen_) {
    sent[s.source] = sent[s.source] + s.lost;
    received[s.destination] = received[s.destination] + s.lost;
    pairs[{s.source, s.destination}] = pairs[{s.source, s.destination}] + s.lost;
  }
  std::vector<Fit> fits;  // of equals the first is named: a path before a side, a side before a node
  for (const auto& [pair, lost] : pairs)
    fits.push_back({Scope{ScopeType::path, pair.first, pair.second, {}, {}}, lost});
  for (const auto& [node, lost] : sent) fits.push_back({Scope{ScopeType::sender, node, -1, {}, {}}, lost});
  for (const auto& [node, lost] : received)
    fits.push_back({Scope{ScopeType::receiver, node, -1, {}, {}}, lost});
  for (const auto& [node, lost] : sent)
    fits.push_back({Scope{ScopeType::node, node, -1, {}, {}}, lost + received[node]});
  for (Fit& fit : fits) fit.gain = gain(fit.inside, sum);
  std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.gain > b.gain; });
  if (fits.empty() || fits[0].gain < stands_out || fits[0].inside.lost < min_losses) return std::nullopt;
  Culprit out{fits[0].scope, fits[0].inside, std::nullopt};
  if (!repeated(out)) return std::nullopt;
  for (const Fit& fit : fits) {
    const bool same = fit.inside.packets == out.inside.packets && fit.inside.lost == out.inside.lost;
    if (same || fit.gain < fits[0].gain - nearly_as_likely) continue;
    out.alternative = fit.scope;
    break;
  }
  return out;
}

void add_losses(const Losses& losses, const Windows& windows, const Rails& rails,
                const std::function<Pace(const Scope&)>& pace, const Thresholds& thresholds,
                Diagnosis& diagnosis) {
  const Lost all = losses.all();
  if (all.lost < min_losses) return;
  auto culprit = losses.culprit();
  if (!culprit) {
    if (!rails.empty() && all.share() >= loss_warning)
      diagnosis.not_checked.push_back(
          {StatementKind::lossy_somewhere, {}, {{"lost", all.lost}, {"packets", all.packets}}});
    return;
  }
  if (culprit->inside.share() < loss_warning) return;
  Scope& scope = culprit->scope;
  name_nodes(scope, diagnosis.nodes);
  const Pace seen_pace = pace(scope);
  const bool tcp = rails.empty();
  if (tcp && !(seen_pace.rate > 0 && seen_pace.share() < thresholds.warning && losses.steady(*culprit)))
    return;
  std::vector<Statement> evidence{share_lost(*culprit, all, tcp)};
  for (const std::string& name : counting_nodes(windows, rails, diagnosis, scope)) {
    const auto window = windows.find(name);
    const auto ports = rails.find(name);
    if (window == windows.end() || ports == rails.end()) continue;
    for (const std::string& line : risen_by_name(window->second, ports->second))
      evidence.push_back({StatementKind::counter, {name}, {}, line});
  }
  if (culprit->alternative) {
    name_nodes(*culprit->alternative, diagnosis.nodes);
    evidence.push_back({StatementKind::other_scope, {}, {}, culprit->alternative->text()});
  }
  const auto ports = rails.find(scope.subject.node);
  if (ports != rails.end() && ports->second.size() == 1) scope.subject.device = port_name(ports->second[0]);

  const bool instead = tcp && take_paths(scope, diagnosis.findings);
  const auto same = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(), [&](const Finding& f) {
    const Scope& s = f.scope;
    if (f.kind > FindingKind::slow_compute || s.type == ScopeType::fleet) return false;
    return s.node == scope.node || s.peer == scope.node;
  });
  if (same != diagnosis.findings.end()) {
    if (tcp) return;  // its retransmits are told there
    same->evidence.insert(same->evidence.end(), evidence.begin(), evidence.end());
    return;
  }
  Finding f;
  f.kind = lossy_kind(scope.type);
  const bool critical =
      tcp ? seen_pace.share() < thresholds.critical || instead : culprit->inside.share() >= loss_critical;
  f.severity = critical ? Severity::critical : Severity::warning;
  if (seen_pace.rate > 0 && seen_pace.share() < 1 && seen_pace.reference > 0) {
    f.measured = BytesPerSecond(seen_pace.rate);
    f.expected = BytesPerSecond(seen_pace.reference);
    f.ratio = seen_pace.share();
  }
  f.scope = scope;
  f.confidence = sure_of_loss * (culprit->alternative ? with_alternative : 1);
  f.evidence = std::move(evidence);
  f.impact = StatementKind::sent_again;
  f.next = {tcp ? StatementKind::look_at_cable : StatementKind::look_at_rdma_cable,
            {},
            {},
            scope.type == ScopeType::path ? fmt::format("{} and {}", scope.subject.node, scope.peer_name)
                                          : scope.subject.node};
  diagnosis.findings.push_back(std::move(f));
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  const Verdict seen = verdict_of(diagnosis.findings);
  if (diagnosis.verdict != Verdict::faulty && seen != Verdict::healthy) diagnosis.verdict = seen;
}

}  // namespace ringtrue::diagnosis
