#include "cmd/fact_flags.h"

#include <fmt/format.h>

#include "cmd/inapplicable.h"

namespace ringtrue::cmd {

void add_fact_flags(Command app, ops::FactRequest& flags, bool files) {
  if (files) {
    app.add_texts("--from", flags.from, "FILE",
                  "files instead: hwloc XML, NCCL's topology XML, ibnetdiscover's output, bundles of gather, "
                  "topo --json");
  }
  add_parsed(
      app, "--window", flags.window,
      [](std::string_view text) -> Result<Seconds> {
        auto window = parse_duration(text);
        if (window && window->value > 60)
          return fail(Cause::bad_input, fmt::format("a window of {}", to_text(*window)), "",
                      "take at most 60s");
        return window;
      },
      "TIME", "read the counters twice, so far apart; 0: once");
  app.add_flag("--wake-gpus", flags.wake_gpus, "ask NVML even where that wakes sleeping GPUs");
  add_text(app, "--root", flags.root, "DIR", "a tree of /sys and /proc instead of this machine's (for tests)")
      .group("");
}

Result<void> check_facts(const Context& context, const ops::FactRequest& flags, bool hosts) {
  const std::string& command = context.command;
  const bool files = !flags.from.empty();
  if (auto status = reject_playing(context, command, "leave it out: nothing is played"); !status)
    return status;
  if (files && context.common.hosts)
    return fail(Cause::bad_input, "--from and --hosts exclude each other", "", "leave one out");
  if (files || !hosts) {
    const std::string where = command + (files ? " --from" : " without --hosts");
    if (auto status = reject_hosts(context, where, "leave it out"); !status) return status;
  }
  if (!files) return {};
  return reject_inapplicable(command + " --from",
                             {{flags.window.has_value(), "--window"}, {flags.wake_gpus, "--wake-gpus"}});
}

}  // namespace ringtrue::cmd
