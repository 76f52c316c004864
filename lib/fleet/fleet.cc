#include "fleet/fleet.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/hostlist.h"
#include "base/ip.h"
#include "base/plural.h"
#include "base/text.h"
#include "fleet/ask.h"
#include "fleet/link.h"
#include "fleet/node_sessions.h"
#include "fleet/targets.h"
#include "run/member.h"
#include "run/report.h"
#include "wire/parts.h"

namespace ringtrue::fleet {
namespace {

constexpr std::size_t room_for_a_nodes_own = 32;  // its index, the sequence, the deadline

tl::unexpected<FleetError> refuse(Error error, Phase phase = Phase::lease) {
  return tl::unexpected(FleetError{{Failure{error.where.node, phase, std::move(error), true}}});
}

bool on_loopback(const std::string& address) {
  const auto bytes = parse_ip(address);
  return bytes && is_loopback(*bytes);
}

// Where peers connect to, by target, unless its daemon says otherwise.
Result<std::vector<std::string>> data_hosts(const std::vector<Target>& targets, const Options& options) {
  std::vector<std::string> hosts;
  for (const Target& t : targets) hosts.push_back(t.socket.empty() ? t.host : "127.0.0.1");
  if (!options.data_interface.empty()) return hosts;
  const auto local = std::find_if(hosts.begin(), hosts.end(), on_loopback);
  const bool mixed = local != hosts.end() && !std::all_of(hosts.begin(), hosts.end(), on_loopback);
  if (!mixed) return hosts;
  const Target& t = targets[std::size_t(local - hosts.begin())];
  return fail(Cause::bad_input,
              to_text(t) + " is an address of this machine alone, which the other nodes cannot reach", t.node,
              "give its name or address on the network, or --data-interface");
}

Result<void> check(const std::vector<Target>& targets, const Options& options) {
  if (targets.empty()) return fail(Cause::bad_input, "no hosts given", {}, "give --hosts LIST");
  if (options.ranks_per_node < 1) return fail(Cause::bad_input, "--ranks-per-node must be at least 1");
  if (options.processes < 1 || options.processes > options.ranks_per_node)
    return fail(Cause::bad_input,
                fmt::format("{} for {} on each node", plural(options.processes, "process", "processes"),
                            plural(options.ranks_per_node, "rank")),
                {}, "give --processes between 1 and --ranks-per-node");
  return {};
}

// Each rank of the node, and nobody else, must have reported: nothing counted is not nothing wrong.
Result<void> of_all_ranks(const run::RunReport& report, const run::Job& job, int node) {
  if (job.gpu_limits || job.reach) return {};  // no rank plays
  std::set<collective::Rank> reported, due;
  for (const run::RankReport& rank : report.ranks) reported.insert(rank.rank);
  for (collective::Rank rank = 0; rank < job.ranks(); ++rank)
    if (job.seats[std::size_t(rank)].node == node) due.insert(rank);
  const auto wrong = [&](const char* what, collective::Rank rank) {
    return fail(Cause::corrupted, fmt::format("its daemon sent {} {}", what, rank),
                job.nodes[std::size_t(node)], "install the same version on both");
  };
  for (const collective::Rank rank : due)
    if (!reported.contains(rank)) return wrong("no report of rank", rank);
  for (const collective::Rank rank : reported)
    if (!due.contains(rank)) return wrong("a report of another node's rank", rank);
  return {};
}

class GrpcFleet final : public Fleet {
 public:
  GrpcFleet(std::vector<Target> targets, Options options, std::vector<std::string> hosts,
            std::shared_ptr<Dialer> dialer)
      : targets_(std::move(targets)),
        options_(std::move(options)),
        hosts_(std::move(hosts)),
        dialer_(std::move(dialer)) {
    for (const Target& t : targets_) names_.push_back(t.node);
    sessions_ = make_sessions();
  }

  FleetResult<void> acquire() {
    std::string secret(32, '\0');
    if (getrandom(secret.data(), secret.size(), 0) != ssize_t(secret.size()))
      return refuse({Cause::internal, "no random bytes from the system", "", ""});
    wire::Acquire acquire;
    acquire.holder = options_.holder.empty() ? holder_here(std::to_string(getpid())) : options_.holder;
    acquire.nodes = names_;
    acquire.member.processes = options_.processes;
    acquire.member.secret = std::move(secret);
    acquire.member.port_low = options_.port_low;
    acquire.member.port_high = options_.port_high;
    acquire.ranks_per_node = options_.ranks_per_node + options_.aggregators_per_node;
    acquire.spare_ranks = options_.spare_ranks;
    acquire.data_interface = options_.data_interface;
    acquire.heartbeat = heartbeat_interval;
    const std::vector<int> who = living();
    rpc::Command command;
    *command.mutable_acquire() = wire::to_wire(acquire);
    if (command.ByteSizeLong() + room_for_a_nodes_own > std::size_t(wire::max_request_bytes))
      return refuse({Cause::bad_input,
                     fmt::format("the names of {} nodes are longer than {} KiB together", names_.size(),
                                 wire::max_request_bytes >> 10),
                     "", "give shorter names, or fewer nodes"});
    sessions_->open(*dialer_, targets_, who);
    auto replies = sessions_->phase(
        who, options_.phase_deadline, std::move(command),
        [](rpc::Command& own, int node) { own.mutable_acquire()->mutable_member()->set_node(node); });
    if (!replies) return tl::unexpected(replies.error());
    ranks_ = acquire.ranks_per_node + acquire.spare_ranks;
    for (const Reply& reply : *replies)
      if (reply.ranks > 0) ranks_ = std::min(ranks_, std::max(reply.ranks, acquire.ranks_per_node));
    dead_.insert(dead_.end(), sessions_->left_out().begin(), sessions_->left_out().end());
    return {};
  }

  const std::vector<Target>& targets() const override { return targets_; }

  FleetResult<run::RunReport> run(const run::Job& job, Deadline until) override {
    const std::vector<int> who = members_of(job);
    if (auto known = dead_among(who)) return tl::unexpected(std::move(*known));
    if (broken_ && options_.outlive_the_dead) {
      if (auto again = lease_again(); !again) return tl::unexpected(failed(std::move(again.error())));
      if (auto known = dead_among(who)) return tl::unexpected(std::move(*known));
    }
    auto report = play(job, who, until);
    if (!report) return tl::unexpected(failed(std::move(report.error())));
    return report;
  }

  bool can_go_on() const override {
    return options_.outlive_the_dead && !lost_ && enough_to_go_on(living().size(), names_.size());
  }
  const std::vector<Failure>& dead() const override { return dead_; }
  int ranks_per_node() const override { return ranks_; }

  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    sessions_->cancel();
  }

 private:
  std::unique_ptr<NodeSessions> make_sessions() const {
    return std::make_unique<NodeSessions>(names_, options_.progress, options_.outlive_the_dead);
  }

  bool is_dead(int node) const {
    return std::ranges::any_of(dead_, [&](const Failure& f) { return f.node == names_[std::size_t(node)]; });
  }
  std::vector<int> living() const {
    std::vector<int> out;
    for (int node = 0; node < int(names_.size()); ++node)
      if (!is_dead(node)) out.push_back(node);
    return out;
  }
  // What is known of those of them that are dead.
  std::optional<FleetError> dead_among(const std::vector<int>& who) const {
    FleetError error;
    for (const Failure& f : dead_)
      if (std::ranges::any_of(who, [&](int node) { return names_[std::size_t(node)] == f.node; }))
        error.failures.push_back(f);
    return error.failures.empty() ? std::nullopt : std::optional(std::move(error));
  }

  // Keeps in mind what follows from a failure.
  FleetError failed(FleetError error) {
    broken_ = true;
    const auto is_dead = [](const Failure& f) { return f.dead; };
    const auto first_other = std::stable_partition(error.failures.begin(), error.failures.end(), is_dead);
    lost_ = first_other == error.failures.begin();
    dead_.insert(dead_.end(), error.failures.begin(), first_other);
    // Whom others blame beside the dead may have lost them, too. A fault of its own shows again.
    if (!lost_)
      for (auto other = first_other; other != error.failures.end(); ++other) other->culprit = false;
    return error;
  }

  // A lease that a run has broken is of no use any more.
  FleetResult<void> lease_again() {
    std::unique_ptr<NodeSessions> old = make_sessions();
    {
      const std::lock_guard lock(mutex_);
      std::swap(sessions_, old);
      if (cancelled_) sessions_->cancel();
    }
    old.reset();  // releases: nobody else holds the nodes when they are asked again
    auto acquired = acquire();
    if (acquired) broken_ = false;
    return acquired;
  }

  FleetResult<run::RunReport> play(const run::Job& job, const std::vector<int>& who, Deadline until) {
    if (auto fits = wire::sendable(job); !fits) return refuse(fits.error(), Phase::prepare);

    rpc::Command prepare;
    run::Job numbered = job;
    numbered.run = ++runs_;
    *prepare.mutable_prepare()->mutable_job() = wire::to_wire(numbered);
    auto prepared = sessions_->phase(who, options_.phase_deadline, std::move(prepare));
    if (!prepared) return tl::unexpected(prepared.error());
    auto addresses = addresses_of(who, *prepared);
    if (!addresses) return refuse(addresses.error(), Phase::prepare);
    rpc::Command connect;
    *connect.mutable_connect() = wire::to_wire(*addresses);
    auto done = sessions_->phase(who, options_.phase_deadline, std::move(connect));
    for (const Phase phase : {Phase::barrier, Phase::run, Phase::collect}) {
      if (!done) return tl::unexpected(done.error());
      Seconds deadline = options_.phase_deadline;
      if (phase == Phase::run) {
        deadline = options_.run_deadline;
        if (const int left = until.left_ms(); left >= 0)
          deadline = Seconds(std::min(deadline.value, std::max(0.1, left * 1e-3)));
      }
      done = sessions_->phase(who, deadline, wire::plain_command(phase));
    }
    if (!done) return tl::unexpected(done.error());
    std::vector<run::RunReport> reports;
    for (std::size_t i = 0; i < done->size(); ++i) {
      run::RunReport& report = reports.emplace_back(std::move((*done)[i].report));
      if (auto whole = of_all_ranks(report, job, who[i]); !whole)
        return tl::unexpected(
            FleetError{{Failure{names_[std::size_t(who[i])], Phase::collect, whole.error(), true}}});
      // A daemon speaks of its own node alone.
      std::erase_if(report.counters,
                    [&](const auto& window) { return window.first != names_[std::size_t(who[i])]; });
    }
    return run::merge(std::move(reports));
  }

  std::vector<int> members_of(const run::Job& job) const {
    assert(job.nodes == names_ && !job.seats.empty());
    std::set<int> nodes;
    for (const run::Seat& seat : job.seats) nodes.insert(seat.node);
    return {nodes.begin(), nodes.end()};
  }

  Result<std::vector<std::vector<run::Address>>> addresses_of(const std::vector<int>& who,
                                                              const std::vector<Reply>& prepared) const {
    std::vector<std::vector<run::Address>> addresses(names_.size());
    for (std::size_t i = 0; i < who.size(); ++i) {
      const std::size_t node = std::size_t(who[i]);
      const auto& [ports, data_address] = prepared[i].prepared;
      if (int(ports.size()) != options_.processes)
        return fail(
            Cause::corrupted,
            fmt::format("its daemon gave {} ports for {} processes", ports.size(), options_.processes),
            names_[node], "install the same version on both");
      if (auto own = its_own(node, data_address, who, prepared); !own) return tl::unexpected(own.error());
      const std::string& host = data_address.empty() ? hosts_[node] : data_address;
      for (const int port : ports) addresses[node].push_back({host, port});
    }
    return addresses;
  }

  // A daemon must not send its peers to where it is not itself: elsewhere than on the interface that we asked
  // for, or to another node. That it lies in their networks is their own business.
  Result<void> its_own(std::size_t node, const std::string& address, const std::vector<int>& who,
                       const std::vector<Reply>& prepared) const {
    if (address.empty() || address == hosts_[node]) return {};
    const auto told = parse_ip(address);
    const bool possible = told && is_of_one(*told) && !is_link_local(*told) &&
                          (!is_loopback(*told) || on_loopback(hosts_[node]));
    std::string why;
    if (options_.data_interface.empty()) why = "and no data interface was asked for";
    if (!possible) why = "where no peer can reach it";
    for (std::size_t i = 0; i < who.size() && why.empty(); ++i) {
      const std::size_t other = std::size_t(who[i]);
      if (hosts_[other] != hosts_[node] &&
          (parse_ip(hosts_[other]) == told || parse_ip(prepared[i].prepared.data_address) == told))
        why = fmt::format("which is {}'s", names_[other]);
    }
    if (why.empty()) return {};
    return fail(Cause::corrupted,
                fmt::format("its daemon wants its data at {}, {}", one_line(address, 255), why), names_[node],
                "see which ringtrued answers there, and the interfaces of that node");
  }

  const std::vector<Target> targets_;
  const Options options_;
  const std::vector<std::string> hosts_;  // by target: where peers connect to
  const std::shared_ptr<Dialer> dialer_;
  std::vector<std::string> names_;  // by target
  std::vector<Failure> dead_;
  std::uint64_t runs_ = 0;
  int ranks_ = 1;        // that a job may have on a node
  bool broken_ = false;  // a run has failed since the lease
  bool lost_ = false;    // ... for another reason than nodes that are dead
  std::mutex mutex_;     // of what follows against cancel()
  bool cancelled_ = false;
  std::unique_ptr<NodeSessions> sessions_;  // last: it releases
};

}  // namespace

std::string holder_here(std::string_view what) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  const bool known = getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found;
  return fmt::format("{}@{} ({})", known ? entry.pw_name : std::to_string(geteuid()), host, what);
}

Error FleetError::summary() const {
  if (failures.empty()) return Error{Cause::internal, "a phase failed and no node gave a reason", "", ""};
  const Failure& first = failures.front();
  Error error = first.error;
  error.where = Subject(first.node, first.phase);
  std::vector<std::string> others;
  for (const Failure& f : failures)
    if (f.culprit && f.node != first.node) others.push_back(f.node);
  if (others.empty()) return error;
  constexpr std::size_t longest = 200;
  std::string list = others.size() > 3 ? fold_hostlist(others) : fmt::format("{}", fmt::join(others, ", "));
  if (list.size() > longest)  // of names without numbers
    list = fmt::format("{}, {}, {} and {} more", others[0], others[1], others[2], others.size() - 3);
  error.what += "; also " + list;
  return error;
}

FleetResult<std::unique_ptr<Fleet>> Fleet::lease(std::vector<Target> targets, Options options) {
  if (auto fits = check(targets, options); !fits) return refuse(fits.error());
  auto hosts = data_hosts(targets, options);
  if (!hosts) return refuse(hosts.error());
  auto dialer = make_dialer(targets, options.pki, options.phase_deadline);
  if (!dialer) return refuse(dialer.error());
  auto fleet = std::make_unique<GrpcFleet>(std::move(targets), std::move(options), std::move(*hosts),
                                           std::move(*dialer));
  if (auto acquired = fleet->acquire(); !acquired) return tl::unexpected(acquired.error());
  return std::unique_ptr<Fleet>(std::move(fleet));
}

Result<std::shared_ptr<Dialer>> make_dialer(const std::vector<Target>& targets, const Options& options) {
  return make_dialer(targets, options.pki, options.phase_deadline);
}

namespace {

std::vector<NodeState> states_of(Dialer& dialer, const std::vector<Target>& targets, Seconds deadline,
                                 const Gently* gently) {
  std::vector<NodeState> states;
  std::vector<Target> known;
  std::vector<std::size_t> places;  // in `states`
  for (std::size_t i = 0; i < targets.size(); ++i) {
    NodeState& state = states.emplace_back();
    state.node = targets[i].node;
    state.cause = targets[i].unknown;
    if (targets[i].unknown.empty()) known.push_back(targets[i]), places.push_back(i);
  }
  const auto told = [&](std::size_t i, Result<NodeState> state) {
    NodeState& row = states[places[i]];
    if (state) {
      row = std::move(*state);
    } else {
      row.cause = state.error().what;
      row.next = state.error().next;
    }
  };
  ask_all(dialer, known, deadline, told, gently);
  return states;
}

}  // namespace

Result<std::vector<NodeState>> describe(const std::vector<Target>& targets, const Options& options) {
  const auto dialer = make_dialer(targets, options);
  if (!dialer) return tl::unexpected(dialer.error());
  return states_of(**dialer, targets, options.phase_deadline, nullptr);
}

std::vector<NodeState> describe(Dialer& dialer, const std::vector<Target>& targets, Seconds deadline,
                                const Gently& gently) {
  return states_of(dialer, targets, deadline, &gently);
}

run::Job job_over(const std::vector<Target>& targets, const std::vector<int>& order, const Options& options) {
  run::Job job;
  for (const Target& t : targets) job.nodes.push_back(t.node);
  for (const int node : order)
    for (int local = 0; local < options.ranks_per_node; ++local)
      job.seats.push_back({node, local * options.processes / options.ranks_per_node, local});
  return job;
}

void add_aggregators(run::Job& job, const std::vector<int>& nodes, int count, const Options& options) {
  job.call.omni.workers = collective::Rank(job.seats.size());
  job.call.omni.aggregators = count;
  std::map<int, int> places;  // taken, by node
  for (const run::Seat& seat : job.seats) places[seat.node] = std::max(places[seat.node], seat.local + 1);
  for (int a = 0; a < count; ++a) {
    const int node = nodes[std::size_t(a) % nodes.size()];
    const int local = places[node]++;
    // The last process first: where workers are fewer than fill it, it has the most time.
    job.seats.push_back({node, options.processes - 1 - a / int(nodes.size()) % options.processes, local});
  }
}

std::string place_of(const run::Job& job, collective::Rank rank) {
  if (rank < 0 || rank >= job.ranks()) return fmt::format("rank {}", rank);
  const std::string& node = job.nodes[std::size_t(job.seats[std::size_t(rank)].node)];
  return rank < job.workers() ? node : fmt::format("aggregator {} on {}", rank - job.workers(), node);
}

}  // namespace ringtrue::fleet
