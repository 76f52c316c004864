#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/player.h"
#include "cmd/unheeded.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {

void add_nodes(Commands& commands) {
  const Command app = commands.add("nodes", "Which daemons answer, their versions, and who holds them");
  app.footer("Exit code 0 only when all answer, otherwise 3.");
  commands.on(app, [](Context& context) {
    auto heeded = refuse_playing(context, "nodes", "leave it out: nothing is played");
    if (heeded) heeded = refuse("nodes", {{context.common.link_rate.has_value(), "--link-rate"}});
    if (!heeded) return failed(context, heeded.error());
    auto targets = targets_of(context);
    if (!targets) return failed(context, targets.error());
    report::NodesDocument document;
    std::size_t silent = 0;
    for (const fleet::NodeState& s : fleet::describe(*targets, fleet_options(context, {}, {}))) {
      document.nodes.push_back({s.node, s.reachable, s.version, s.lease, s.cause});
      silent += !s.reachable;
    }
    return print(context.common.json ? report::json(document) : report::text(document, context.style),
                 silent == 0 ? Exit::healthy : Exit::unknown);
  });
}

}  // namespace ringtrue::cmd
