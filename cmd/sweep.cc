#include "operator/sweep.h"

#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/gpu_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/verbs_flags.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  ops::SweepRequest request;
  VerbsFlags verbs{{}, in_a_hurry()};
  bool gpu = false;
  ops::GpuRequest gpus;
  std::optional<Pause> pause;
};

int run(Context& context, const Flags& flags) {
  auto status = reject_inapplicable("sweep without --gpu",
                                    {{!flags.gpus.gpus.empty(), "--gpus", "add --gpu, or leave it out"},
                                     {flags.gpus.share, "--share-gpus", "add --gpu, or leave it out"}});
  if (status) status = reject_where(context);
  if (!status) return failed(context, status.error());
  auto verbs = verbs_settings(context, flags.verbs);
  if (!verbs) return failed(context, verbs.error());
  ops::SweepRequest request = flags.request;
  request.setup = setup_of(context);
  request.verbs = *verbs;
  request.unused_verbs = unused(flags.verbs);
  const auto document = ops::sweep(request, control(flags.pause));
  if (!document) return failed(context, document.error());
  return show(context, *document, document->error ? Exit::unknown : Exit::healthy);
}

// Flags about what lies between nodes, of which GPUs' limits know nothing.
Result<void> reject_wires(const Context& context, const Flags& flags) {
  const auto words = words_of(flags.verbs);
  const Common& common = context.common;
  return reject_inapplicable("sweep --gpu", {{flags.request.per_port, "--per-port"},
                                             {!words.empty(), words.empty() ? "" : words.front()},
                                             {common.memory == "host", "--memory host"},
                                             {common.link_rate.has_value(), "--link-rate"},
                                             {common.ranks_per_node != 1, "--ranks-per-node"},
                                             {common.data_interface.has_value(), "--data-interface"},
                                             {common.data_ports.has_value(), "--data-ports"},
                                             {common.transport.has_value(), "--transport"}});
}

int run_gpus(Context& context, const Flags& flags, bool sized, bool repeated) {
  auto status = reject_wires(context, flags);
  if (status) status = reject_where(context);
  if (!status) return failed(context, status.error());
  ops::GpuSweepRequest request;
  request.setup = setup_of(context);
  request.gpus = flags.gpus;
  if (sized) request.size = flags.request.size;
  if (repeated) request.repeats = flags.request.iterations;
  const auto document = ops::sweep_gpus(request, control({}));
  if (!document) return failed(context, document.error());
  if (!document->error && document->interrupted) complain(Error{Cause::cancelled, "interrupted", {}, {}});
  return show(context, *document, diagnosis::exit_code(ops::verdict_of(*document)));
}

}  // namespace

void add_sweep(Commands& commands) {
  const Command app = commands.add("sweep", "Every pair, both directions: the matrix of rates and latencies");
  static Flags flags;
  const Option size =
      add_parsed(app, "--size", flags.request.size, parse_size, "SIZE", "bytes that a pair moves at once");
  const Option iterations = add_whole(app, "--iterations", flags.request.iterations, 1, 100000, "how often");
  app.add_flag("--per-port", flags.request.per_port,
               "over verbs: every active port with every one of the other nodes, not the rails alone");
  app.add_flag("--gpu", flags.gpu,
               "what GPUs and the ways to them carry, each by itself, instead of pairs of nodes");
  add_gpu_flags(app, flags.gpus);
  add_verbs_flags(commands, app, flags.verbs);
  add_parsed(app, "--pause", flags.pause, parse_pause, "PHASE=TIME", "wait before a phase (for tests)")
      .group("");
  app.footer(
      "Over TCP all nodes send at once, each to one other: N - 1 shifts cover every pair. Over RDMA they "
      "meet two "
      "and two: all rails together, then rail by rail, then each port with itself and its node's others.");
  commands.on(app, [size, iterations](Context& context) {
    return flags.gpu ? run_gpus(context, flags, size.given(), iterations.given()) : run(context, flags);
  });
}

}  // namespace ringtrue::cmd
