#include "operator/reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/hostlist.h"
#include "base/plural.h"
#include "run/reach.h"

namespace ringtrue::ops {

run::Job reach_job(run::Job job) {
  job.reach = true;
  job.memory = run::Memory::host;
  if (job.transport != run::Transport::udp) job.transport = run::Transport::tcp;
  job.input.reset();
  job.fault.clear();
  job.reference.clear();
  job.ports.clear();
  job.events = job.trace = false;
  job.iterations = 1;
  job.warmup = 0;
  return job;
}

namespace {

using Seen = std::map<std::pair<std::int32_t, std::int32_t>, const run::Reach*>;  // by ranks

// How one end's call, or datagram, fared, from what both ends say.
diagnosis::Tried tried_of(const run::Reach& own, const run::Reach* theirs) {
  diagnosis::Tried tried;
  tried.address = own.address;
  using Call = diagnosis::Tried::Call;
  if (!own.called && !(theirs && theirs->taken)) {
    tried.call = !own.why.empty()            ? Call::rejected
                 : theirs && theirs->knocked ? Call::answer_vanishes
                                             : Call::vanishes;
    tried.why = own.why;
  }
  tried.packet = own.packet;
  // Where short datagrams do not arrive, long ones tell nothing.
  tried.long_lost = own.packet > 0 && !own.acknowledged &&
                    !(own.datagrams && (tried.call != Call::answered || (theirs && theirs->long_taken)));
  return tried;
}

// By node: a pair of nodes is as bad as any pair of their processes.
std::vector<diagnosis::Tried> tried_by_node(const Seen& seen, const run::Job& job) {
  std::map<std::pair<int, int>, diagnosis::Tried> pairs;
  for (const auto& [ranks, own] : seen) {
    const auto at = seen.find({ranks.second, ranks.first});
    // Protocol 9 is older than these trials: a daemon that knows none says nothing, which is no network's
    // fault.
    if (own->datagrams && at == seen.end()) continue;
    diagnosis::Tried tried = tried_of(*own, at == seen.end() ? nullptr : at->second);
    tried.source = job.seats[std::size_t(own->self)].node;
    tried.destination = job.seats[std::size_t(own->peer)].node;
    // The lower seat calls; datagrams go both ways.
    tried.needed = own->datagrams || tried.source < tried.destination;
    auto [known, fresh] = pairs.try_emplace({tried.source, tried.destination}, tried);
    const auto badness = [](const diagnosis::Tried& t) {
      return std::pair(t.call != diagnosis::Tried::Call::answered, t.long_lost);
    };
    if (!fresh && badness(known->second) < badness(tried)) known->second = tried;
  }
  std::vector<diagnosis::Tried> tried;
  for (auto& [nodes, each] : pairs) tried.push_back(std::move(each));
  return tried;
}

}  // namespace

Reached reached(const run::RunReport& report, const run::Job& job, const std::vector<std::string>& names) {
  Seen connections, datagrams;
  const auto is_rank = [&](std::int32_t rank) { return rank >= 0 && rank < job.ranks(); };
  for (const run::Reach& r : report.reaches)
    if (is_rank(r.self) && is_rank(r.peer)) (r.datagrams ? datagrams : connections)[{r.self, r.peer}] = &r;
  Reached out;
  out.networks = report.networks;
  std::map<int, diagnosis::DataEnd> ends;
  for (const run::Network& network : report.networks)
    for (int node = 0; node < int(names.size()); ++node)
      if (names[std::size_t(node)] == network.node)
        ends[node] = {network.interface, network.address, network.mtu};
  constexpr Seconds patience{2};
  out.verdict = diagnosis::judge_reach(tried_by_node(connections, job), ends, names, patience);
  if (out.verdict.findings.empty() && !datagrams.empty()) {
    out.verdict = diagnosis::judge_reach(tried_by_node(datagrams, job), ends, names, patience);
    out.datagrams = true;
  }
  return out;
}

namespace {

std::string value(const diagnosis::Statement& s, std::string_view name) {
  const auto at =
      std::find_if(s.values.begin(), s.values.end(), [&](const auto& q) { return q.name == name; });
  const auto* text = at == s.values.end() ? nullptr : std::get_if<std::string>(&at->value);
  const auto* number = at == s.values.end() ? nullptr : std::get_if<double>(&at->value);
  return text ? *text : number ? fmt::format("{:g}", *number) : "";
}

// The first of a finding's evidence, and what the ends are.
std::string words_of(const diagnosis::Finding& finding, bool datagrams) {
  using Kind = diagnosis::StatementKind;
  const diagnosis::Statement& s = finding.evidence.front();
  std::string port = value(s, "port");
  if (port.empty()) port = value(s, "example");
  const std::string how = s.kind == Kind::calls_rejected ? fmt::format("rejects it ({})", s.text)
                          : s.kind == Kind::answers_vanish
                              ? "is reached, but its answers vanish"
                              : fmt::format("gives no answer within {} s", value(s, "patience_seconds"));
  std::string out = s.kind == Kind::long_packets_vanish
                        ? fmt::format("packets of {} bytes from {} to {} vanish, short ones arrive",
                                      value(s, "packet"), value(s, "from"), value(s, "to"))
                        : fmt::format("{} cannot {} {}: {} port {} {}", value(s, "from"),
                                      datagrams ? "send datagrams to" : "connect to", value(s, "to"),
                                      datagrams ? "UDP" : "TCP", port, how);
  for (const diagnosis::Statement& end : finding.evidence)
    if (end.kind == Kind::data_end)
      out += fmt::format("; {}: {}, {}, MTU {}", end.subjects.front().node, value(end, "interface"),
                         value(end, "address"), value(end, "mtu"));
  return out;
}

}  // namespace

std::optional<Trouble> trouble_of(const Reached& reached) {
  Trouble trouble;
  for (const diagnosis::Finding& f : reached.verdict.findings) {
    if (f.severity != diagnosis::Severity::critical || f.evidence.empty()) continue;
    const bool mtu = f.evidence.front().kind == diagnosis::StatementKind::long_packets_vanish;
    Error error{Cause::unreachable, words_of(f, reached.datagrams),
                Subject(f.scope.subject.node, Phase::connect),
                mtu ? "look for a smaller MTU between them, or set the same on all nodes"
                    : "open its data ports in firewalls (nft list ruleset), or see --data-ports and "
                      "--data-interface"};
    trouble.failures.push_back({f.scope.subject.node, Phase::connect, error, true});
  }
  if (trouble.failures.empty()) return std::nullopt;
  trouble.error = trouble.failures.front().error;
  if (const auto more = trouble.failures.size() - 1; more > 0)
    trouble.error.what += fmt::format("; and {}", plural(more, "more fault", "more faults"));
  return trouble;
}

Outcome<std::vector<run::Network>> need_all(Runner& runner, const run::Job& job) {
  if (runner.place().local || runner.place().nodes.size() < 2) return std::vector<run::Network>();
  auto report = runner.play(reach_job(job));
  if (!report) return tl::unexpected(report.error());
  Reached seen = reached(*report, job, runner.place().nodes);
  if (auto cut = trouble_of(seen)) return tl::unexpected(std::move(*cut));
  return std::move(seen.networks);
}

namespace {

bool over_loopback(const run::Network& network) {
  return network.interface == "lo";
}

// "8 Gbit/s": as links are sold.
std::string link_text(BytesPerSecond rate) {
  const double bits = rate.value * 8;
  return bits >= 1e9 ? fmt::format("{:g} Gbit/s", bits / 1e9) : fmt::format("{:g} Mbit/s", bits / 1e6);
}

}  // namespace

bool on_one_machine(const std::vector<run::Network>& networks) {
  return !networks.empty() && std::ranges::all_of(networks, over_loopback);
}

std::vector<std::string> notes_on(const std::vector<run::Network>& networks) {
  std::map<std::tuple<std::string, double, std::string, double>, std::vector<std::string>> alike;
  for (const run::Network& n : networks)
    if (!n.faster.empty())
      alike[{n.interface, n.rate.value, n.faster, n.faster_rate.value}].push_back(n.node);
  std::vector<std::string> out, of_one;
  for (const run::Network& n : networks)
    if (over_loopback(n)) of_one.push_back(n.node);
  if (of_one.size() > 1)
    out.push_back(fmt::format(
        "{} are on one machine: what they measure is its processors and memory, no NIC, cable or switch",
        fold_hostlist(of_one)));
  for (const auto& [what, nodes] : alike) {
    const auto& [interface, rate, faster, faster_rate] = what;
    out.push_back(
        fmt::format("{}: data goes over {} ({}), and {} is faster ({}): --data-interface {} measures that",
                    fold_hostlist(nodes), interface, link_text(BytesPerSecond(rate)), faster,
                    link_text(BytesPerSecond(faster_rate)), faster));
  }
  return out;
}

}  // namespace ringtrue::ops
