#include "sim/simulate.h"

#include <fmt/format.h>

#include "cmd/auto_choice.h"
#include "cmd/calls.h"
#include "cmd/command.h"
#include "cmd/measurements.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  CallFlags call;
  int nodes = 8, gpus = 1;
  std::optional<BytesPerSecond> inter, intra;
  std::optional<Seconds> latency, intra_latency, overhead;
  double noise = 0;
  long seed = 1;
};

sim::Fabric fabric_of(const Context& context, const Flags& flags) {
  sim::Fabric fabric;
  fabric.nodes = flags.nodes;
  fabric.ranks_per_node = flags.gpus;
  if (context.config.link_rate.value) fabric.inter.rate = *context.config.link_rate.value;
  if (flags.inter) fabric.inter.rate = *flags.inter;
  if (flags.intra) fabric.intra.rate = *flags.intra;
  if (flags.latency) fabric.inter.latency = *flags.latency;
  if (flags.intra_latency) fabric.intra.latency = *flags.intra_latency;
  if (flags.overhead) fabric.inter.overhead = *flags.overhead;
  return fabric;
}

std::string where_of(const sim::Fabric& f) {
  std::string out = fmt::format("{} ranks on {} nodes, {} between nodes after {}", f.nodes * f.ranks_per_node,
                                f.nodes, to_text(f.inter.rate), to_text(f.inter.latency));
  if (f.ranks_per_node > 1) {
    out += fmt::format(", {} inside after {}", to_text(f.intra.rate), to_text(f.intra.latency));
  }
  return out;
}

ideal::Inputs inputs_of(const sim::Fabric& f) {
  ideal::Inputs inputs = ideal_inputs(f.nodes, f.ranks_per_node, std::nullopt, false);
  if (f.nodes > 1) inputs.inter = {f.inter.rate, ideal::Origin::declared};
  if (f.ranks_per_node > 1) inputs.intra = {f.intra.rate, ideal::Origin::declared};
  return inputs;
}

int run(Context& context, const Flags& flags) {
  if (auto known = flags.call.check_algorithm(); !known) return failed(context, known.error());
  auto sizes = flags.call.sizes();
  if (!sizes) return failed(context, sizes.error());
  const sim::Fabric fabric = fabric_of(context, flags);
  const collective::Layout layout = fabric.layout();
  sim::SimOptions options;
  options.seed = std::uint64_t(flags.seed);
  options.noise = flags.noise;
  if (auto faults = collective::parse_faults(flags.call.fault)) options.faults = *faults;

  report::RunDocument document;
  document.simulated = true;
  document.where = where_of(fabric);
  bool corrupted = false;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    engine::Job job;
    job.algorithm = flags.call.algorithm;
    job.call = flags.call.of((*sizes)[i]);
    if (job.algorithm == "auto") {
      const collective::Costs costs{fabric.intra, fabric.inter, false};
      document.choices.push_back(choice_of(layout, job.call, costs));
      job.algorithm = document.choices.back().algorithm;
    }
    for (int node = 0; node < flags.nodes; ++node) {
      job.nodes.push_back(fmt::format("node{}", node));
      for (int local = 0; local < flags.gpus; ++local) job.seats.push_back({node, 0, local});
    }
    show_progress(fmt::format("simulating {} of {} bytes", job.algorithm, job.call.bytes()));
    options.events = flags.call.events && i + 1 == sizes->size();
    auto played = sim::simulate(**collective::find_algorithm(job.algorithm), job.call, fabric, options);
    if (!played) return failed(context, played.error());

    report::RunResult result;
    result.algorithm = job.algorithm;
    result.transport = "model";
    result.ranks = job.ranks();
    result.bytes = job.call.bytes();
    result.count = job.call.elements;
    result.type = name(job.call.type);
    result.op = name(job.call.operation);
    result.iterations = 1;
    if (!played->error)
      result.time_s = report::Spread{played->time.value, played->time.value, played->time.value};
    result.messages = played->messages;
    result.bytes_sent = played->bytes_sent;
    add_rates(result, inputs_of(fabric));
    document.results.push_back(std::move(result));
    document.hops = hops_of(job, played->trace);
    document.events = std::move(played->trace.events);
    corrupted = corrupted || played->corrupted > 0;
    if (played->error) {
      document.error = report::Trouble{*played->error, {}};
      break;
    }
  }
  if (document.error) complain(document.error->error);
  const int code = document.error ? Exit::unknown : corrupted ? Exit::faulty : Exit::healthy;
  return print(context.common.json ? report::json(document) : report::text(document, context.style), code);
}

}  // namespace

void add_simulate(Commands& commands) {
  CLI::App& app =
      commands.add("simulate", "The same collectives on a modelled cluster of any size, faults included");
  static Flags flags;
  add_call_flags(commands, app, flags.call);
  add_whole(app, "--nodes", flags.nodes, 1, 1 << 20, "nodes");
  add_whole(app, "--gpus-per-node", flags.gpus, 1, 4096, "ranks on each node");
  add_parsed(app, "--inter", flags.inter, parse_rate, "RATE", "one way, per node, between nodes (100Gbit)");
  add_parsed(app, "--intra", flags.intra, parse_rate, "RATE", "one way, per rank, inside a node (10GB/s)");
  add_parsed(app, "--latency", flags.latency, parse_duration, "TIME", "of a hop between nodes (20us)");
  add_parsed(app, "--intra-latency", flags.intra_latency, parse_duration, "TIME",
             "of a hop inside a node (2us)");
  add_parsed(app, "--overhead", flags.overhead, parse_duration, "TIME",
             "of each message between nodes, at its sender");
  app.add_option("--noise", flags.noise, "each message needs up to this share more time")
      ->check(CLI::Range(0.0, 10.0))
      ->type_name("SHARE");
  add_whole(app, "--seed", flags.seed, 0, 1L << 62, "of the noise");
  app.footer("Example: ringtrue simulate ring --nodes 8 --inter 500Mbit --fault 'throttle@3>4:rate=250Mbit'");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
