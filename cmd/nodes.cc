#include "operator/nodes.h"

#include <algorithm>

#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {

void add_nodes(Commands& commands) {
  const Command app = commands.add("nodes", "Which daemons answer, their versions, and who holds them");
  app.footer("Exit code 0 only when all answer, otherwise 3.");
  commands.on(app, [](Context& context) {
    auto status = reject_playing(context, "nodes", "leave it out: nothing is played");
    if (status)
      status = reject_inapplicable("nodes", {{context.common.link_rate.has_value(), "--link-rate"}});
    if (!status) return failed(context, status.error());
    const auto document = ops::nodes(setup_of(context), control({}));
    if (!document) return failed(context, document.error());
    const auto& rows = document->nodes;
    const bool all = std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.reachable; });
    return show(context, *document, all ? Exit::healthy : Exit::unknown);
  });
}

}  // namespace ringtrue::cmd
