#include "operator/facts.h"

#include <algorithm>

#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"

namespace ringtrue::cmd {
namespace {

int show_nodes(Context& context) {
  const auto fits =
      reject("nodes", {running(context, "leave it out: nothing is run"), common(context, {"--link-rate"})});
  if (!fits) return failed(context, fits.error());
  const auto document = ops::nodes(setup_of(context), control({}));
  if (!document) return failed(context, document.error());
  const auto& rows = document->nodes;
  const bool all = std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.reachable; });
  return show(context, *document, all ? Exit::healthy : Exit::unknown);
}

}  // namespace

Command nodes_command() {
  return {"nodes",
          "Lists the daemons that answer, their versions and who holds them",
          {},
          "Exit code 0 only when all answer, otherwise 3.",
          show_nodes};
}

}  // namespace ringtrue::cmd
