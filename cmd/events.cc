#include "operator/events.h"

#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"

namespace ringtrue::cmd {
namespace {

Seconds since{3600};

int show_events(Context& context) {
  const auto fits =
      reject("events", {running(context, "leave it out: nothing is run"), common(context, {"--link-rate"})});
  if (!fits) return failed(context, fits.error());
  const auto document = ops::events(setup_of(context), since, control({}));
  if (!document) return failed(context, document.error());
  return show(context, *document, document->error ? Exit::unknown : Exit::healthy);
}

}  // namespace

Command events_command() {
  return {"events",
          "Tells which links went down and which error counters rose while nobody measured, and when",
          {parsed("--since", since, parse_duration, "SPAN", "how far to look back: 20m, 12h, 30d (1h)")},
          "The last hour is told to 5 s, what is older by spans of five minutes, 30 days at most. Times are "
          "those of the nodes' clocks.\nExit code 0 when all nodes told theirs, otherwise 3.\n"
          "Example: ringtrue events --hosts node[01-16] --since 12h",
          show_events};
}

}  // namespace ringtrue::cmd
