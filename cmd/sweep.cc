#include "operator/sweep.h"

#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/verbs_flags.h"

namespace ringtrue::cmd {
namespace {

struct SweepFlags {
  std::optional<Bytes> size;
  std::optional<int> iterations;
  ops::SweepRequest request;
  VerbsFlags verbs;
  bool gpu = false;
  ops::GpuRequest gpus;
  std::optional<Pause> pause;
};

int sweep(Context& context, const SweepFlags& flags) {
  auto fits =
      reject("sweep without --gpu", {{{!flags.gpus.gpus.empty(), "--gpus", "add --gpu, or leave it out"},
                                      {flags.gpus.share, "--share-gpus", "add --gpu, or leave it out"}}});
  if (fits) fits = reject_where(context);
  if (!fits) return failed(context, fits.error());
  ops::SweepRequest request = flags.request;
  request.setup = setup_of(context);
  request.size = flags.size.value_or(request.size);
  request.iterations = flags.iterations.value_or(request.iterations);
  request.setup.rdma = settings_of(flags.verbs);
  const auto document = ops::sweep(request, control(flags.pause));
  if (!document) return failed(context, document.error());
  return show(context, *document, document->error ? Exit::unknown : Exit::healthy);
}

int run_gpus(Context& context, const SweepFlags& flags) {
  // What is about links between nodes.
  auto fits = reject("sweep --gpu",
                     {{{flags.request.per_port, "--per-port"},
                       {context.config.memory.value == run::Memory::host && context.common.given("--memory"),
                        "--memory host"}},
                      given(flags.verbs),
                      common(context, {"--link-rate", "--ranks-per-node", "--data-interface", "--data-ports",
                                       "--transport"})});
  if (fits) fits = reject_where(context);
  if (!fits) return failed(context, fits.error());
  ops::GpuSweepRequest request;
  request.setup = setup_of(context);
  request.gpus = flags.gpus;
  request.size = flags.size;
  request.repeats = flags.iterations.value_or(request.repeats);
  const auto document = ops::sweep_gpus(request, control({}));
  if (!document) return failed(context, document.error());
  if (!document->error && document->interrupted) complain(Error{Cause::cancelled, "interrupted", {}, {}});
  return show(context, *document, diagnosis::exit_code(ops::verdict_of(*document)));
}

}  // namespace

Command sweep_command() {
  static SweepFlags flags;
  const Flags own = {
      parsed("--size", flags.size, parse_size, "SIZE",
             "bytes of a measurement (16M; of a copy with --gpu, 256M)"),
      whole("--iterations", flags.iterations, 1, 100000, "how often each is repeated (2)"),
      toggle("--per-port", flags.request.per_port,
             "over verbs: every active port with every one of the other nodes, not the rails alone"),
      toggle("--gpu", flags.gpu, "measure GPUs, and the links to them, instead of pairs of nodes"),
      pause_flag(flags.pause),
  };
  return {"sweep", "Measures every pair in both directions: a matrix of rates and latencies",
          join({own, gpu_flags(flags.gpus), verbs_flags(flags.verbs)}),
          "Over TCP all nodes send at once, each to one other: N - 1 shifts cover every pair. Over RDMA they "
          "are measured in pairs: all rails together, then rail by rail, then each port with itself and with "
          "its node's others.\nExit code 0 where all was measured, whatever the rates, otherwise 3.\n"
          "Example: ringtrue sweep --hosts node[01-16] --pki pki",
          [](Context& context) { return flags.gpu ? run_gpus(context, flags) : sweep(context, flags); }};
}

}  // namespace ringtrue::cmd
