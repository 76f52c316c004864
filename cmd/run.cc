#include "operator/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/call_flags.h"
#include "cmd/command.h"
#include "cmd/gpu_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/omni_flags.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/verbs_flags.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

int run(Context& context, ops::RunRequest request, const VerbsFlags& flags,
        const std::optional<Pause>& pause) {
  auto status = reject_inapplicable("run", {{request.call.events && !context.common.json, "--events",
                                             "add --json, which they are shown in"}});
  if (status) status = reject_where(context);
  if (!status) return failed(context, status.error());
  auto verbs = verbs_settings(context, flags);
  if (!verbs) return failed(context, verbs.error());
  request.setup = setup_of(context);
  request.verbs = *verbs;
  request.unused_verbs = unused(flags);
  const auto document = ops::run(request, control(pause));
  if (!document) return failed(context, document.error());
  const int code = document->wrong() ? Exit::faulty : document->error ? Exit::unknown : Exit::healthy;
  return show(context, *document, code);
}

}  // namespace

void add_run(Commands& commands) {
  const Command app =
      commands.add("run", "One collective over a range of sizes: nccl-tests' columns, and % of ideal");
  static ops::RunRequest flags;
  static VerbsFlags verbs;
  static std::optional<Pause> pause;
  add_call_flags(commands, app, flags.call);
  add_omni_flags(commands, app, flags.omni);
  add_verbs_flags(commands, app, verbs);
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
  add_whole(app, "--processes", flags.processes, 1, 128,
            "worker processes that a node's ranks are spread over");
  add_whole(app, "--seed", flags.seed, 0, 1L << 62, "of the values");
  app.add_flag("--no-check", flags.unchecked, "do not compare the results");
  add_parsed(app, "--pause", pause, parse_pause, "PHASE=TIME", "wait before a phase (for tests)").group("");
  app.footer(
      "Exit code 2 where a result was wrong.\n"
      "Example: ringtrue run ring --local 8 --from 1K --to 64M --factor 4");
  commands.on(app, [](Context& context) { return run(context, flags, verbs, pause); });
}

}  // namespace ringtrue::cmd
