#include "operator/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "collective/fault.h"
#include "diagnosis/counters.h"
#include "operator/auto_choice.h"
#include "operator/carrier.h"
#include "operator/facts.h"
#include "operator/input_file.h"
#include "operator/measurements.h"
#include "operator/omni_format.h"
#include "operator/rdma_settings.h"
#include "operator/reach.h"
#include "operator/runner.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::ops {
namespace {

constexpr int max_ring_iterations = 3;

// Errors (bad_input): GPUs or a transport that are about GPU memory where the data is in the host's.
Result<void> check_memory(const Setup& setup, const GpuRequest& request) {
  if (setup.config.memory.value == run::Memory::device) return {};
  const char* const what = setup.config.transport.value == run::Transport::cuda ? "--transport cuda"
                           : !request.gpus.empty()                              ? "--gpus"
                           : request.share                                      ? "--share-gpus"
                                                                                : nullptr;
  if (!what) return {};
  return fail(Cause::bad_input, fmt::format("{} is about data on GPUs, and this is in host memory", what), {},
              "add --memory device");
}

// The whole of it: the sizes one after the other, on one player.
class Run {
 public:
  Run(const RunRequest& request, const Control& control)
      : request_(request), setup_(request.setup), control_(control) {}

  Outcome<RunDocument> operator()() {
    if (auto fits = check(); !fits) return trouble(fits.error());
    if (auto settings = rdma_settings(setup_); settings)
      rdma_ = *settings;
    else
      return trouble(settings.error());
    if (auto read = read_input(); !read) return trouble(read.error());
    auto sizes = sizes_of_calls();
    if (!sizes) return trouble(sizes.error());
    RunnerOptions options;
    options.processes = request_.processes;
    if (omnireduce()) {
      options.aggregators = {request_.omni.aggregators, request_.omni.aggregator_hosts,
                             request_.omni.placement == Placement::dedicated};
    }
    auto runner = make_runner(setup_, options, control_);
    if (!runner) return tl::unexpected(runner.error());
    runner_ = std::move(*runner);
    if (auto rows = check_rows(); !rows) return trouble(rows.error());
    if (auto moves = check_shift(request_.call.shift, runner_->job().ranks()); !moves)
      return trouble(moves.error());

    const auto faults = collective::parse_faults(request_.call.fault);
    const int ranks = runner_->job().ranks() + runner_->place().aggregators;
    if (auto fits = collective::check_ranks(faults ? *faults : std::vector<collective::Fault>(), ranks);
        !fits)
      return trouble(fits.error());

    document_.where = runner_->place().text;
    document_.nodes = runner_->place().nodes;
    document_.deadlines = setup_.deadlines();
    if (runner_->place().local && setup_.link_rate_named())
      note("--link-rate gives no ideal: there is no link between ranks of one machine");
    if (!link_rate() && runner_->place().worker_nodes > 1 && setup_.config.memory.value == run::Memory::host)
      note("no ideal: the rate between the nodes is not declared; give --link-rate");
    for (std::size_t i = 0; i < sizes->size() && !document_.error; ++i) {
      number_ = i + 1;
      of_ = sizes->size();
      if (auto done = play((*sizes)[i], i + 1 == sizes->size()); !done)
        document_.error = with_time_named(std::move(done.error()), (*sizes)[i]);
      else if (request_.on_row)
        request_.on_row(document_);
    }
    if (document_.error && sizes->size() > 1 && (control_.stopped() || !document_.results.empty()))
      note(fmt::format("partial: {} of {} sizes are complete", document_.results.size(), sizes->size()));
    runner_.reset();  // releases the nodes before anything is printed
    return std::move(document_);
  }

 private:
  bool omnireduce() const { return request_.call.algorithm == collective::AlgorithmId::omnireduce; }
  bool datagrams() const { return setup_.config.transport.value == run::Transport::udp; }
  Placement placement() const {
    return runner_->place().dedicated ? Placement::dedicated : Placement::colocated;
  }
  std::optional<BytesPerSecond> link_rate() const {
    return runner_->place().local ? std::nullopt : setup_.config.link_rate.value;
  }

  Result<void> check() const {
    if (auto fits = request_.call.check_shift(); !fits) return fits;
    if (auto fits = request_.omni.check(request_.call.algorithm); !fits) return fits;
    if (auto fits = check_memory(setup_, request_.gpus); !fits) return fits;
    if (!request_.reference.empty() && setup_.config.memory.value != run::Memory::device)
      return fail(Cause::bad_input, "--reference is about data on GPUs, and this is in host memory", {},
                  "add --memory device");
    if (datagrams() && !omnireduce()) {
      return fail(Cause::bad_input, "udp is for omnireduce only", {}, "leave --transport out, or use tcp");
    }
    if (!datagrams()) {
      const auto faults = collective::parse_faults(request_.call.fault);
      for (const collective::Fault& fault : faults ? *faults : std::vector<collective::Fault>{}) {
        if (!fault.unreliable()) continue;
        return fail(Cause::bad_input,
                    fmt::format("{} needs a transport that may lose packets", key_of(fault.kind)), {},
                    "use --transport udp, or simulate");
      }
    }
    return {};
  }

  Result<void> read_input() {
    if (request_.omni.input.empty()) return {};
    const int known = setup_.local ? *setup_.local : expected_workers();  // of hosts, known once they are
    auto input = input_of(request_.omni.input, known, request_.call.type_given);
    if (!input) return tl::unexpected(input.error());
    input_ = std::move(input->input);
    note(std::move(input->note));
    return {};
  }

  int expected_workers() const {
    const auto targets = targets_of(setup_);
    return targets ? int(targets->size()) * setup_.ranks_per_node : 0;
  }

  Result<std::vector<std::uint64_t>> sizes_of_calls() const {
    if (!input_) return request_.call.sizes();
    if (request_.call.size || request_.call.from || request_.call.to) {
      return fail(Cause::bad_input, "--input and --size, --from, --to exclude each other", {},
                  "the file says how much there is");
    }
    return std::vector<std::uint64_t>{input_->elements * size_of(input_->type)};
  }

  Result<void> check_rows() const {
    const int workers = runner_->job().ranks();
    if (!input_ || input_->rows.size() == 1 || int(input_->rows.size()) == workers) return {};
    return fail(Cause::bad_input, fmt::format("{} has {} for {}", request_.omni.input,
                                              plural(input_->rows.size(), "row"), plural(workers, "worker")));
  }

  // The job but for its algorithm's own: roles, shape.
  run::Job job_of(std::uint64_t bytes) const {
    run::Job job = runner_->job();
    if (request_.call.algorithm) job.algorithm = *request_.call.algorithm;
    job.call = request_.call.of(bytes);
    if (input_) {
      job.call.type = input_->type;
      job.call.elements = input_->elements;
      job.input = input_;
    }
    job.transport = setup_.config.transport.value;
    job.verbs = rdma_;
    job.memory = setup_.config.memory.value;
    job.gpus = request_.gpus.gpus;
    job.share_gpus = request_.gpus.share;
    job.reference = request_.reference;
    job.iterations = request_.iterations;
    job.warmup = request_.warmup;
    job.check = !request_.unchecked;
    job.fault = request_.call.fault;
    job.seed = std::uint64_t(request_.seed);
    job.mtu = request_.omni.mtu.value_or(job.mtu);
    job.sparsity = sparsity_of(request_.omni, job.sparsity.block);
    return job;
  }

  Outcome<void> shape(run::Job& job) {
    runner_->add_aggregators(job);
    auto format = format_of(request_.omni, job, placement());
    if (!format) return trouble(format.error());
    format_ = std::move(*format);
    OmniWorld world;
    world.key_bytes = format_.key_bytes;
    world.workers = job.call.omni.workers;
    world.aggregators = job.call.omni.aggregators;
    world.link_rate = link_rate();
    world.density = request_.omni.united_density(world.workers);
    world.datagrams = datagrams();
    world.mtu = job.mtu;
    auto choice = omni_of(request_.omni, job.call, world);
    if (!choice) return trouble(choice.error());
    job.call.omni = choice->omni;
    job.sparsity = sparsity_of(request_.omni, choice->omni.block);
    note(choice->note);
    note(meaning_of_zeros(job));
    return {};
  }

  void note(std::string line) {
    auto& notes = document_.notes;
    if (!line.empty() && std::find(notes.begin(), notes.end(), line) == notes.end())
      notes.push_back(std::move(line));
  }

  // What a block means that is not sent, where that is not plain.
  static std::string meaning_of_zeros(const run::Job& job) {
    using collective::Operation;
    const Operation op = job.call.operation;
    if (op == Operation::min || op == Operation::max || op == Operation::prod) {
      return fmt::format("{}: {} that a worker does not send count as zeros", key_of(op),
                         job.call.omni.pairs > 0 ? "values" : "blocks");
    }
    const std::uint64_t negative = job.input ? negative_zeros(*job.input) : 0;
    if (negative == 0) return {};
    return fmt::format("{} -0.0, which counts as zero: {} not sent",
                       plural(negative, "value is", "values are"),
                       job.call.omni.pairs > 0 ? "they are" : "blocks of nothing else are");
  }

  Outcome<void> choose(run::Job& job) {
    control_.tell(progress::Step{"measuring a hop, to choose an algorithm"});
    if (!costs_) {
      auto measured = measure_costs(*runner_, job);
      if (!measured) return tl::unexpected(measured.error());
      costs_ = *measured;
    }
    auto choice = settle(*runner_, job, collective::choose(job.layout(), job.call, *costs_));
    if (!choice) return tl::unexpected(choice.error());
    job.algorithm = choice->algorithm->id;
    document_.choices.push_back({job.call.bytes(), std::move(*choice)});
    return {};
  }

  ideal::Inputs ideals(const run::RunReport& report) {
    ideal::Inputs inputs = ideal_inputs(runner_->place().local ? 1 : runner_->place().worker_nodes,
                                        runner_->place().ranks_per_node, link_rate(), efficiency_of(report));
    std::vector<std::string> lines;
    links_.add(setup_, *runner_, control_, report, inputs, lines);
    for (std::string& line : lines) note(std::move(line));
    return inputs;
  }

  Outcome<void> play(std::uint64_t bytes, bool last) {
    run::Job job = job_of(bytes);
    job.events = request_.call.events && last;
    if (omnireduce()) {
      if (auto done = shape(job); !done) return done;
    }
    if (number_ == 1)
      if (auto done = reach(job); !done) return done;
    if (!omnireduce() && !request_.call.algorithm) {
      if (auto done = choose(job); !done) return done;
    }
    control_.tell(progress::Call{job.algorithm, job.call.bytes(), number_, of_});
    auto report = runner_->play(job);
    if (!report) return tl::unexpected(report.error());
    const ideal::Inputs inputs = ideals(*report);
    document_.results.push_back(result_of(job, *report, inputs));
    set_hops(job, report->trace.hops, document_);
    document_.rdma = rdma_of(*report);
    if (!document_.rdma.empty()) document_.networks.clear();
    for (std::string& line : notes_on(document_.networks)) note(std::move(line));
    document_.gpus = report->gpus;
    if (report->reference) {
      document_.references.push_back(reference_of(job, *report->reference));
    }
    diagnosis::add(report->counters, document_.counters);
    document_.events = std::move(report->trace.events);
    for (const std::string& line : report->notes) note(line);
    if (last && document_.rdma.empty()) note(unused_rdma(setup_));
    note(note_on_reference(*report));
    if (!omnireduce()) return {};

    RunResult& result = document_.results.back();
    // The model knows one port a worker.
    auto rate = runner_->place().ranks_per_node == 1 ? link_rate() : std::nullopt;
    std::optional<double> efficiency;
    if (inputs.inter_efficiency) efficiency = inputs.inter_efficiency->share;
    if (rate && efficiency) *rate = *rate * *efficiency;
    const collective::Densities densities = densities_of(job, job.call.omni.block);
    std::optional<OmniModel> model;
    if (rate && job.call.bytes() > 0)
      model = omni_model(job.call, sent_shares(job.call, densities, format_), placement(), *rate);
    result.omni = omni_result(job, placement(), densities, std::move(model));
    set_format(*result.omni, format_);
    add_run(*result.omni, job, *report);
    add_omni_rates(result, efficiency);
    return request_.omni.no_ring ? Outcome<void>() : play_ring(job);
  }

  // Where all ranks were at work until the time for a run was over, nobody is to blame for it but the time.
  Trouble with_time_named(Trouble trouble, std::uint64_t bytes) const {
    const auto late = [](const Failure& f) {
      return f.error.cause == Cause::deadline && f.phase == Phase::run;
    };
    const auto& all = trouble.failures;
    const auto nodes = std::size_t(runner_->place().worker_nodes);
    const bool alike = all.size() >= 2 && 2 * all.size() > nodes && std::all_of(all.begin(), all.end(), late);
    const auto culprits = std::count_if(all.begin(), all.end(), [](const Failure& f) { return f.culprit; });
    if (!alike || (culprits > 0 && 2 * std::size_t(culprits) <= all.size())) return trouble;
    const Seconds limit = setup_.config.run_deadline.value;
    const int calls = request_.iterations + request_.warmup;
    trouble.error = {Cause::deadline,
                     fmt::format("{} and {} of {} did not fit into the {} that one run may take",
                                 plural(request_.iterations, "sample"), plural(request_.warmup, "warm-up"),
                                 plural(bytes, "byte"), to_text(limit)),
                     Subject("", Phase::run),
                     "raise --deadline, or give fewer --iterations or a smaller size"};
    if (!document_.results.empty() && document_.results.back().time_s && document_.results.back().bytes > 0) {
      const RunResult& last = document_.results.back();
      const double each = last.time_s->median * last.batch * double(bytes) / double(last.bytes);
      trouble.error.what +=
          fmt::format("; by the size before it takes about {}", to_text(Seconds(each * calls)));
    }
    trouble.failures.clear();
    return trouble;
  }

  // Before anything else: whether they can be connected at all, and over what.
  Outcome<void> reach(run::Job job) {
    constexpr collective::Rank most_for_all_pairs = 32;
    if (!omnireduce()) {
      if (!request_.call.algorithm)
        job.algorithm = job.ranks() > most_for_all_pairs ? collective::AlgorithmId::ring
                                                         : collective::AlgorithmId::one_shot;
      job.call.elements = std::min<std::uint64_t>(job.call.elements, std::uint64_t(job.ranks()));
    }
    auto networks = need_all(*runner_, job);
    if (!networks) return tl::unexpected(std::move(networks.error()));
    document_.networks = std::move(*networks);
    return {};
  }

  // Our own ring over the workers, on the data that the omnireduce had.
  Outcome<void> play_ring(const run::Job& omni) {
    run::Job job = omni;
    job.seats = runner_->job().seats;
    job.algorithm = collective::AlgorithmId::ring;
    job.call.omni = {};
    if (datagrams()) job.transport = run::Transport::tcp;
    job.iterations = std::min(omni.iterations, max_ring_iterations);
    job.warmup = std::min(omni.warmup, 1);
    job.events = false;
    job.reference.clear();
    job.fault = reliable_faults(omni.fault, job.ranks());
    control_.tell(progress::Call{collective::AlgorithmId::ring, job.call.bytes(), number_, of_, true});
    auto report = runner_->play(job);
    if (!report) return tl::unexpected(report.error());
    diagnosis::add(report->counters, document_.counters);
    for (const std::string& line : report->notes) note(line);
    document_.rings.push_back(result_of(job, *report, ideals(*report)));
    add_ring(document_.results.back(), document_.rings.back());
    return {};
  }

  // Those that the ring's transport and its ranks know.
  static std::string reliable_faults(const std::string& script, collective::Rank ranks) {
    std::string out;
    const auto faults = collective::parse_faults(script);
    for (const collective::Fault& fault : faults ? *faults : std::vector<collective::Fault>{}) {
      const bool outside = fault.source.value_or(0) >= ranks || fault.destination.value_or(0) >= ranks;
      if (fault.unreliable() || outside) continue;
      out += (out.empty() ? "" : ";") + collective::to_text(fault);
    }
    return out;
  }

  const RunRequest& request_;
  const Setup& setup_;
  run::RdmaSettings rdma_;
  const Control& control_;
  std::unique_ptr<Runner> runner_;
  std::shared_ptr<const run::Input> input_;
  RunDocument document_;
  std::optional<collective::Costs> costs_;  // of a hop, for auto
  GpuLinks links_;                          // between the GPUs that it is on
  FormatChoice format_;                     // of an omnireduce, at this size
  std::size_t number_ = 0, of_ = 0;         // of the sizes
};

}  // namespace

Outcome<RunDocument> run(const RunRequest& request, const Control& control) {
  return Run(request, control)();
}

}  // namespace ringtrue::ops
