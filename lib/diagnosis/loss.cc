#include "diagnosis/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "diagnosis/combine.h"
#include "topology/counters.h"

namespace ringtrue::diagnosis {
namespace {

struct Side {
  std::uint64_t lost = 0, packets = 0;
};

// What one node's rails count, by direction.
struct Counted {
  Side sent, received;
};

Counted count(const topology::CounterWindow& window, const std::vector<RdmaPort>& rails) {
  Counted out;
  for (const topology::CounterChange& change : window.changes) {
    if (!of_rails(change.device, rails)) continue;
    const std::uint64_t by = topology::rise(change);
    const topology::Loss loss = topology::loss_seen(change.counter);
    if (loss == topology::Loss::sending) out.sent.lost += by;
    if (loss == topology::Loss::receiving) out.received.lost += by;
    if (change.counter == "sent_pkts" || change.counter == "port_xmit_packets") out.sent.packets += by;
    if (change.counter == "rcvd_pkts" || change.counter == "port_rcv_packets") out.received.packets += by;
  }
  return out;
}

// The node with most of a direction's losses, and whether it stands out.
struct Top {
  int node = -1;
  std::uint64_t lost = 0, next = 0, all = 0;
  bool has_most() const { return all > 0 && double(lost) >= 0.8 * double(all); }
  // Of a node that loses both ways: half of each direction is its own, the other half its partners' together.
  bool stands_out() const { return double(lost) >= 0.4 * double(all) && double(next) <= 0.6 * double(lost); }
};

Top top_of(const std::vector<Counted>& nodes, Side Counted::*side) {
  Top top;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint64_t lost = (nodes[i].*side).lost;
    top.all += lost;
    if (lost > top.lost) {
      top.next = top.lost;
      top.lost = lost;
      top.node = int(i);
    } else {
      top.next = std::max(top.next, lost);
    }
  }
  return top;
}

std::optional<Scope> accused(const Top& sender, const Top& receiver, std::size_t nodes) {
  Scope scope;
  if (sender.has_most() && (receiver.has_most() || nodes == 2)) {
    scope.type = ScopeType::path;
    scope.node = sender.node;
    scope.peer = receiver.node >= 0 ? receiver.node : 1 - sender.node;
    if (scope.node == scope.peer) return std::nullopt;
  } else if (sender.has_most()) {
    scope.type = ScopeType::sender;
    scope.node = sender.node;
  } else if (receiver.has_most()) {
    scope.type = ScopeType::receiver;
    scope.node = receiver.node;
  } else if (sender.node >= 0 && sender.node == receiver.node && sender.stands_out() &&
             receiver.stands_out()) {
    scope.type = ScopeType::node;
    scope.node = sender.node;
  } else {
    return std::nullopt;
  }
  return scope;
}

std::string sentence(const std::string& node, const Side& side, bool sends) {
  const std::string of = side.packets > 0 ? fmt::format(" of {} packets ({:.2g} %)", side.packets,
                                                        100 * double(side.lost) / double(side.packets))
                                          : std::string(" packets");
  return fmt::format("{}{} that {} {} were lost on the way, as its port counts", side.lost, of, node,
                     sends ? "sent" : "was to receive");
}

}  // namespace

void add_losses(const Windows& windows, const Rails& rails, Diagnosis& diagnosis) {
  std::vector<Counted> nodes;
  for (const std::string& node : diagnosis.nodes) {
    const auto window = windows.find(node);
    const auto ports = rails.find(node);
    nodes.push_back(window == windows.end() || ports == rails.end() ? Counted{}
                                                                    : count(window->second, ports->second));
  }
  const Top sender = top_of(nodes, &Counted::sent), receiver = top_of(nodes, &Counted::received);
  const std::uint64_t lost = std::max(sender.all, receiver.all);
  if (lost < fewest_losses) return;
  std::uint64_t packets = 0;
  for (const Counted& node : nodes) packets += node.sent.packets;
  const auto share = [](const Side& side) {
    return side.packets > 0 ? double(side.lost) / double(side.packets) : 0;
  };
  auto scope = accused(sender, receiver, nodes.size());
  if (!scope) {
    if (packets > 0 && double(lost) / double(packets) < loss_warning) return;
    diagnosis.not_checked.push_back(
        {"where RDMA loses packets", fmt::format("{} were lost on the way{}, and no node's part stands out",
                                                 lost, packets > 0 ? fmt::format(" of {}", packets) : "")});
    return;
  }
  const auto& names = diagnosis.nodes;
  const Counted& of = nodes[std::size_t(scope->node)];
  scope->node_name = names[std::size_t(scope->node)];
  double worst = 0;
  std::vector<std::string> evidence;
  if (scope->type != ScopeType::receiver) {
    worst = share(of.sent);
    evidence.push_back(sentence(scope->node_name, of.sent, true));
  }
  if (scope->type == ScopeType::receiver || scope->type == ScopeType::node) {
    worst = std::max(worst, share(of.received));
    evidence.push_back(sentence(scope->node_name, of.received, false));
  }
  const auto ports = rails.find(scope->node_name);
  if (ports != rails.end() && ports->second.size() == 1)
    scope->device = fmt::format("{}/{}", ports->second[0].device, ports->second[0].number);
  if (scope->type == ScopeType::path) scope->peer_name = names[std::size_t(scope->peer)];
  if (packets > 0 && worst < loss_warning) return;

  const auto same = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(), [&](const Finding& f) {
    const Scope& s = f.scope;
    if (!f.kind.starts_with("slow-") || s.type == ScopeType::fleet) return false;
    return s.node == scope->node || s.peer == scope->node;
  });
  if (same != diagnosis.findings.end()) {
    same->evidence.insert(same->evidence.end(), evidence.begin(), evidence.end());
    return;
  }
  Finding f;
  f.kind = "lossy-" + std::string(name(scope->type));
  f.severity = worst >= loss_critical ? Severity::critical : Severity::warning;
  f.scope = *scope;
  const double explained =
      scope->type == ScopeType::receiver ? double(receiver.lost) / double(receiver.all)
      : scope->type == ScopeType::node
          ? 1 - double(std::max(sender.next, receiver.next)) / double(std::min(sender.lost, receiver.lost))
          : double(sender.lost) / double(sender.all);
  f.confidence = std::clamp(explained, 0.0, 1.0);
  f.evidence = std::move(evidence);
  f.impact = "what is lost is sent again, with all that followed: this link is slower than its rate says";
  f.next = fmt::format(
      "look at the cable and the switch port of {} (discards, FEC and symbol errors), and that PFC or ECN is "
      "set alike on both; then run ringtrue check again",
      scope->type == ScopeType::path ? fmt::format("{} and {}", scope->node_name, scope->peer_name)
                                     : scope->node_name);
  diagnosis.findings.push_back(std::move(f));
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  const Verdict seen = verdict_of(diagnosis.findings);
  if (seen == Verdict::faulty || (seen == Verdict::degraded && diagnosis.verdict == Verdict::healthy))
    diagnosis.verdict = seen;
}

}  // namespace ringtrue::diagnosis
