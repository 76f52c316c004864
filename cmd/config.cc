#include "config/config.h"

#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "history/store.h"
#include "pki/pki.h"

namespace ringtrue::cmd {
namespace {

int show_config(Context& context) {
  const auto fits = reject("config", {common(context, {"--local", "--ranks-per-node", "--insecure"})});
  if (!fits) return failed(context, fits.error());
  ops::ConfigDocument document{config::effective(context.config)};
  document.usual["pki"] = pki::usual_folder();
  if (const std::string file = history::usual_file(); !file.empty()) document.usual["history"] = file;
  return show(context, document, Exit::healthy);
}

}  // namespace

Command config_command() {
  return {
      "config",
      "Shows the effective configuration, and where each value comes from",
      {},
      fmt::format("Files: /etc/ringtrue/config.toml, then ~/.config/ringtrue/config.toml, over it; or the "
                  "one that --config or RINGTRUE_CONFIG names. Then RINGTRUE_KEY (RINGTRUE_DAEMON_NODE "
                  "for daemon.node), then flags.\nKeys: {}, and groups under [groups].",
                  fmt::join(config::known_keys(), ", ")),
      show_config};
}

}  // namespace ringtrue::cmd
