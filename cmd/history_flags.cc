#include "cmd/history_flags.h"

#include "cmd/inapplicable.h"
#include "history/time.h"

namespace ringtrue::cmd {

Flags history_flags(HistoryFlags& flags) {
  return {text("--history", flags.file, "FILE",
               "file of the history (history of the configuration, or $XDG_STATE_HOME/ringtrue/history.db)"),
          text("--fleet", flags.fleet, "NAME", "which fleet of it (fleet of the configuration, or default)")};
}

Flag since_flag(std::optional<std::int64_t>& span_us, const std::string& help) {
  return parsed("--since", span_us, history::parse_span, "SPAN", help);
}

Result<void> only_a_file(const Context& context) {
  return reject(context.command,
                {running(context, "leave it out: nothing is run"),
                 hosts(context, "leave it out: no node is asked"), common(context, {"--link-rate"})});
}

}  // namespace ringtrue::cmd
