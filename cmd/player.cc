#include "cmd/player.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/hostlist.h"
#include "base/memory.h"
#include "base/plural.h"
#include "cmd/interrupt.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/unheeded.h"
#include "engine/session.h"
#include "fleet/local_processes.h"
#include "fleet/targets.h"
#include "ideal/rails.h"
#include "topology/probe/watch.h"

namespace ringtrue::cmd {
namespace {

constexpr std::string_view phases[] = {"lease", "prepare", "connect", "barrier", "run", "collect"};

// "alice@login1 (check)"
std::string holder(const Context& context) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  const bool known = getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr;
  return fmt::format("{}@{} ({})", known ? entry.pw_name : std::to_string(geteuid()), host, context.command);
}

void wait_before(const Pause& pause) {
  clear_progress();
  const std::string line =
      fmt::format("ringtrue: pause of {} before the phase {}\n", to_text(pause.time), pause.phase);
  [[maybe_unused]] const ssize_t wrote = write(STDERR_FILENO, line.data(), line.size());
  const Deadline until = Deadline::in(pause.time);
  while (!until.passed() && !interrupted()) usleep(10'000);
}

// Shows phases as they go; holds them up where a pause was asked for, once.
class Watcher {
 public:
  explicit Watcher(std::optional<Pause> pause) : pause_(std::move(pause)) {}

  void operator()(const std::string& phase, int answered, int nodes) {
    show_progress(fmt::format("{}: {} of {} nodes", phase, answered, nodes));
    if (answered < nodes) return;
    std::optional<Pause> now;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; pause_ && i + 1 < std::size(phases); ++i) {
        if (phases[i] == phase && phases[i + 1] == pause_->phase) now = std::exchange(pause_, std::nullopt);
      }
    }
    if (now) wait_before(*now);
  }

 private:
  std::mutex mutex_;
  std::optional<Pause> pause_;
};

class LocalPlayer final : public Player {
 public:
  LocalPlayer(int ranks, const PlayerOptions& options, Seconds deadline, bool deadline_is_given)
      : ranks_(ranks),
        processes_(options.processes),
        aggregators_(options.aggregators ? options.aggregators->count.value_or(ranks) : 0),
        dedicated_(options.aggregators && options.aggregators->dedicated),
        deadline_(deadline),
        deadline_is_given_(deadline_is_given) {}

  const std::vector<std::string>& nodes() const override { return nodes_; }
  engine::Job job() const override {
    engine::Job job;
    job.nodes = nodes_;
    for (int local = 0; local < ranks_; ++local) job.seats.push_back({0, 0, local});
    return job;
  }
  void add_aggregators(engine::Job& job) const override {
    fleet::add_aggregators(job, {0}, aggregators_, fleet::Options{});
  }
  int aggregators() const override { return aggregators_; }
  bool dedicated() const override { return dedicated_; }
  int worker_nodes() const override { return 1; }
  Played<engine::RunReport> play(const engine::Job& job) override {
    // Linux promises more memory than there is; running out of it would end this process without a word.
    const std::uint64_t needed = job.bytes_on_node(0), available = available_memory().value_or(UINT64_MAX);
    if (needed > available) {
      return tl::unexpected(report::Trouble{
          Error{Cause::unavailable,
                fmt::format("{} {} and {} are available", plural(job.ranks(), "rank needs", "ranks need"),
                            report_amount(needed), report_amount(available)),
                "", "take fewer ranks or a smaller --size"},
          {}});
    }
    // Nobody else waits here. A machine with few cores may take its time over many ranks: unless told
    // otherwise, allow for 50 MB/s in all.
    const double calls = job.iterations + job.warmup;
    const Seconds needed_time(deadline_is_given_ ? 0 : calls * double(needed) / 50e6);
    const Deadline deadline = Deadline::in(deadline_ + needed_time);
    counters_.begin();
    auto report = processes_ > 1 ? fleet::run_in_processes(job, processes_, deadline, &stopper_)
                                 : engine::run_locally(job, deadline, nullptr, nullptr, &stopper_);
    if (!report) {
      const bool stopped = interrupted();  // whatever noticed it first
      return tl::unexpected(
          report::Trouble{stopped ? Error{Cause::cancelled, "interrupted", "", ""} : report.error(), {}});
    }
    report->counters[nodes_.front()] = counters_.end();
    return std::move(*report);
  }
  std::string where() const override {
    const std::string who = aggregators_ > 0 ? fmt::format("{} and {}", plural(ranks_, "worker"),
                                                           plural(aggregators_, "aggregator"))
                                             : plural(ranks_, "rank");
    return processes_ > 1 ? fmt::format("{} in {} processes on this machine", who, processes_)
                          : fmt::format("{} in this process", who);
  }
  bool local() const override { return true; }
  int ranks_per_node() const override { return ranks_; }

 private:
  static std::string report_amount(std::uint64_t bytes) {
    return fmt::format("{:.1f} GiB", double(bytes) / (1u << 30));
  }

  std::vector<std::string> nodes_ = {"local"};
  int ranks_, processes_, aggregators_;
  bool dedicated_;
  Seconds deadline_;
  bool deadline_is_given_;
  topology::CounterWatch counters_;
  engine::Stopper stopper_;
  OnInterrupt guard_{[this] { stopper_.stop(); }};  // what is complete by then is told
};

// A node that only aggregates is called what it is.
report::Trouble with_aggregators(report::Trouble trouble, const engine::Job& job) {
  const auto role = [&](const std::string& node) {
    std::string name;
    for (collective::Rank rank = 0; rank < job.ranks(); ++rank) {
      if (job.nodes[std::size_t(job.seats[std::size_t(rank)].node)] != node) continue;
      if (rank < job.workers()) return std::string();
      if (name.empty()) name = fleet::place_of(job, rank);
    }
    return name;
  };
  const auto tell = [](Error& error, const std::string& name) {
    if (!name.empty() && error.what.find("aggregator") == std::string::npos)
      error.what = fmt::format("{}: {}", name, error.what);
  };
  if (job.workers() == job.ranks()) return trouble;
  for (report::Failure& f : trouble.failures) tell(f.error, role(f.node));
  for (const std::string& node : job.nodes) {
    if (trouble.error.where == node || trouble.error.where.starts_with(node + " "))
      tell(trouble.error, role(node));
  }
  return trouble;
}

class FleetPlayer final : public Player {
 public:
  FleetPlayer(std::unique_ptr<fleet::Fleet> fleet, fleet::Options options, const Nodes& nodes)
      : fleet_(std::move(fleet)),
        options_(std::move(options)),
        workers_(nodes.workers),
        aggregators_(nodes.aggregators),
        dedicated_(nodes.dedicated),
        guard_([this] { fleet_->cancel(); }) {
    for (const fleet::Target& t : fleet_->targets()) nodes_.push_back(t.node);
  }

  const std::vector<std::string>& nodes() const override { return nodes_; }
  engine::Job job() const override {
    return fleet::job_over(fleet_->targets(), from_to(0, workers_), options_);
  }
  void add_aggregators(engine::Job& job) const override {
    const auto where = dedicated_ ? from_to(workers_, int(nodes_.size())) : from_to(0, workers_);
    fleet::add_aggregators(job, where, aggregators_, options_);
  }
  int aggregators() const override { return aggregators_; }
  bool dedicated() const override { return dedicated_; }
  int worker_nodes() const override { return workers_; }
  Played<engine::RunReport> play(const engine::Job& job) override {
    auto report = fleet_->run(job);
    if (!report) return tl::unexpected(with_aggregators(trouble_of(report.error()), job));
    return std::move(*report);
  }
  std::string where() const override {
    const std::vector<std::string> workers(nodes_.begin(), nodes_.begin() + workers_);
    const std::string who =
        fmt::format("{} on {}, {}", plural(std::size_t(workers_ * options_.ranks_per_node), "rank"),
                    plural(workers.size(), "node"), fold_hostlist(workers));
    if (aggregators_ == 0) return who;
    if (!dedicated_) return fmt::format("{}, {} beside them", who, plural(aggregators_, "aggregator"));
    return fmt::format("{}, {} on {}", who, plural(aggregators_, "aggregator"),
                       fold_hostlist({nodes_.begin() + workers_, nodes_.end()}));
  }
  bool local() const override { return false; }
  int ranks_per_node() const override { return options_.ranks_per_node; }

 private:
  static std::vector<int> from_to(int first, int last) {
    std::vector<int> out;
    for (int i = first; i < last; ++i) out.push_back(i);
    return out;
  }

  std::unique_ptr<fleet::Fleet> fleet_;
  fleet::Options options_;
  int workers_, aggregators_;
  bool dedicated_;
  std::vector<std::string> nodes_;
  OnInterrupt guard_;  // last: it must not outlive the fleet
};

// The folder to look for certificates in, where none was named.
std::string default_pki() {
  const char* xdg = getenv("XDG_CONFIG_HOME");
  const char* home = getenv("HOME");
  std::string user;
  if (xdg != nullptr && *xdg != '\0') {
    user = std::string(xdg) + "/ringtrue/pki";
  } else if (home != nullptr && *home != '\0') {
    user = std::string(home) + "/.config/ringtrue/pki";
  }
  if (!user.empty() && access(user.c_str(), F_OK) == 0) return user;
  return "/etc/ringtrue/pki";
}

}  // namespace

Result<Pause> parse_pause(std::string_view text) {
  const std::size_t equals = text.find('=');
  for (std::string_view phase : phases) {
    if (equals == std::string_view::npos || text.substr(0, equals) != phase) continue;
    auto time = parse_duration(text.substr(equals + 1));
    if (!time) return tl::unexpected(time.error());
    return Pause{std::string(phase), *time};
  }
  return fail(Cause::bad_input, fmt::format("bad pause '{}'", text), {},
              fmt::format("give PHASE=TIME with one of {}", fmt::join(phases, ", ")));
}

std::optional<report::Deadlines> deadlines_of(const Context& context) {
  if (context.common.local) return std::nullopt;
  return report::Deadlines{context.config.phase_deadline.value.value,
                           context.config.run_deadline.value.value};
}

report::Trouble trouble_of(const fleet::FleetError& error) {
  report::Trouble trouble{error.summary(), {}};
  for (const fleet::Failure& f : error.failures)
    trouble.failures.push_back({f.node, f.phase, f.error, f.culprit});
  return trouble;
}

Result<std::vector<fleet::Target>> targets_of(const Context& context) {
  const std::string& hosts = context.config.hosts.value;
  if (hosts.empty()) {
    return fail(Cause::bad_input, "no hosts given", {}, "give --hosts node[01-16]");
  }
  const HostGroups groups = context.config.host_groups();
  auto names = expand_hostlist(hosts, &groups);
  if (!names) {
    Error e = names.error();
    if (e.where.empty()) e.where = context.config.hosts.origin;
    return tl::unexpected(e);
  }
  return fleet::make_targets(*names);
}

Result<Nodes> nodes_of(const Context& context, const PlayerOptions& options) {
  Nodes nodes;
  auto targets = targets_of(context);
  if (!targets) {
    Error error = targets.error();
    if (context.config.hosts.value.empty()) error.next += ", or --local 8 to play on this machine";
    return tl::unexpected(std::move(error));
  }
  nodes.targets = std::move(*targets);
  nodes.workers = int(nodes.targets.size());
  if (!options.aggregators) return nodes;
  const AggregatorOptions& asked = *options.aggregators;
  nodes.aggregators = asked.count.value_or(nodes.workers);
  if (!asked.hosts) {
    if (!asked.dedicated) return nodes;
    return fail(Cause::bad_input, "dedicated aggregators need nodes of their own", {},
                "name them with --aggregator-hosts LIST");
  }
  const HostGroups groups = context.config.host_groups();
  auto names = expand_hostlist(*asked.hosts, &groups);
  if (!names) return tl::unexpected(names.error());
  auto workers = expand_hostlist(context.config.hosts.value, &groups);
  if (!workers) return tl::unexpected(workers.error());
  for (const std::string& name : *names) {
    if (std::find(workers->begin(), workers->end(), name) == workers->end()) continue;
    return fail(
        Cause::bad_input, fmt::format("{} is among --hosts and --aggregator-hosts", name), {},
        "take it out of one of them, or use --placement colocated for aggregators beside the workers");
  }
  // Together, so that nodes of one host are told apart by their ports.
  workers->insert(workers->end(), names->begin(), names->end());
  targets = fleet::make_targets(*workers);
  if (!targets) return tl::unexpected(targets.error());
  nodes.targets = std::move(*targets);
  const int more = int(names->size());
  nodes.aggregators = asked.count.value_or(more);
  nodes.dedicated = true;
  const int used = std::min(nodes.aggregators, more);
  if (options.processes > 1) {
    return fail(Cause::bad_input, "--processes and --aggregator-hosts exclude each other", {},
                "leave --processes out");
  }
  nodes.targets.resize(std::size_t(nodes.workers + used));  // no lease where nothing is to be done
  return nodes;
}

fleet::Options fleet_options(const Context& context, const PlayerOptions& options, const Nodes& nodes) {
  fleet::Options out;
  if (!context.common.insecure) {
    out.pki = context.config.pki.value.empty() ? default_pki() : context.config.pki.value;
  }
  out.processes = options.processes;
  out.ranks_per_node = context.common.ranks_per_node;
  if (nodes.aggregators > 0) {
    const int on = nodes.dedicated ? int(nodes.targets.size()) - nodes.workers : nodes.workers;
    const int each = (nodes.aggregators + on - 1) / on;
    out.aggregators_per_node = nodes.dedicated ? std::max(0, each - out.ranks_per_node) : each;
  }
  out.aggregators_per_node = std::max(out.aggregators_per_node, options.spare_ranks);
  out.data_interface = context.config.data_interface.value;
  out.port_low = context.config.data_ports.value.low;
  out.port_high = context.config.data_ports.value.high;
  out.phase_deadline = context.config.phase_deadline.value;
  out.run_deadline = context.config.run_deadline.value;
  out.holder = holder(context);
  auto watcher = std::make_shared<Watcher>(options.pause);
  out.progress = [watcher](const std::string& phase, int answered, int nodes) {
    (*watcher)(phase, answered, nodes);
  };
  return out;
}

Played<std::unique_ptr<fleet::Fleet>> lease(const Context& context, const PlayerOptions& options,
                                            const Nodes& nodes) {
  if (options.pause && options.pause->phase == "lease") wait_before(*options.pause);
  auto fleet = fleet::Fleet::lease(nodes.targets, fleet_options(context, options, nodes));
  if (!fleet) return tl::unexpected(trouble_of(fleet.error()));
  return std::move(*fleet);
}

Played<std::unique_ptr<Player>> make_player(const Context& context, const PlayerOptions& options) {
  if (context.common.local) {
    if (context.common.hosts) {
      return tl::unexpected(report::Trouble{
          Error{Cause::bad_input, "--local and --hosts exclude each other", "", "give one of them"}, {}});
    }
    if (auto heeded = refuse_remote(context); !heeded)
      return tl::unexpected(report::Trouble{heeded.error(), {}});
    if (options.aggregators && options.aggregators->hosts) {
      return tl::unexpected(
          report::Trouble{Error{Cause::bad_input, "--local and --aggregator-hosts exclude each other", "",
                                "use --aggregators N"},
                          {}});
    }
    return std::make_unique<LocalPlayer>(*context.common.local, options, context.config.run_deadline.value,
                                         context.config.run_deadline.origin != config::built_in);
  }
  auto nodes = nodes_of(context, options);
  if (!nodes) return tl::unexpected(report::Trouble{nodes.error(), {}});
  auto fleet = lease(context, options, *nodes);
  if (!fleet) return tl::unexpected(fleet.error());
  return std::make_unique<FleetPlayer>(std::move(*fleet), fleet_options(context, options, *nodes), *nodes);
}

}  // namespace ringtrue::cmd
