#include "config/config.h"

#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {

void add_config(Commands& commands) {
  const Command app = commands.add("config", "The effective configuration, and where each value comes from");
  std::string keys;
  for (const std::string& key : config::known_keys()) keys += (keys.empty() ? "" : ", ") + key;
  app.footer(
      "Files: /etc/ringtrue/config.toml, then ~/.config/ringtrue/config.toml, over it; or the one that "
      "--config or RINGTRUE_CONFIG names. Then RINGTRUE_KEY (RINGTRUE_DAEMON_NODE for daemon.node), then "
      "flags.\n"
      "Keys: " +
      keys + ", and groups under [groups].");
  commands.on(app, [](Context& context) {
    const Common& common = context.common;
    auto status = reject_inapplicable("config", {{common.local.has_value(), "--local"},
                                                 {common.ranks_per_node != 1, "--ranks-per-node"},
                                                 {common.insecure, "--insecure"}});
    if (!status) return failed(context, status.error());
    report::ConfigDocument document;
    for (const config::Given& g : config::effective(context.config)) {
      document.settings.push_back({g.key, g.text, g.origin});
    }
    return print(context.common.json ? report::json(document) : report::text(document, context.style),
                 Exit::healthy);
  });
}

}  // namespace ringtrue::cmd
