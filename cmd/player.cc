#include "cmd/player.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <mutex>

#include "base/hostlist.h"
#include "base/memory.h"
#include "cmd/interrupt.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "engine/session.h"
#include "fleet/local_processes.h"
#include "fleet/targets.h"

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
  LocalPlayer(int ranks, int processes, Seconds deadline, bool deadline_is_given)
      : ranks_(ranks), processes_(processes), deadline_(deadline), deadline_is_given_(deadline_is_given) {}

  const std::vector<std::string>& nodes() const override { return nodes_; }
  engine::Job job() const override {
    engine::Job job;
    job.nodes = nodes_;
    for (int local = 0; local < ranks_; ++local) job.seats.push_back({0, 0, local});
    return job;
  }
  Played<engine::RunReport> play(const engine::Job& job) override {
    // Linux promises more memory than there is; running out of it would end this process without a word.
    const std::uint64_t needed = job.bytes_on_node(0), available = available_memory().value_or(UINT64_MAX);
    if (needed > available) {
      return tl::unexpected(
          report::Trouble{Error{Cause::unavailable,
                                fmt::format("{} ranks need {} and {} are available", job.ranks(),
                                            report_amount(needed), report_amount(available)),
                                "", "take fewer ranks or a smaller --size"},
                          {}});
    }
    // Nobody else waits here. A machine with few cores may take its time over many ranks: unless told
    // otherwise, allow for 50 MB/s in all.
    const double calls = job.iterations + job.warmup;
    const Seconds needed_time(deadline_is_given_ ? 0 : calls * double(needed) / 50e6);
    const Deadline deadline = Deadline::in(deadline_ + needed_time);
    auto report = processes_ > 1 ? fleet::run_in_processes(job, processes_, deadline)
                                 : engine::run_locally(job, deadline);
    if (!report) return tl::unexpected(report::Trouble{report.error(), {}});
    return std::move(*report);
  }
  std::string where() const override {
    return processes_ > 1 ? fmt::format("{} ranks in {} processes on this machine", ranks_, processes_)
                          : fmt::format("{} ranks in this process", ranks_);
  }
  bool local() const override { return true; }
  int ranks_per_node() const override { return ranks_; }

 private:
  static std::string report_amount(std::uint64_t bytes) {
    return fmt::format("{:.1f} GiB", double(bytes) / (1u << 30));
  }

  std::vector<std::string> nodes_ = {"local"};
  int ranks_, processes_;
  Seconds deadline_;
  bool deadline_is_given_;
};

class FleetPlayer final : public Player {
 public:
  FleetPlayer(std::unique_ptr<fleet::Fleet> fleet, fleet::Options options)
      : fleet_(std::move(fleet)), options_(std::move(options)), guard_([this] { fleet_->cancel(); }) {
    for (const fleet::Target& t : fleet_->targets()) nodes_.push_back(t.node);
  }

  const std::vector<std::string>& nodes() const override { return nodes_; }
  engine::Job job() const override {
    std::vector<int> order;
    for (std::size_t i = 0; i < nodes_.size(); ++i) order.push_back(int(i));
    return fleet::job_over(fleet_->targets(), order, options_);
  }
  Played<engine::RunReport> play(const engine::Job& job) override {
    auto report = fleet_->run(job);
    if (!report) return tl::unexpected(trouble_of(report.error()));
    return std::move(*report);
  }
  std::string where() const override {
    return fmt::format("{} ranks on {} nodes, {}", int(nodes_.size()) * options_.ranks_per_node,
                       nodes_.size(), fold_hostlist(nodes_));
  }
  bool local() const override { return false; }
  int ranks_per_node() const override { return options_.ranks_per_node; }

 private:
  std::unique_ptr<fleet::Fleet> fleet_;
  fleet::Options options_;
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
    return fail(Cause::bad_input, "no hosts given", {},
                "give --hosts node[01-16], or --local 8 to play on this machine");
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

fleet::Options fleet_options(const Context& context, const PlayerOptions& options) {
  fleet::Options out;
  if (!context.common.insecure) {
    out.pki = context.config.pki.value.empty() ? default_pki() : context.config.pki.value;
  }
  out.processes = options.processes;
  out.ranks_per_node = context.common.ranks_per_node;
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

Played<std::unique_ptr<fleet::Fleet>> lease(const Context& context, const PlayerOptions& options) {
  auto targets = targets_of(context);
  if (!targets) return tl::unexpected(report::Trouble{targets.error(), {}});
  if (options.pause && options.pause->phase == "lease") wait_before(*options.pause);
  auto fleet = fleet::Fleet::lease(std::move(*targets), fleet_options(context, options));
  if (!fleet) return tl::unexpected(trouble_of(fleet.error()));
  return std::move(*fleet);
}

Played<std::unique_ptr<Player>> make_player(const Context& context, const PlayerOptions& options) {
  if (context.common.local) {
    if (context.common.hosts) {
      return tl::unexpected(report::Trouble{
          Error{Cause::bad_input, "--local and --hosts exclude each other", "", "give one of them"}, {}});
    }
    return std::make_unique<LocalPlayer>(*context.common.local, options.processes,
                                         context.config.run_deadline.value,
                                         context.config.run_deadline.origin != config::built_in);
  }
  auto fleet = lease(context, options);
  if (!fleet) return tl::unexpected(fleet.error());
  return std::make_unique<FleetPlayer>(std::move(*fleet), fleet_options(context, options));
}

}  // namespace ringtrue::cmd
