#include "sim/simulate.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/auto_choice.h"
#include "cmd/calls.h"
#include "cmd/command.h"
#include "cmd/fabric_flags.h"
#include "cmd/grid.h"
#include "cmd/input_file.h"
#include "cmd/measurements.h"
#include "cmd/omni_results.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/simulate_calibrate.h"
#include "cmd/simulate_omni.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  CallFlags call;
  OmniFlags omni;
  std::string bitmaps;  // a file's name
  FabricFlags fabric;
  FaultScript faults;
  std::string calibrate;  // a file
  std::string compare;    // an algorithm
  std::optional<sim::Place> fix;
  std::string sharing = "automatic", method = "automatic";
  double noise = 0, run_noise = 0;
  long seed = 1;
  bool grid = false;

  bool faulty() const { return !faults.hops.empty() || !faults.fabric.empty(); }
};

// A barrier is no allreduce, but a measure of latency: LogP's, for one.
collective::Task play_barrier(collective::Endpoint& self, const collective::Call&) {
  return collective::barrier(self);
}
const collective::Algorithm barrier_algorithm = {
    "barrier", "dissemination; latency alone", play_barrier,
    [](const collective::Layout&, collective::Rank, const collective::Call&) -> std::uint64_t { return 0; },
    false};

const collective::Algorithm& algorithm_of(const std::string& name) {
  return name == "barrier" ? barrier_algorithm : **collective::find_algorithm(name);
}

std::string where_of(const OmniPlan& plan) {
  const sim::Fabric& f = plan.fabric;
  const collective::Omni& omni = plan.job.call.omni;
  return fmt::format("{} worker{}, {} {} aggregator{}, {} nodes, {} between nodes after {}", omni.workers,
                     omni.workers == 1 ? "" : "s", omni.aggregators, name(plan.placement),
                     omni.aggregators == 1 ? "" : "s", f.nodes, to_text(f.inter.rate * double(f.rails)),
                     to_text(f.inter.latency));
}

ideal::Inputs inputs_of(const sim::Fabric& f) {
  ideal::Inputs inputs = ideal_inputs(f.nodes, f.ranks_per_node, std::nullopt, std::nullopt);
  if (f.nodes > 1) inputs.inter = {f.inter.rate * double(f.rails), ideal::Origin::declared};
  if (f.ranks_per_node > 1) inputs.intra = {f.intra.rate, ideal::Origin::declared};
  return inputs;
}

// The sizes to play, and the data where a file says it.
struct Task {
  std::vector<std::uint64_t> sizes;
  std::shared_ptr<const Bitmaps> bitmaps;
  std::shared_ptr<const engine::Input> input;
  std::string note;  // of the input
};

Result<void> check(const Flags& flags) {
  const bool barrier = flags.call.algorithm == "barrier";
  if (auto known = flags.call.check_algorithm(); !known && !barrier) return known;
  if (!flags.compare.empty()) {
    CallFlags other;
    other.algorithm = flags.compare;
    if (auto known = other.check_algorithm(); !known) return known;
    if (flags.compare == "auto" || flags.compare == "omnireduce" || flags.call.algorithm == "omnireduce") {
      return fail(Cause::bad_input, "--compare is of two dense collectives, by name", {},
                  "like --compare ring");
    }
  }
  if (flags.fix && flags.faults.fabric.empty() && flags.fabric.random_faults == 0) {
    return fail(Cause::bad_input, fmt::format("nothing is wrong with {}", sim::to_text(*flags.fix)), "--fix",
                "give a fault there, like --fault 'slow-link@node3>:share=50%'");
  }
  if (auto fits = flags.omni.check(flags.call.algorithm); !fits) return fits;
  const bool file = !flags.bitmaps.empty() || !flags.omni.input.empty();
  if (flags.omni.aggregator_hosts) {
    return fail(Cause::bad_input, "--aggregator-hosts names hosts, and a model has none", {},
                "use --aggregators and --placement");
  }
  if (!flags.bitmaps.empty() && flags.call.algorithm != "omnireduce") {
    return fail(Cause::bad_input, fmt::format("--bitmaps is of omnireduce, not of {}", flags.call.algorithm),
                {}, "leave it out, or take omnireduce");
  }
  if (!flags.bitmaps.empty() && (flags.omni.generates() || !flags.omni.input.empty())) {
    return fail(Cause::bad_input, "--bitmaps says where the data is zero", {},
                "leave out densities and --input");
  }
  if (file && (flags.call.size || flags.call.from || flags.call.to)) {
    return fail(Cause::bad_input, "a file of data and --size, --from, --to exclude each other", {},
                "the file says how much there is");
  }
  return {};
}

Result<Task> task_of(const Flags& flags, int workers) {
  if (auto fits = check(flags); !fits) return tl::unexpected(fits.error());
  Task out;
  if (!flags.bitmaps.empty()) {
    auto bitmaps = read_bitmaps(flags.bitmaps);
    if (!bitmaps) return tl::unexpected(bitmaps.error());
    out.bitmaps = std::make_shared<const Bitmaps>(std::move(*bitmaps));
    out.sizes = {0};
  } else if (!flags.omni.input.empty()) {
    auto input = input_of(flags.omni.input, workers, flags.call.type_given);
    if (!input) return tl::unexpected(input.error());
    const std::size_t rows = input->input->rows.size();
    if (rows != 1 && int(rows) != workers) {
      return fail(Cause::bad_input,
                  fmt::format("{} has {} rows for {} workers", flags.omni.input, rows, workers));
    }
    out.input = std::move(input->input);
    out.note = std::move(input->note);
    out.sizes = {out.input->elements * size_of(out.input->type)};
  } else {
    auto sizes = flags.call.sizes();
    if (!sizes) return tl::unexpected(sizes.error());
    out.sizes = std::move(*sizes);
  }
  return out;
}

// NVIDIA, "Massively Scale Your Deep Learning Training with NCCL 2.4" (2019): latency on up to 24,576 GPUs of
// Summit, up to.
constexpr double published_ring_over_tree = 180;

// A whole command: the sizes one after the other.
class Simulation {
 public:
  Simulation(Context& context, const Flags& flags) : context_(context), flags_(flags) {}

  int operator()() {
    auto fabric = fabric_of(flags_.fabric, context_.config.link_rate.value);
    if (!fabric) return failed(context_, fabric.error());
    fabric_ = std::move(*fabric);
    if (!flags_.calibrate.empty()) {
      collective::Call call = flags_.call.of(0);
      const bool shaped =
          flags_.fabric.has("nodes") || flags_.fabric.has("gpus-per-node") || !flags_.fabric.file.empty();
      auto calibrated = calibrate_by(flags_.calibrate, call, shaped, fabric_);
      if (!calibrated) return failed(context_, calibrated.error());
      document_.model.calibration = std::move(*calibrated);
    }
    auto task = task_of(flags_, fabric_.nodes * fabric_.ranks_per_node);
    if (!task) return failed(context_, task.error());
    task_ = std::move(*task);
    options_.seed = std::uint64_t(flags_.seed);
    options_.noise = flags_.noise;
    options_.run_noise = flags_.run_noise;
    options_.faults = flags_.faults.hops;
    if (flags_.sharing != "automatic")
      options_.discipline = flags_.sharing == "fair" ? sim::Discipline::fair : sim::Discipline::fifo;
    if (flags_.method != "automatic")
      options_.method = flags_.method == "events" ? sim::Method::events : sim::Method::recurrence;
    document_.simulated = true;
    document_.where = cmd::where_of(fabric_);
    fabric_.faults = flags_.faults.fabric;
    for (auto& fault : sim::draw_faults(fabric_, options_.seed, flags_.fabric.random_faults))
      fabric_.faults.push_back(fault);
    for (const auto& fault : options_.faults) document_.model.faults.push_back(collective::to_text(fault));
    for (const auto& fault : fabric_.faults) document_.model.faults.push_back(sim::to_text(fault));
    for (std::size_t i = 0; i < task_.sizes.size() && !document_.error; ++i) {
      options_.events = flags_.call.events && i + 1 == task_.sizes.size();
      const auto done = omnireduce() ? play_omnireduce(task_.sizes[i]) : play(task_.sizes[i]);
      if (!done) return failed(context_, done.error());
    }
    if (!document_.error && !flags_.compare.empty()) {
      if (auto done = compare(task_.sizes.back()); !done) return failed(context_, done.error());
    }
    if (flags_.fix) {
      if (auto done = fix(task_.sizes.back()); !done) return failed(context_, done.error());
    }
    if (document_.error) complain(document_.error->error);
    const int code = document_.error ? Exit::unknown : corrupted_ ? Exit::faulty : Exit::healthy;
    return print(context_.common.json ? report::json(document_) : report::text(document_, context_.style),
                 code);
  }

 private:
  bool omnireduce() const { return flags_.call.algorithm == "omnireduce"; }

  collective::Call call_of(std::uint64_t bytes) const {
    collective::Call call = flags_.call.of(bytes);
    if (task_.input) {
      call.type = task_.input->type;
      call.elements = task_.input->elements;
    }
    if (flags_.call.algorithm == "barrier") call.elements = 0;
    return call;
  }

  Result<void> play(std::uint64_t bytes) {
    engine::Job job;
    job.algorithm = flags_.call.algorithm;
    job.call = call_of(bytes);
    if (job.algorithm == "auto") {
      collective::Costs costs{fabric_.intra, fabric_.inter, false};
      costs.inter.rate = costs.inter.rate * double(fabric_.rails);
      document_.choices.push_back(choice_of(fabric_.layout(), job.call, costs));
      job.algorithm = document_.choices.back().algorithm;
    }
    for (int node = 0; node < fabric_.nodes; ++node) {
      job.nodes.push_back(fmt::format("node{}", node));
      for (int local = 0; local < fabric_.ranks_per_node; ++local) job.seats.push_back({node, 0, local});
    }
    auto played = simulated(job, fabric_, options_);
    if (!played) return tl::unexpected(played.error());
    keep(job, result_of(job, *played), *played);
    return {};
  }

  Result<void> play_omnireduce(std::uint64_t bytes) {
    OmniCase what{call_of(bytes), fabric_, options_.faults, options_.seed, task_.bitmaps, task_.input};
    const auto plan = plan_omnireduce(what, flags_.omni);
    if (!plan) return tl::unexpected(plan.error());
    if (!task_.note.empty() && document_.notes.empty()) document_.notes.push_back(task_.note);
    for (const std::string& note : plan->notes) {
      if (std::find(document_.notes.begin(), document_.notes.end(), note) == document_.notes.end())
        document_.notes.push_back(note);
    }
    sim::SimOptions options = options_;
    options.rounds = true;
    options.has_block = plan->has_block;
    auto played = simulated(plan->job, plan->fabric, options);
    if (!played) return tl::unexpected(played.error());
    document_.where = where_of(*plan);
    report::RunResult result = result_of(plan->job, *played);
    add_omni(result, *plan, *played, played->error ? std::nullopt : ring_beside(plan->job.call));
    keep(plan->job, std::move(result), *played);
    add_roles(document_.hops, plan->job.workers());
    return {};
  }

  Result<sim::SimReport> simulated(const engine::Job& job, const sim::Fabric& fabric,
                                   const sim::SimOptions& options) {
    show_progress(fmt::format("simulating {} of {} bytes", job.algorithm, job.call.bytes()));
    auto played = sim::simulate(algorithm_of(job.algorithm), job.call, fabric, options);
    if (played && document_.model.method.empty()) {
      document_.model.method = name(played->method);
      document_.model.sharing = name(played->discipline);
    }
    return played;
  }

  // The last size once more, by another algorithm or on another fabric. Unknown where it does not end.
  Result<std::optional<double>> again(const std::string& algorithm, std::uint64_t bytes,
                                      const sim::Fabric& fabric) {
    engine::Job job;
    job.algorithm = algorithm;
    job.call = call_of(bytes);
    sim::SimOptions options = options_;
    options.events = false;
    auto played = simulated(job, fabric, options);
    if (!played) return tl::unexpected(played.error());
    return played->error ? std::nullopt : std::optional(played->time.value);
  }

  Result<void> compare(std::uint64_t bytes) {
    auto other = again(flags_.compare, bytes, fabric_);
    if (!other) return tl::unexpected(other.error());
    const report::RunResult& result = document_.results.back();
    if (!*other || **other <= 0 || !result.time_s) return {};
    report::Comparison out{flags_.compare, **other, result.time_s->median / **other, std::nullopt};
    const std::string& first = result.algorithm;
    const bool rings = (first == "ring" && flags_.compare == "double-tree") ||
                       (first == "double-tree" && flags_.compare == "ring");
    if (rings && fabric_.nodes > 1) out.published = published_ring_over_tree;
    document_.model.comparison = std::move(out);
    return {};
  }

  // The last size on a fabric without the faults at a place.
  Result<void> fix(std::uint64_t bytes) {
    sim::Fabric whole = fabric_;
    std::erase_if(whole.faults, [&](const sim::FabricFault& fault) { return fault.place == *flags_.fix; });
    report::Fix out;
    out.place = sim::to_text(*flags_.fix);
    for (const sim::FabricFault& fault : fabric_.faults) {
      if (fault.place == *flags_.fix) out.faults.push_back(sim::to_text(fault));
    }
    if (out.faults.empty()) {
      return fail(Cause::bad_input, fmt::format("nothing is wrong with {}", out.place), "--fix",
                  fmt::format("faults: {}", fmt::join(document_.model.faults, "; ")));
    }
    const report::RunResult& result = document_.results.back();
    auto time = again(result.algorithm, bytes, whole);
    if (!time) return tl::unexpected(time.error());
    if (result.time_s) out.time_s = result.time_s->median;
    out.fixed_time_s = *time;
    if (out.time_s && *time && **time > 0) out.gain = *out.time_s / **time - 1;
    document_.model.fix = std::move(out);
    return {};
  }

  // The dense ring on the workers' nodes, which an omnireduce is held against.
  std::optional<report::RunResult> ring_beside(const collective::Call& call) {
    if (flags_.omni.no_ring || task_.bitmaps || call.omni.workers < 2 || call.elements == 0)
      return std::nullopt;
    sim::SimOptions options = options_;
    options.events = false;
    // What befalls packets, and aggregators, is none of the ring's.
    std::erase_if(options.faults, [&](const collective::Fault& fault) {
      return fault.unreliable() || fault.source.value_or(0) >= call.omni.workers ||
             fault.destination.value_or(0) >= call.omni.workers;
    });
    engine::Job job;
    job.algorithm = "ring";
    job.call = call;
    job.call.omni = {};
    job.seats.resize(std::size_t(call.omni.workers));
    const auto played = simulated(job, fabric_, options);
    if (!played || played->error) return std::nullopt;
    return result_of(job, *played);
  }

  report::RunResult result_of(const engine::Job& job, const sim::SimReport& played) const {
    report::RunResult result;
    result.algorithm = job.algorithm;
    result.transport = "model";
    result.ranks = job.workers();
    result.bytes = job.call.bytes();
    result.count = job.call.elements;
    result.type = name(job.call.type);
    result.op = name(job.call.operation);
    result.iterations = 1;
    if (!played.error) {
      result.time_s = report::Spread{played.time.value, played.time.value, played.time.value};
    }
    result.messages = played.messages;
    result.bytes_sent = played.bytes_sent;
    add_rates(result, inputs_of(fabric_));
    return result;
  }

  void keep(const engine::Job& job, report::RunResult result, sim::SimReport& played) {
    document_.results.push_back(std::move(result));
    document_.hops = hops_of(job, played.trace);
    document_.events = std::move(played.trace.events);
    corrupted_ = corrupted_ || played.corrupted > 0;
    if (played.error) document_.error = report::Trouble{*played.error, {}};
  }

  Context& context_;
  const Flags& flags_;
  Task task_;
  sim::Fabric fabric_;
  sim::SimOptions options_;
  report::RunDocument document_;
  bool corrupted_ = false;
};

int run_grid(Context& context, const Flags& flags) {
  const auto refuse = [&](std::string what, std::string next) {
    return failed(context, Error{Cause::bad_input, std::move(what), {}, std::move(next)});
  };
  if (flags.call.algorithm != "omnireduce") return refuse("--grid is of omnireduce", "take omnireduce");
  if (auto fits = check(flags); !fits) return failed(context, fits.error());
  if (!flags.bitmaps.empty() || !flags.omni.input.empty() || flags.omni.acked || flags.omni.mtu ||
      flags.call.from || flags.call.to || flags.fabric.random_faults > 0 || flags.faulty()) {
    return refuse("--grid plays undisturbed calls of one size with generated data",
                  "leave out files, faults, --from, --to, --acked and --mtu");
  }
  GridTask task;
  const std::uint64_t bytes = flags.call.size ? flags.call.size->value : grid_bytes;
  task.call = flags.call.of(bytes);
  auto fabric = fabric_of(flags.fabric, context.config.link_rate.value);
  if (!fabric) return failed(context, fabric.error());
  task.fabric = std::move(*fabric);
  if (!flags.fabric.has("latency")) task.fabric.inter.latency = grid_latency;
  if (flags.fabric.has("inter")) task.rate = task.fabric.inter.rate;
  task.seed = std::uint64_t(flags.seed);
  const auto document = play_grid(task, flags.omni);
  if (!document) return failed(context, document.error());
  return print(context.common.json ? report::json(*document) : report::text(*document, context.style),
               Exit::healthy);
}

}  // namespace

void add_simulate(Commands& commands) {
  CLI::App& app =
      commands.add("simulate", "The same collectives on a modelled cluster of any size, faults included");
  static Flags flags;
  add_call_flags(commands, app, flags.call);
  add_omni_flags(commands, app, flags.omni);
  app.add_option(
         "--bitmaps", flags.bitmaps,
         "JSON, a row of 0/1 a worker: its blocks that are not zero; gives the protocol's exact counts")
      ->type_name("FILE")
      ->group("omnireduce");
  app.add_flag("--grid", flags.grid,
               "2, 4, 8 workers, 10 and 100 Gbit/s, densities 1 to 0.01, 100 MB after 5us: a table with the "
               "model's times")
      ->group("omnireduce");
  add_fabric_flags(commands, app, flags.fabric);
  add_parsed(
      app, "--fault", flags.faults, parse_script, "SPEC",
      "of a hop between ranks, throttle@3>4:rate=50Mbit, or of the fabric, slow-link@node3>:share=50%; "
      "several with ';' (docs/simulator.md)");
  add_parsed(app, "--fix", flags.fix, sim::parse_place, "PLACE",
             "what the last size would take without the faults at node3>, node3.nic1, leaf0>spine1, ...");
  app.add_option(
         "--calibrate", flags.calibrate,
         "latency, rate and cost of a slice as a live run took them: the JSON of run with several sizes")
      ->type_name("FILE");
  app.add_option("--compare", flags.compare, "the last size by another algorithm, and the ratio")
      ->type_name("ALGORITHM");
  commands.choices(
      app.add_option("--sharing", flags.sharing, "how messages share a link: automatic, fair, fifo")
          ->check(CLI::IsMember({"automatic", "fair", "fifo"}))
          ->type_name("WORD"),
      {"automatic", "fair", "fifo"});
  commands.choices(
      app.add_option("--method", flags.method, "automatic, events, or recurrence: exact and fast, for rings")
          ->check(CLI::IsMember({"automatic", "events", "recurrence"}))
          ->type_name("WORD"),
      {"automatic", "events", "recurrence"});
  app.add_option("--noise", flags.noise, "each message needs up to this share more time")
      ->check(CLI::Range(0.0, 10.0))
      ->type_name("SHARE");
  app.add_option("--run-noise", flags.run_noise, "each link is slower by up to this share, all along")
      ->check(CLI::Range(0.0, 10.0))
      ->type_name("SHARE");
  add_whole(app, "--seed", flags.seed, 0, 1L << 62,
            "of the noise, of faults, and of which blocks hold something");
  app.footer("Example: ringtrue simulate ring --nodes 8 --inter 500Mbit --fault 'throttle@3>4:rate=250Mbit'");
  commands.on(app, [](Context& context) {
    return flags.grid ? run_grid(context, flags) : Simulation(context, flags)();
  });
}

}  // namespace ringtrue::cmd
