#include "operator/run.h"

#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/verbs_flags.h"
#include "report/text/run_lines.h"

namespace ringtrue::cmd {
namespace {

int run(Context& context, ops::RunRequest request, const VerbsFlags& flags,
        const std::optional<Pause>& pause) {
  auto fits = reject(
      "run",
      {{{request.call.events && !context.common.json, "--events", "add --json, which they are shown in"}}});
  if (fits) fits = reject_where(context);
  if (!fits) return failed(context, fits.error());
  request.setup = setup_of(context);
  request.setup.rdma = settings_of(flags);
  report::RunLines lines(context.style, true);
  bool written = true;
  if (!context.common.json)
    request.on_row = [&](const ops::RunDocument& document) {
      clear_progress();
      Output out;
      out.write(lines.next(document));
      written = written && out.finish(Exit::healthy) == Exit::healthy;
    };
  const auto document = ops::run(request, control(pause));
  if (!document) return failed(context, document.error());
  const int code = document->wrong() ? Exit::faulty : document->error ? Exit::unknown : Exit::healthy;
  if (context.common.json) return show(context, *document, code);
  if (document->error) complain(document->error->error);
  return written ? print(lines.rest(*document), code) : int(Exit::unknown);
}

}  // namespace

Command run_command() {
  static ops::RunRequest request;
  static VerbsFlags verbs;
  static std::optional<Pause> pause;
  const Flags fault = {
      fault_flag(request.call.fault, "KIND@SOURCE>DESTINATION:key=value;..., e.g. throttle@3>4:rate=50Mbit")};
  const Flags flags = {
      word("--reference", request.reference, {"nccl"}, "NAME",
           "nccl: its allreduce as well, on the same buffers (--memory device)"),
      whole("-n,--iterations", request.iterations, 1, 1000000,
            fmt::format("timed samples ({})", request.iterations)),
      whole("-w,--warmup", request.warmup, 0, 1000000,
            fmt::format("untimed calls before them ({})", request.warmup)),
      whole("--processes", request.processes, 1, 128, "worker processes for the ranks of a node (1)"),
      whole("--seed", request.seed, 0, 1L << 62, fmt::format("seed of the values ({})", request.seed)),
      toggle("--no-check", request.unchecked, "do not compare the results"),
      pause_flag(pause),
  };
  return {"run", "Runs one collective over a range of sizes: nccl-tests' columns, and % of ideal",
          join({call_flags(request.call), fault, omni_flags(request.omni), verbs_flags(verbs),
                gpu_flags(request.gpus), flags}),
          "Exit code 2 where a result was wrong.\n"
          "Example: ringtrue run ring --local 8 --from 1K --to 64M --factor 4",
          [](Context& context) { return run(context, request, verbs, pause); }};
}

}  // namespace ringtrue::cmd
