#include "operator/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <stop_token>

#include "base/hostlist.h"
#include "base/memory.h"
#include "base/plural.h"
#include "engine/session/plan.h"
#include "engine/session/session.h"
#include "fleet/targets.h"
#include "pki/expiry.h"
#include "pki/pki.h"
#include "probe/watch.h"
#include "worker/local_processes.h"

namespace ringtrue::ops {
namespace {

Place place_here(int ranks, const RunnerOptions& options) {
  Place place{.nodes = {"local"}, .ranks_per_node = ranks, .local = true, .text = plural(ranks, "rank")};
  if (options.aggregators) {
    place.aggregators = options.aggregators->count.value_or(ranks);
    place.dedicated = options.aggregators->dedicated;
  }
  if (place.aggregators > 0)
    place.text = fmt::format("{} and {}", plural(ranks, "worker"), plural(place.aggregators, "aggregator"));
  place.text += options.processes > 1 ? fmt::format(" in {} processes on this machine", options.processes)
                                      : " in this process";
  return place;
}

class LocalRunner final : public Runner {
 public:
  LocalRunner(int ranks, const RunnerOptions& options, const Setup& setup, const Control& control)
      : Runner(place_here(ranks, options)),
        control_(control),
        processes_(options.processes),
        deadline_(setup.config.run_deadline.value),
        deadline_is_given_(setup.config.run_deadline.layer != config::Layer::built_in) {}

  run::Job job() const override {
    run::Job job;
    job.nodes = place().nodes;
    for (int local = 0; local < place().ranks_per_node; ++local) job.seats.push_back({0, 0, local});
    return job;
  }
  void add_aggregators(run::Job& job) const override {
    fleet::add_aggregators(job, {0}, place().aggregators, fleet::Options{});
  }
  Outcome<run::RunReport> play(const run::Job& job, Deadline until) override {
    // Linux promises more memory than there is; running out of it would end this process without a word.
    const std::uint64_t needed = engine::bytes_on_node(job, 0),
                        available = available_memory().value_or(UINT64_MAX);
    if (needed > available) {
      return trouble(
          {Cause::unavailable,
           fmt::format("{} {} and {} are available", plural(job.ranks(), "rank needs", "ranks need"),
                       report_amount(needed), report_amount(available)),
           "", "take fewer ranks or a smaller --size"});
    }
    // Nobody else waits here. A machine with few cores may take its time over many ranks: unless told
    // otherwise, allow for 50 MB/s in all.
    const double calls = job.iterations + job.warmup;
    const Seconds needed_time(deadline_is_given_ ? 0 : calls * double(needed) / 50e6);
    Deadline deadline = Deadline::in(deadline_ + needed_time);
    if (until.at_ns() < deadline.at_ns()) deadline = until;
    counters_.begin();
    auto report = processes_ > 1 ? worker::run_in_processes(job, processes_, deadline, stopper_.get_token())
                                 : engine::run_locally(job, deadline, nullptr, nullptr, stopper_.get_token());
    if (!report) {  // whatever noticed it first
      if (control_.stopped()) return trouble({Cause::cancelled, "interrupted", "", ""});
      return trouble(report.error());
    }
    report->counters[place().nodes.front()] = counters_.end();
    return std::move(*report);
  }

 private:
  static std::string report_amount(std::uint64_t bytes) {
    return fmt::format("{:.1f} GiB", double(bytes) / (1u << 30));
  }

  const Control control_;
  int processes_;
  Seconds deadline_;
  bool deadline_is_given_;
  probe::CounterWatch counters_;
  std::stop_source stopper_;
  Stop::Handler guard_{control_.stop(),
                       [this] { stopper_.request_stop(); }};  // what is complete by then is told
};

// A node that only aggregates is called what it is.
Trouble with_aggregators(Trouble trouble, const run::Job& job) {
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
  for (Failure& f : trouble.failures) tell(f.error, role(f.node));
  tell(trouble.error, role(trouble.error.where.node));
  return trouble;
}

std::vector<int> from_to(int first, int last) {
  std::vector<int> out;
  for (int i = first; i < last; ++i) out.push_back(i);
  return out;
}

Place place_of(const Nodes& nodes, int ranks_per_node) {
  Place place{.worker_nodes = nodes.workers,
              .ranks_per_node = ranks_per_node,
              .aggregators = nodes.aggregators,
              .dedicated = nodes.dedicated};
  for (const fleet::Target& t : nodes.targets) place.nodes.push_back(t.node);
  const auto first_other = place.nodes.begin() + nodes.workers;
  place.text = fmt::format("{} on {}, {}", plural(std::size_t(nodes.workers * ranks_per_node), "rank"),
                           plural(std::size_t(nodes.workers), "node"),
                           fold_hostlist({place.nodes.begin(), first_other}));
  const std::string aggregators = plural(nodes.aggregators, "aggregator");
  if (nodes.dedicated)
    place.text += fmt::format(", {} on {}", aggregators, fold_hostlist({first_other, place.nodes.end()}));
  else if (nodes.aggregators > 0)
    place.text += fmt::format(", {} beside them", aggregators);
  return place;
}

class FleetRunner final : public Runner {
 public:
  FleetRunner(std::unique_ptr<fleet::Fleet> fleet, fleet::Options options, const Nodes& nodes,
              const Control& control)
      : Runner(place_of(nodes, options.ranks_per_node)),
        fleet_(std::move(fleet)),
        options_(std::move(options)),
        guard_(control.stop(), [this] { fleet_->cancel(); }) {}

  run::Job job() const override {
    return fleet::job_over(fleet_->targets(), from_to(0, place().worker_nodes), options_);
  }
  void add_aggregators(run::Job& job) const override {
    const int workers = place().worker_nodes;
    const auto where = place().dedicated ? from_to(workers, int(place().nodes.size())) : from_to(0, workers);
    fleet::add_aggregators(job, where, place().aggregators, options_);
  }
  Outcome<run::RunReport> play(const run::Job& job, Deadline until) override {
    auto report = fleet_->run(job, until);
    if (!report) return tl::unexpected(with_aggregators(trouble_of(report.error()), job));
    return std::move(*report);
  }
  int most_ranks_a_node() const override { return fleet_->ranks_per_node(); }
  bool outlives_failures() const override { return fleet_->can_go_on(); }
  std::vector<Failure> dead() const override { return fleet_->dead(); }

 private:
  std::unique_ptr<fleet::Fleet> fleet_;
  fleet::Options options_;
  Stop::Handler guard_;  // last: it must not outlive the fleet
};

}  // namespace

std::optional<Deadlines> Setup::deadlines() const {
  if (local) return std::nullopt;
  return Deadlines{config.phase_deadline.value.value, config.run_deadline.value.value};
}

Trouble trouble_of(const fleet::FleetError& error) {
  return {error.summary(), error.failures};
}

Result<std::vector<fleet::Target>> targets_of(const Setup& setup, bool keep_unknown) {
  const std::string& hosts = setup.config.hosts.value;
  if (hosts.empty()) {
    return fail(Cause::bad_input, "no hosts given", {}, "give --hosts node[01-16]");
  }
  const HostGroups groups = setup.config.host_groups();
  auto names = expand_hostlist(hosts, &groups);
  if (!names) {
    Error e = names.error();
    if (e.where.empty()) e.where = setup.config.hosts.origin;
    return tl::unexpected(e);
  }
  fleet::TargetOptions options;
  options.keep_unknown = keep_unknown;
  return fleet::make_targets(*names, options);
}

std::string pki_folder(const Setup& setup) {
  return setup.config.pki.value.empty() ? pki::usual_folder() : setup.config.pki.value;
}

std::string expiry_note(const Setup& setup) {
  if (setup.local || setup.insecure) return {};
  const auto own = pki::load_operator_credentials(pki_folder(setup));
  return own ? pki::expiry_warning(own->cert, ::time(nullptr)) : "";
}

std::vector<std::string> expiry_notes(const Setup& setup, const std::vector<fleet::NodeState>& nodes) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> notes, others;
  if (std::string own = expiry_note(setup); !own.empty()) notes.push_back(std::move(own));
  std::size_t expiring = 0;
  for (const fleet::NodeState& node : nodes) {
    if (node.expiry.empty()) continue;
    if (++expiring <= shown) notes.push_back(node.expiry);
    if (expiring > shown) others.push_back(node.node);
  }
  if (!others.empty())
    notes.push_back(fmt::format("so do those of {}: see ringtrue nodes for each", fold_hostlist(others)));
  return notes;
}

std::vector<std::string> daemon_notes(const Setup& setup, const std::vector<fleet::NodeState>& nodes) {
  std::vector<std::string> notes = fleet::version_notes(nodes);
  if (setup.insecure) return notes;
  for (std::string& note : expiry_notes(setup, nodes)) notes.push_back(std::move(note));
  return notes;
}

Result<Nodes> nodes_of(const Setup& setup, const RunnerOptions& options) {
  Nodes nodes;
  auto targets = targets_of(setup);
  if (!targets) {
    Error error = targets.error();
    if (setup.config.hosts.value.empty()) error.next += ", or --local 8 to play on this machine";
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
  const HostGroups groups = setup.config.host_groups();
  auto names = expand_hostlist(*asked.hosts, &groups);
  if (!names) return tl::unexpected(names.error());
  auto workers = expand_hostlist(setup.config.hosts.value, &groups);
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

fleet::Options fleet_options(const Setup& setup, const RunnerOptions& options, const Nodes& nodes,
                             const Control& control) {
  fleet::Options out;
  if (!setup.insecure) {
    out.pki = pki_folder(setup);
  }
  out.processes = options.processes;
  out.ranks_per_node = setup.ranks_per_node;
  if (nodes.aggregators > 0) {
    const int on = nodes.dedicated ? int(nodes.targets.size()) - nodes.workers : nodes.workers;
    const int each = (nodes.aggregators + on - 1) / on;
    out.aggregators_per_node = nodes.dedicated ? std::max(0, each - out.ranks_per_node) : each;
  }
  out.spare_ranks = std::max(0, options.spare_ranks - out.aggregators_per_node);
  out.data_interface = setup.config.data_interface.value;
  out.port_low = setup.config.data_ports.value.low;
  out.port_high = setup.config.data_ports.value.high;
  out.phase_deadline = setup.config.phase_deadline.value;
  out.run_deadline = setup.config.run_deadline.value;
  out.outlive_the_dead = options.outlive_the_dead;
  out.holder = fleet::holder_here(setup.command);
  out.progress = [control](Phase phase, int answered, int of) {
    control.tell(progress::Phase{phase, answered, of});
  };
  return out;
}

Outcome<std::unique_ptr<Runner>> make_runner(const Setup& setup, const RunnerOptions& options,
                                             const Control& control) {
  if (setup.runners) return setup.runners(options, control);
  if (setup.local) {
    if (options.aggregators && options.aggregators->hosts)
      return trouble(
          {Cause::bad_input, "--local and --aggregator-hosts exclude each other", "", "use --aggregators N"});
    return std::make_unique<LocalRunner>(*setup.local, options, setup, control);
  }
  auto nodes = nodes_of(setup, options);
  if (!nodes) return trouble(nodes.error());
  control.tell(progress::Phase{Phase::lease, 0, int(nodes->targets.size())});
  const fleet::Options how = fleet_options(setup, options, *nodes, control);
  auto fleet = fleet::Fleet::lease(nodes->targets, how);
  if (!fleet) return tl::unexpected(trouble_of(fleet.error()));
  return std::make_unique<FleetRunner>(std::move(*fleet), how, *nodes, control);
}

}  // namespace ringtrue::ops
