#include "operator/simulate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "operator/measurements.h"
#include "operator/simulate_omni.h"
#include "run/job.h"
#include "sim/simulate.h"

namespace ringtrue::ops {
namespace {

// A barrier is no allreduce, but a measure of latency: LogP's, for one.
collective::Task play_barrier(collective::Endpoint& self, const collective::Call&) {
  return collective::barrier(self);
}
const collective::Algorithm barrier_algorithm = {
    collective::AlgorithmId::barrier, "dissemination; latency alone", play_barrier,
    [](const collective::Layout&, collective::Rank, const collective::Call&) -> std::uint64_t { return 0; },
    false};

const collective::Algorithm& simulated_algorithm(collective::AlgorithmId id) {
  return id == collective::AlgorithmId::barrier ? barrier_algorithm : collective::algorithm_of(id);
}
std::string where_of(const OmniPlan& plan) {
  const sim::Fabric& f = plan.fabric;
  const collective::Omni& omni = plan.job.call.omni;
  std::string out = fmt::format("{}, {} {} {}, {}", plural(omni.workers, "worker"), omni.aggregators,
                                key_of(plan.placement), omni.aggregators == 1 ? "aggregator" : "aggregators",
                                plural(f.nodes, "node"));
  if (f.nodes > 1) {
    out += fmt::format(", {} between nodes after {}", to_text(f.inter.rate * double(f.rails)),
                       to_text(f.inter.latency));
  }
  return out;
}

struct Origins {
  ideal::Origin between = ideal::Origin::declared, inside = ideal::Origin::declared;
};

// The slowest node's rate is what they all have.
ideal::Inputs inputs_of(const sim::Fabric& f, const Origins& origins) {
  ideal::Inputs inputs = ideal_inputs(f.nodes, f.ranks_per_node, std::nullopt, std::nullopt);
  double slowest = 1;
  for (const auto* ports : {&f.egress, &f.ingress}) {
    for (const auto& [node, share] : *ports) slowest = std::min(slowest, share);
  }
  BytesPerSecond between = f.inter.rate * double(f.rails) * slowest;
  if (f.gpu_pcie.value > 0 && !f.pcie) between = std::min(between, f.gpu_pcie * double(f.ranks_per_node));
  if (f.nodes > 1) inputs.inter = {between, origins.between};
  if (f.ranks_per_node > 1) inputs.intra = {f.intra.rate, origins.inside};
  return inputs;
}

// NVIDIA, "Massively Scale Your Deep Learning Training with NCCL 2.4" (2019): latency on up to 24,576 GPUs of
// Summit, up to.
constexpr double published_ring_over_tree = 180;

// A whole command: the sizes one after the other.
class Simulation {
 public:
  Simulation(const SimulateRequest& request, const Control& control)
      : request_(request), setup_(request.setup), control_(control) {}

  Outcome<RunDocument> operator()() {
    std::optional<ProbedFabric> probed;
    if (!request_.fabric.topology.empty()) {
      auto read = probe_fabric(setup_, request_.fabric.topology, control_);
      if (!read) return trouble(read.error());
      probed = std::move(*read);
      document_.notes = probed->notes;
    }
    const auto link_rate = setup_.config.link_rate.value;
    const bool dedicated =
        request_.omni.placement.value_or(Placement::dedicated) == Placement::dedicated && omnireduce();
    auto fabric = fabric_of(request_.fabric, link_rate, probed ? &*probed : nullptr, dedicated);
    if (!fabric) return trouble(fabric.error());
    fabric_ = std::move(*fabric);
    if (probed && !request_.fabric.tells_rate() && !link_rate) origins_.between = ideal::Origin::probed;
    if (probed && !request_.fabric.has("intra")) origins_.inside = ideal::Origin::probed;
    if (!request_.calibrate.empty()) {
      collective::Call call = request_.call.of(0);
      const bool shaped = request_.fabric.has("nodes") || request_.fabric.has("gpus-per-node") ||
                          !request_.fabric.file.empty() || probed.has_value();
      auto calibrated = calibrate_by(request_.calibrate, call, shaped, fabric_);
      if (!calibrated) return trouble(calibrated.error());
      document_.model.calibration = std::move(*calibrated);
      if (auto fits = check_calibrated(); !fits) return trouble(fits.error());
      (fabric_.nodes > 1 ? origins_.between : origins_.inside) = ideal::Origin::measured;
    }
    auto task = task_of(request_, fabric_.nodes * fabric_.ranks_per_node);
    if (!task) return trouble(task.error());
    task_ = std::move(*task);
    if (auto fits = check_ranks(); !fits) return trouble(fits.error());
    options_.seed = request_.drawn_from();
    options_.noise = request_.noise;
    options_.run_noise = request_.run_noise;
    options_.faults = request_.faults.hops;
    collective::seed(options_.faults, options_.seed);
    options_.discipline = request_.sharing;
    options_.method = request_.method;
    document_.simulated = true;
    document_.where = ops::where_of(fabric_);
    fabric_.faults = request_.faults.fabric;
    for (auto& fault : sim::draw_faults(fabric_, options_.seed, request_.fabric.random_faults))
      fabric_.faults.push_back(fault);
    for (const auto& fault : options_.faults) document_.model.faults.push_back(collective::to_text(fault));
    for (const auto& fault : fabric_.faults) document_.model.faults.push_back(sim::to_text(fault));
    for (std::size_t i = 0; i < task_.sizes.size() && !document_.error; ++i) {
      options_.events = request_.call.events && i + 1 == task_.sizes.size();
      const auto done = omnireduce() ? play_omnireduce(task_.sizes[i]) : play(task_.sizes[i]);
      if (!done) return trouble(done.error());
    }
    if (!document_.error && request_.compare) {
      if (auto done = compare(task_.sizes.back()); !done) return trouble(done.error());
    }
    if (request_.fix) {
      if (auto done = fix(task_.sizes.back()); !done) return trouble(done.error());
    }
    if (!document_.error && document_.corrupted)
      document_.notes.push_back("a value was corrupted in transit: the result is wrong");
    return std::move(document_);
  }

 private:
  bool omnireduce() const { return request_.call.algorithm == collective::AlgorithmId::omnireduce; }

  // What the run says itself.
  Result<void> check_calibrated() const {
    const FabricRequest& given = request_.fabric;
    std::string flag;
    for (const char* name : fabric_.nodes == 1
                                ? std::vector<const char*>{"intra", "intra-latency"}
                                : std::vector<const char*>{"inter", "nic", "latency", "overhead"})
      if (flag.empty() && given.has(name)) flag = std::string("--") + name;
    if (flag.empty() && fabric_.nodes > 1 && setup_.link_rate_named()) flag = "--link-rate";
    if (flag.empty()) return {};
    return fail(Cause::bad_input, flag + " does nothing in simulate --calibrate", {},
                "leave it out: the run says it");
  }

  // What can be told once the ranks are counted.
  Result<void> check_ranks() const {
    const int ranks = fabric_.nodes * fabric_.ranks_per_node;
    if (auto moves = check_shift(request_.call.shift, ranks); !moves) return moves;
    const bool counted = request_.fabric.has("nodes") || request_.fabric.has("gpus-per-node");
    if (!task_.bitmaps || !counted || int(task_.bitmaps->size()) == ranks) return {};
    return fail(Cause::bad_input,
                fmt::format("{} has {}, --nodes and --gpus-per-node make {}", request_.bitmaps,
                            plural(task_.bitmaps->size(), "row"), plural(ranks, "worker")),
                {}, "leave them out: each row is a worker");
  }

  collective::Call call_of(std::uint64_t bytes) const {
    collective::Call call = request_.call.of(bytes);
    if (task_.input) {
      call.type = task_.input->type;
      call.elements = task_.input->elements;
    }
    if (request_.call.algorithm == collective::AlgorithmId::barrier) call.elements = 0;
    return call;
  }

  Result<void> play(std::uint64_t bytes) {
    run::Job job;
    job.call = call_of(bytes);
    if (request_.call.algorithm) {
      job.algorithm = *request_.call.algorithm;
    } else {
      collective::Costs costs{fabric_.intra, fabric_.inter, false};
      costs.inter.rate = costs.inter.rate * double(fabric_.rails);
      document_.choices.push_back({job.call.bytes(), collective::choose(fabric_.layout(), job.call, costs)});
      job.algorithm = document_.choices.back().made.algorithm->id;
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
    auto plan = plan_omnireduce(what, request_.omni);
    if (!plan) return tl::unexpected(plan.error());
    if (request_.even) distribute_evenly(*plan, request_.omni.density.value_or(1));
    if (!task_.note.empty()) plan->notes.insert(plan->notes.begin(), task_.note);
    for (const std::string& note : plan->notes) {
      if (std::find(document_.notes.begin(), document_.notes.end(), note) == document_.notes.end())
        document_.notes.push_back(note);
    }
    sim::SimOptions options = options_;
    options.rounds = true;
    options.has_block = plan->has_block;
    options.values = plan->values;
    auto played = simulated(plan->job, plan->fabric, options);
    if (!played) return tl::unexpected(played.error());
    document_.where = where_of(*plan);
    RunResult result = result_of(plan->job, *played);
    add_omni(result, *plan, *played, played->error ? std::nullopt : ring_beside(plan->job.call));
    keep(plan->job, std::move(result), *played);
    return {};
  }

  Result<sim::SimReport> simulated(const run::Job& job, const sim::Fabric& fabric,
                                   const sim::SimOptions& options) {
    control_.tell(progress::Call{job.algorithm, job.call.bytes()});
    auto played = sim::simulate(simulated_algorithm(job.algorithm), job.call, fabric, options);
    if (played && document_.model.method.empty()) {
      document_.model.method = name(played->method);
      document_.model.sharing = name(played->discipline);
    }
    return played;
  }

  // The last size once more, by another algorithm or on another fabric. Unknown where it does not end.
  Result<std::optional<double>> again(collective::AlgorithmId algorithm, std::uint64_t bytes,
                                      const sim::Fabric& fabric) {
    run::Job job;
    job.algorithm = algorithm;
    job.call = call_of(bytes);
    sim::SimOptions options = options_;
    options.events = false;
    auto played = simulated(job, fabric, options);
    if (!played) return tl::unexpected(played.error());
    return played->error ? std::nullopt : std::optional(played->time.value);
  }

  Result<void> compare(std::uint64_t bytes) {
    const collective::AlgorithmId second = **request_.compare;
    auto other = again(second, bytes, fabric_);
    if (!other) return tl::unexpected(other.error());
    const RunResult& result = document_.results.back();
    if (!*other || **other <= 0 || !result.time_s) return {};
    Comparison out{key_of(second), **other, result.time_s->median / **other, std::nullopt};
    using collective::AlgorithmId;
    const AlgorithmId first = result.algorithm;
    const bool rings = (first == AlgorithmId::ring && second == AlgorithmId::double_tree) ||
                       (first == AlgorithmId::double_tree && second == AlgorithmId::ring);
    if (rings && fabric_.nodes > 1) out.published = published_ring_over_tree;
    document_.model.comparison = std::move(out);
    return {};
  }

  // The last size on a fabric without the faults at a place.
  Result<void> fix(std::uint64_t bytes) {
    sim::Fabric whole = fabric_;
    std::erase_if(whole.faults,
                  [&](const sim::FabricFault& fault) { return sim::contains(*request_.fix, fault.place); });
    Fix out;
    out.place = sim::to_text(*request_.fix);
    for (const sim::FabricFault& fault : fabric_.faults) {
      if (sim::contains(*request_.fix, fault.place)) out.faults.push_back(sim::to_text(fault));
    }
    if (out.faults.empty()) {
      return fail(Cause::bad_input, fmt::format("no fault is at {}", out.place), "--fix",
                  fmt::format("faults: {}", fmt::join(document_.model.faults, "; ")));
    }
    const RunResult& result = document_.results.back();
    auto time = again(result.algorithm, bytes, whole);
    if (!time) return tl::unexpected(time.error());
    if (result.time_s) out.time_s = result.time_s->median;
    out.fixed_time_s = *time;
    if (out.time_s && *time && **time > 0) out.gain = *out.time_s / **time - 1;
    document_.model.fix = std::move(out);
    return {};
  }

  // The dense ring on the workers' nodes, which an omnireduce is held against.
  std::optional<RunResult> ring_beside(const collective::Call& call) {
    if (request_.omni.no_ring || task_.bitmaps || call.omni.workers < 2 || call.elements == 0)
      return std::nullopt;
    sim::SimOptions options = options_;
    options.events = false;
    // Faults of packets and of aggregators do not apply to the ring.
    std::erase_if(options.faults, [&](const collective::Fault& fault) {
      return fault.unreliable() || fault.source.value_or(0) >= call.omni.workers ||
             fault.destination.value_or(0) >= call.omni.workers;
    });
    run::Job job;
    job.algorithm = collective::AlgorithmId::ring;
    job.call = call;
    job.call.omni = {};
    job.seats.resize(std::size_t(call.omni.workers));
    const auto played = simulated(job, fabric_, options);
    if (!played || played->error) return std::nullopt;
    return result_of(job, *played);
  }

  RunResult result_of(const run::Job& job, const sim::SimReport& played) const {
    RunResult result;
    result.algorithm = job.algorithm;
    set_call(result, job);
    result.iterations = 1;
    if (!played.error) {
      result.time_s = Spread{played.time.value, played.time.value, played.time.value};
    }
    result.messages = played.messages;
    result.bytes_sent = played.bytes_sent;
    add_rates(result, inputs_of(fabric_, origins_));
    return result;
  }

  void keep(const run::Job& job, RunResult result, sim::SimReport& played) {
    document_.results.push_back(std::move(result));
    set_hops(job, std::move(played.trace.hops), document_);
    document_.events = std::move(played.trace.events);
    document_.corrupted = document_.corrupted || played.corrupted > 0;
    if (played.error) document_.error = Trouble{*played.error, {}};
  }

  const SimulateRequest& request_;
  const Setup& setup_;
  const Control& control_;
  SimulateTask task_;
  sim::Fabric fabric_;
  Origins origins_;
  sim::SimOptions options_;
  RunDocument document_;
};
}  // namespace

Outcome<RunDocument> simulate(const SimulateRequest& request, const Control& control) {
  return Simulation(request, control)();
}

}  // namespace ringtrue::ops
