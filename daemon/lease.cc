#include "daemon/lease.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "collective/algorithm.h"
#include "engine/session/plan.h"
#include "engine/session/session.h"
#include "run/job.h"
#include "run/member.h"

namespace ringtrue::daemon {
namespace {

run::Transport transport_of(const run::Hop& hop, bool inside, const std::vector<run::Transport>& ran) {
  if (hop.tcp) return run::Transport::tcp;
  if (hop.rdma) return run::Transport::verbs;
  // Of the others, what can be: none but these leave a hop without a word of their own.
  const auto candidates = inside ? std::array{run::Transport::cuda, run::Transport::shm, run::Transport::udp,
                                              run::Transport::tcp, run::Transport::verbs}
                                 : std::array{run::Transport::udp, run::Transport::tcp, run::Transport::verbs,
                                              run::Transport::cuda, run::Transport::shm};
  const auto found =
      std::ranges::find_if(candidates, [&](run::Transport t) { return std::ranges::count(ran, t) > 0; });
  return found == candidates.end() ? run::Transport::automatic : *found;
}

Sent sent_in(const run::RunReport& report, const std::vector<int>& node_of) {
  Sent sent{};
  for (const run::Hop& hop : report.trace.hops) {
    const auto source = std::size_t(hop.source), destination = std::size_t(hop.destination);
    if (hop.receiver || source >= node_of.size() || destination >= node_of.size()) continue;
    const bool inside = node_of[source] == node_of[destination];
    sent[std::size_t(transport_of(hop, inside, report.transports))] += hop.bytes.value;
  }
  return sent;
}

}  // namespace

Result<std::string> interface_address(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return fail(Cause::unavailable, "the network interfaces cannot be listed");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::string v4, v6;
  std::set<std::string> names;
  for (const ifaddrs* a = list; a; a = a->ifa_next) {
    names.insert(a->ifa_name);
    if (interface != a->ifa_name || !a->ifa_addr) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (a->ifa_addr->sa_family == AF_INET && v4.empty()) {
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(a->ifa_addr)->sin_addr, text, sizeof text);
      v4 = text;
    } else if (a->ifa_addr->sa_family == AF_INET6 && v6.empty()) {
      const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(a->ifa_addr)->sin6_addr;
      // A link-local address means nothing to a peer that does not know our interface's number.
      if (IN6_IS_ADDR_LINKLOCAL(&address)) continue;
      ::inet_ntop(AF_INET6, &address, text, sizeof text);
      v6 = text;
    }
  }
  if (!v4.empty()) return v4;
  if (!v6.empty()) return v6;
  if (names.count(interface))
    return fail(Cause::unavailable, "the interface " + interface + " has no address");
  return fail(Cause::unavailable, "there is no interface " + interface, "",
              fmt::format("the interfaces are: {}", fmt::join(names, ", ")));
}

Lease::Lease(wire::Acquire acquire, Limits limits, StartWorkers start_workers,
             std::unique_ptr<probe::CounterWatch> counters)
    : acquire_(std::move(acquire)),
      limits_(limits),
      start_workers_(std::move(start_workers)),
      ends_(Deadline::in(limits.lease)),
      counters_(counters ? std::move(counters) : std::make_unique<probe::CounterWatch>()),
      hosts_(acquire_.nodes.size()) {}

Result<void> Lease::start(Deadline deadline) {
  if (aborted_) return fail(Cause::cancelled, "stopped on request");
  phase_ = Phase::lease;
  struct Idle {
    std::atomic<Phase>& phase;
    ~Idle() { phase = Phase::none; }
  } idle{phase_};
  if (acquire_.ranks_per_node > limits_.ranks) {
    return fail(Cause::refused,
                fmt::format("{} ranks are asked for, {} are allowed on this node", acquire_.ranks_per_node,
                            limits_.ranks),
                "", "raise max_ranks in the daemon's configuration");
  }
  if (acquire_.member.processes > limits_.ranks)
    return fail(Cause::refused,
                fmt::format("{} processes are asked for, {} ranks are allowed on this node",
                            acquire_.member.processes, limits_.ranks),
                "", "raise max_ranks in the daemon's configuration");
  if (!acquire_.data_interface.empty()) {
    if (auto found = assign(data_address_, interface_address(acquire_.data_interface)); !found) return found;
  }
  run::Member member = acquire_.member;
  member.process = member.threads = 0;  // this node's own business, as where it listens
  member.data_address = data_address_;
  auto networks = limits_.peers.networks(limits_.local);
  if (!networks) return tl::unexpected(networks.error());
  member.peers = std::move(*networks);
  auto workers = start_workers_(member, deadline);
  if (!workers) return tl::unexpected(workers.error());
  std::lock_guard lock(mutex_);
  workers_ = std::move(*workers);
  if (aborted_) workers_->abort();
  state_ = State::ready;
  return {};
}

void Lease::abort() {
  std::lock_guard lock(mutex_);
  aborted_ = true;
  if (workers_) workers_->abort();
}

rpc::Event Lease::perform(const rpc::Command& command, std::int64_t arrived) {
  rpc::Event event;
  event.set_sequence(command.sequence());
  phase_ = wire::phase_of(command);
  const double limit = command.deadline_s();
  Result<void> done;
  if (!std::isfinite(limit) || limit <= 0) {
    done = fail(Cause::bad_input, "a command without a deadline");
  } else if (limit > limits_.lease.value) {
    done = fail(Cause::refused,
                fmt::format("a deadline of {:.0f} s is asked for, leases end after {:.0f} s on this node",
                            limit, limits_.lease.value),
                "", "raise max_seconds in the daemon's configuration");
  } else {
    const double left = limit - seconds_since(arrived).value;
    done = play(command, Deadline::in(Seconds(std::max(left, 0.0))), event);
  }
  phase_ = Phase::none;
  if (!done) {
    state_ = State::failed;
    *event.mutable_error() = wire::to_wire(done.error());
  } else if (event.outcome_case() == rpc::Event::OUTCOME_NOT_SET) {
    event.mutable_done();
  }
  return event;
}

Result<void> Lease::in_state(State needed, Phase before) const {
  if (state_ == State::failed) return fail(Cause::refused, "the lease has failed and can only be released");
  if (state_ != needed)
    return fail(Cause::bad_input, fmt::format("phase {} before {}", key_of(phase_.load()), key_of(before)));
  return {};
}

Result<void> Lease::play(const rpc::Command& command, Deadline deadline, rpc::Event& event) {
  if (aborted_ && !command.has_release()) return fail(Cause::cancelled, "stopped on request");
  switch (command.body_case()) {
    case rpc::Command::kPrepare:
      return prepare(command.prepare(), deadline, event);
    case rpc::Command::kConnect:
      return connect(command.connect(), deadline);
    case rpc::Command::kBarrier:
      return in_state(State::connected, Phase::connect)
          .and_then([&] { return workers_->barrier(deadline); })
          .map([&] { state_ = State::synchronized; });
    case rpc::Command::kRun:
      return in_state(State::synchronized, Phase::barrier)
          .and_then([&] { return workers_->run(deadline); })
          .map([&] { state_ = State::finished; });
    case rpc::Command::kCollect: {
      if (auto fits = in_state(State::finished, Phase::run); !fits) return fits;
      auto report = workers_->collect(deadline);
      if (!report) return tl::unexpected(report.error());
      rejected_connections_ = report->rejected_connections;
      sent_ = sent_in(*report, node_of_);
      auto window = counters_->end();
      if (window.seconds > 0)
        report->counters[acquire_.nodes[std::size_t(acquire_.member.node)]] = std::move(window);
      *event.mutable_report() = wire::to_wire(*report);
      if (event.ByteSizeLong() > std::size_t(wire::max_message_bytes)) {
        event.clear_report();
        return fail(Cause::bad_input, "the trace of the run is too long to be sent", "",
                    "run fewer iterations");
      }
      state_ = State::ready;
      return {};
    }
    case rpc::Command::kRelease:
      if (workers_) workers_->release();
      return {};
    default:
      return fail(Cause::bad_input, "a command that a lease does not know");
  }
}

Result<void> Lease::allowed(const run::Job& job) const {
  if (job.nodes != acquire_.nodes)
    return fail(Cause::bad_input, "the job's nodes are not those of the lease");
  std::uint64_t here = 0, workers_here = 0;
  for (std::size_t rank = 0; rank < job.seats.size(); ++rank) {
    const run::Seat& seat = job.seats[rank];
    if (seat.node == acquire_.member.node) ++here;
    if (seat.node == acquire_.member.node && collective::Rank(rank) < job.workers()) ++workers_here;
    if (seat.process >= acquire_.member.processes)
      return fail(Cause::bad_input, fmt::format("the job has a process {}, the lease has {} a node",
                                                seat.process, acquire_.member.processes));
  }
  if (here == 0) return fail(Cause::bad_input, "the job has no rank on this node");
  if (here > std::uint64_t(ranks()))
    return fail(Cause::bad_input,
                fmt::format("the job has {} ranks here, the lease is for {}", here, ranks()));
  if (!engine::Session::can_plan(job, acquire_.member.node))
    return fail(
        Cause::refused,
        fmt::format("{} ranks with {} lanes are more than a node can plan", job.ranks(), job.call.lanes), "",
        "use fewer ranks per node or fewer --lanes");
  // First by division: the product of a hostile job could wrap around.
  const bool absurd = workers_here > 0 && job.call.bytes() > limits_.bytes.value / workers_here;
  std::uint64_t bytes = absurd ? 0 : engine::bytes_on_node(job, acquire_.member.node);
  if (job.input && workers_here > 0) {
    for (const auto& row : job.input->rows) bytes += row.size() * std::uint64_t(acquire_.member.processes);
  }
  if (absurd || bytes > limits_.bytes.value) {
    const std::string asked = absurd
                                  ? fmt::format("{} times {}", workers_here, to_text(Bytes(job.call.bytes())))
                                  : to_text(Bytes(bytes));
    return fail(
        Cause::refused,
        fmt::format("the job needs {} of memory, {} are allowed on this node", asked, to_text(limits_.bytes)),
        "", "choose a smaller size, or raise max_bytes in the daemon's configuration");
  }
  return {};
}

Result<void> Lease::prepare(const rpc::Prepare& message, Deadline deadline, rpc::Event& event) {
  if (auto fits = in_state(State::ready, Phase::collect); !fits) return fits;
  auto job = wire::from_wire(message.job());
  if (!job) return tl::unexpected(job.error());
  if (auto may = allowed(*job); !may) return may;
  counters_->begin();
  if (auto prepared = assign(ports_, workers_->prepare(*job, deadline)); !prepared) return prepared;
  node_of_.clear();
  for (const run::Seat& seat : job->seats) node_of_.push_back(seat.node);
  *event.mutable_prepared() = wire::to_wire(wire::Prepared{ports_, data_address_});
  state_ = State::prepared;
  return {};
}

Result<void> Lease::connect(const rpc::Connect& message, Deadline deadline) {
  if (auto fits = in_state(State::prepared, Phase::prepare); !fits) return fits;
  auto addresses = wire::from_wire(message);
  if (!addresses) return tl::unexpected(addresses.error());
  if (addresses->size() != acquire_.nodes.size())
    return fail(Cause::bad_input, "the addresses are not those of the lease's nodes");
  for (std::size_t n = 0; n < addresses->size(); ++n) {
    const auto& processes = (*addresses)[n];
    if (!processes.empty() && processes.size() != std::size_t(acquire_.member.processes))
      return fail(Cause::bad_input, fmt::format("{} addresses of {} for {} processes", processes.size(),
                                                acquire_.nodes[n], acquire_.member.processes));
    for (const run::Address& a : processes) {
      if (a.port == 0) continue;
      // A lease reaches its peers and nobody else: one host a node, the same in all of its runs.
      if (hosts_[n].empty()) {
        if (auto may = limits_.peers.allow(acquire_.nodes[n], a.host, limits_.local); !may) return may;
        hosts_[n] = a.host;
      }
      if (hosts_[n] != a.host)
        return fail(Cause::refused, fmt::format("{} was at {} before and is now said to be at {}",
                                                acquire_.nodes[n], hosts_[n], a.host));
    }
  }
  const auto& own = (*addresses)[std::size_t(acquire_.member.node)];
  for (std::size_t p = 0; p < own.size(); ++p) {
    if (p >= ports_.size() || own[p].port != ports_[p])
      return fail(Cause::bad_input, "the address given for this node is not the one that it listens on");
  }
  auto done = workers_->connect(*addresses, deadline);
  if (done) state_ = State::connected;
  return done;
}

}  // namespace ringtrue::daemon
