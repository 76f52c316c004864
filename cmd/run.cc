#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "cmd/auto_choice.h"
#include "cmd/calls.h"
#include "cmd/command.h"
#include "cmd/gpu_facts.h"
#include "cmd/gpu_flags.h"
#include "cmd/input_file.h"
#include "cmd/interrupt.h"
#include "cmd/measurements.h"
#include "cmd/omni_flags.h"
#include "cmd/omni_results.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/player.h"
#include "cmd/progress.h"
#include "cmd/unheeded.h"
#include "cmd/verbs_flags.h"
#include "collective/fault.h"
#include "diagnosis/counters.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

constexpr int most_ring_iterations = 3;

struct Flags {
  CallFlags call;
  OmniFlags omni;
  VerbsFlags verbs;
  GpuFlags gpus;
  PlayerOptions player;
  int iterations = 5, warmup = 1;
  bool unchecked = false;
  long seed = 1;
  std::string reference;
};

// A whole command: the sizes one after the other, on one player.
class Run {
 public:
  Run(Context& context, const Flags& flags) : context_(context), flags_(flags) {}

  int operator()() {
    if (auto fits = check(); !fits) return failed(context_, fits.error());
    if (auto read = read_input(); !read) return failed(context_, read.error());
    auto verbs = verbs_settings(context_, flags_.verbs);
    if (!verbs) return failed(context_, verbs.error());
    verbs_ = std::move(*verbs);
    auto sizes = sizes_of_calls();
    if (!sizes) return failed(context_, sizes.error());
    PlayerOptions options = flags_.player;
    if (omnireduce()) {
      options.aggregators = {flags_.omni.aggregators, flags_.omni.aggregator_hosts,
                             flags_.omni.placement == Placement::dedicated};
    }
    auto player = make_player(context_, options);
    if (!player) return failed(context_, player.error());
    player_ = std::move(*player);
    if (auto rows = check_rows(); !rows) return failed(context_, rows.error());
    if (auto moves = check_shift(flags_.call.shift, player_->job().ranks()); !moves)
      return failed(context_, moves.error());

    const auto faults = collective::parse_faults(flags_.call.fault);
    const int ranks = player_->job().ranks() + player_->aggregators();
    if (auto strike = collective::check_ranks(faults ? *faults : std::vector<collective::Fault>(), ranks);
        !strike)
      return failed(context_, strike.error());

    document_.where = player_->where();
    document_.nodes = player_->nodes();
    document_.deadlines = deadlines_of(context_);
    if (player_->local() && context_.common.link_rate)
      note("no ideal by --link-rate: no link lies between ranks of one machine");
    for (std::size_t i = 0; i < sizes->size() && !document_.error; ++i) {
      position_ = fmt::format("({} of {} sizes)", i + 1, sizes->size());
      if (auto done = play((*sizes)[i], i + 1 == sizes->size()); !done) document_.error = done.error();
    }
    if (document_.error && sizes->size() > 1 && (interrupted() || !document_.results.empty()))
      note(fmt::format("partial: {} of {} sizes are complete", document_.results.size(), sizes->size()));
    player_.reset();  // releases the nodes before anything is printed
    if (document_.error) complain(document_.error->error);
    const int code = wrong_ ? Exit::faulty : document_.error ? Exit::unknown : Exit::healthy;
    return print(context_.common.json ? report::json(document_) : report::text(document_, context_.style),
                 code);
  }

 private:
  bool omnireduce() const { return flags_.call.algorithm == "omnireduce"; }
  bool datagrams() const { return context_.config.transport.value == "udp"; }
  Placement placement() const { return player_->dedicated() ? Placement::dedicated : Placement::colocated; }
  std::optional<BytesPerSecond> link_rate() const {
    return player_->local() ? std::nullopt : context_.config.link_rate.value;
  }

  Result<void> check() const {
    if (auto known = flags_.call.check_algorithm(); !known) return known;
    if (auto fits = flags_.call.check_shift(); !fits) return fits;
    auto heeded = refuse("run", {{flags_.call.events && !context_.common.json, "--events",
                                  "add --json, which they are shown in"}});
    if (!heeded) return heeded;
    if (auto fits = flags_.omni.check(flags_.call.algorithm); !fits) return fits;
    if (auto fits = check_memory(context_, flags_.gpus); !fits) return fits;
    if (!flags_.reference.empty() && memory_of(context_) != engine::Memory::device)
      return fail(Cause::bad_input, "--reference is about data on GPUs, and this is in host memory", {},
                  "add --memory device");
    if (datagrams() && !omnireduce()) {
      return fail(Cause::bad_input, "udp carries omnireduce alone", {}, "leave --transport out, or use tcp");
    }
    if (!datagrams()) {
      const auto faults = collective::parse_faults(flags_.call.fault);
      for (const collective::Fault& fault : faults ? *faults : std::vector<collective::Fault>{}) {
        if (!fault.unreliable()) continue;
        return fail(Cause::bad_input,
                    fmt::format("{} needs a transport that may lose packets", name(fault.kind)), {},
                    "use --transport udp, or simulate");
      }
    }
    return {};
  }

  Result<void> read_input() {
    if (flags_.omni.input.empty()) return {};
    const auto workers = context_.common.local ? std::optional<int>(int(*context_.common.local))
                                               : std::nullopt;  // of hosts, known once they are
    const int known = workers ? *workers : expected_workers();
    auto input = input_of(flags_.omni.input, known, flags_.call.type_given);
    if (!input) return tl::unexpected(input.error());
    input_ = std::move(input->input);
    note(std::move(input->note));
    return {};
  }

  int expected_workers() const {
    const auto targets = targets_of(context_);
    return targets ? int(targets->size()) * context_.common.ranks_per_node : 0;
  }

  Result<std::vector<std::uint64_t>> sizes_of_calls() const {
    if (!input_) return flags_.call.sizes();
    if (flags_.call.size || flags_.call.from || flags_.call.to) {
      return fail(Cause::bad_input, "--input and --size, --from, --to exclude each other", {},
                  "the file says how much there is");
    }
    return std::vector<std::uint64_t>{input_->elements * size_of(input_->type)};
  }

  Result<void> check_rows() const {
    const int workers = player_->job().ranks();
    if (!input_ || input_->rows.size() == 1 || int(input_->rows.size()) == workers) return {};
    return fail(Cause::bad_input, fmt::format("{} has {} for {}", flags_.omni.input,
                                              plural(input_->rows.size(), "row"), plural(workers, "worker")));
  }

  // The job but for its algorithm's own: roles, shape.
  engine::Job job_of(std::uint64_t bytes) const {
    engine::Job job = player_->job();
    job.algorithm = flags_.call.algorithm;
    job.call = flags_.call.of(bytes);
    if (input_) {
      job.call.type = input_->type;
      job.call.elements = input_->elements;
      job.input = input_;
    }
    job.transport = context_.config.transport.value;
    job.verbs = verbs_;
    job.memory = memory_of(context_);
    job.gpus = flags_.gpus.gpus;
    job.share_gpus = flags_.gpus.share;
    job.reference = flags_.reference;
    job.iterations = flags_.iterations;
    job.warmup = flags_.warmup;
    job.check = !flags_.unchecked;
    job.fault = flags_.call.fault;
    job.seed = std::uint64_t(flags_.seed);
    job.mtu = flags_.omni.mtu.value_or(job.mtu);
    job.sparsity = sparsity_of(flags_.omni, job.sparsity.block);
    return job;
  }

  Played<void> shape(engine::Job& job) {
    player_->add_aggregators(job);
    OmniWorld world;
    world.workers = job.call.omni.workers;
    world.aggregators = job.call.omni.aggregators;
    world.link_rate = link_rate();
    world.density = flags_.omni.united_density(world.workers);
    world.datagrams = datagrams();
    world.mtu = job.mtu;
    auto choice = omni_of(flags_.omni, job.call, world);
    if (!choice) return tl::unexpected(report::Trouble{choice.error(), {}});
    job.call.omni = choice->omni;
    job.sparsity = sparsity_of(flags_.omni, choice->omni.block);
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
  static std::string meaning_of_zeros(const engine::Job& job) {
    using collective::Operation;
    const Operation op = job.call.operation;
    if (op == Operation::min || op == Operation::max || op == Operation::prod) {
      return fmt::format("{}: a block that a worker does not send is zeros, and takes part as such",
                         name(op));
    }
    const std::uint64_t negative = job.input ? negative_zeros(*job.input) : 0;
    if (negative == 0) return {};
    return fmt::format("{} -0.0, which is zero in value: that alone makes no block worth sending",
                       plural(negative, "value is", "values are"));
  }

  Played<void> choose(engine::Job& job) {
    show_progress("measuring a hop, to choose an algorithm");
    if (!costs_) {
      auto measured = measure_costs(*player_, job);
      if (!measured) return tl::unexpected(measured.error());
      costs_ = *measured;
    }
    auto choice = settle(*player_, job, choice_of(job.layout(), job.call, *costs_));
    if (!choice) return tl::unexpected(choice.error());
    document_.choices.push_back(std::move(*choice));
    job.algorithm = document_.choices.back().algorithm;
    return {};
  }

  ideal::Inputs ideals(const engine::RunReport& report) {
    ideal::Inputs inputs = ideal_inputs(player_->local() ? 1 : player_->worker_nodes(),
                                        player_->ranks_per_node(), link_rate(), efficiency_of(report));
    std::vector<std::string> lines;
    links_.add(context_, *player_, report, inputs, lines);
    for (std::string& line : lines) note(std::move(line));
    return inputs;
  }

  Played<void> play(std::uint64_t bytes, bool last) {
    engine::Job job = job_of(bytes);
    job.events = flags_.call.events && last;
    if (omnireduce()) {
      if (auto done = shape(job); !done) return done;
    } else if (job.algorithm == "auto") {
      if (auto done = choose(job); !done) return done;
    }
    show_progress(fmt::format("{} of {} bytes {}", job.algorithm, job.call.bytes(), position_));
    auto report = player_->play(job);
    if (!report) return tl::unexpected(report.error());
    const ideal::Inputs inputs = ideals(*report);
    document_.results.push_back(result_of(job, *report, inputs));
    document_.hops = hops_of(job, report->trace);
    document_.rdma = rdma_of(*report);
    document_.gpus = gpus_of(*report);
    if (report->reference) {
      document_.references.push_back(reference_of(job, *report->reference));
      wrong_ = wrong_ || report->reference->wrong > 0;
    }
    diagnosis::add(report->counters, document_.counters);
    document_.events = std::move(report->trace.events);
    wrong_ = wrong_ || document_.results.back().wrong.value_or(0) > 0;
    for (const std::string& line : report->notes) note(line);
    if (last && document_.rdma.empty()) note(unused(flags_.verbs));
    note(note_on_reference(*report));
    if (!omnireduce()) return {};

    report::RunResult& result = document_.results.back();
    add_roles(document_.hops, job.workers());
    // The model knows one port a worker.
    auto rate = player_->ranks_per_node() == 1 ? link_rate() : std::nullopt;
    std::optional<double> efficiency;
    if (inputs.inter_efficiency) efficiency = inputs.inter_efficiency->share;
    if (rate && efficiency) *rate = *rate * *efficiency;
    const collective::Densities densities = densities_of(job, job.call.omni.block);
    std::optional<report::OmniModel> model;
    if (rate && job.call.bytes() > 0) model = omni_model(job.call, densities, placement(), *rate);
    result.omni = omni_result(job, *report, placement(), densities, std::move(model));
    add_omni_rates(result, efficiency);
    return flags_.omni.no_ring ? Played<void>() : play_ring(job);
  }

  // Our own ring over the workers, on the data that the omnireduce had.
  Played<void> play_ring(const engine::Job& omni) {
    engine::Job job = player_->job();
    job.algorithm = "ring";
    job.call = omni.call;
    job.call.omni = {};
    job.transport = datagrams() ? "tcp" : omni.transport;
    job.verbs = omni.verbs;
    job.memory = omni.memory;
    job.gpus = omni.gpus;
    job.share_gpus = omni.share_gpus;
    job.iterations = std::min(omni.iterations, most_ring_iterations);
    job.warmup = std::min(omni.warmup, 1);
    job.check = omni.check;
    job.seed = omni.seed;
    job.sparsity = omni.sparsity;
    job.input = omni.input;
    job.fault = reliable_faults(omni.fault, job.ranks());
    show_progress(fmt::format("ring on the same data {}", position_));
    auto report = player_->play(job);
    if (!report) return tl::unexpected(report.error());
    diagnosis::add(report->counters, document_.counters);
    for (const std::string& line : report->notes) note(line);
    document_.rings.push_back(result_of(job, *report, ideals(*report)));
    add_ring(document_.results.back(), document_.rings.back());
    wrong_ = wrong_ || document_.rings.back().wrong.value_or(0) > 0;
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

  Context& context_;
  const Flags& flags_;
  std::unique_ptr<Player> player_;
  std::shared_ptr<const engine::Input> input_;
  transport::verbs::Settings verbs_;
  report::RunDocument document_;
  std::optional<collective::Costs> costs_;  // of a hop, for auto
  GpuLinks links_;                          // between the GPUs that it is on
  std::string position_;
  bool wrong_ = false;
};

}  // namespace

void add_run(Commands& commands) {
  const Command app =
      commands.add("run", "One collective over a range of sizes: nccl-tests' columns, and % of ideal");
  static Flags flags;
  add_call_flags(commands, app, flags.call);
  add_omni_flags(commands, app, flags.omni);
  add_verbs_flags(commands, app, flags.verbs);
  add_gpu_flags(app, flags.gpus);
  commands.choices(add_parsed(
                       app, "--reference", flags.reference,
                       [](std::string_view text) -> Result<std::string> {
                         if (text == "nccl") return std::string(text);
                         return fail(Cause::bad_input,
                                     fmt::format("unknown library '{}'", text.substr(0, 40)), {}, "use nccl");
                       },
                       "NAME", "nccl: its allreduce as well, on the same buffers (--memory device)"),
                   {"nccl"});
  add_whole(app, "--iterations", flags.iterations, 1, 1000000, "timed samples");
  add_whole(app, "--warmup", flags.warmup, 0, 1000000, "untimed calls before them");
  add_whole(app, "--processes", flags.player.processes, 1, 128,
            "worker processes that a node's ranks are spread over");
  add_whole(app, "--seed", flags.seed, 0, 1L << 62, "of the values");
  app.add_flag("--no-check", flags.unchecked, "do not compare the results");
  add_parsed(app, "--pause", flags.player.pause, parse_pause, "PHASE=TIME", "wait before a phase (for tests)")
      .group("");
  app.footer(
      "Exit code 2 where a result was wrong.\n"
      "Example: ringtrue run ring --local 8 --from 1K --to 64M --factor 4");
  commands.on(app, [](Context& context) { return Run(context, flags)(); });
}

}  // namespace ringtrue::cmd
