#include "operator/rdma_settings.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringtrue::ops {
namespace {

std::string flag_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

}  // namespace

run::RdmaSettings short_timeouts() {
  run::RdmaSettings settings;
  settings.timeout = 16;
  return settings;
}

Result<run::RdmaSettings> rdma_settings(const Setup& setup, run::RdmaSettings defaults) {
  const run::Transport transport = setup.config.transport.value;
  const bool automatic = transport == run::Transport::automatic;
  if (!setup.rdma.empty() && transport != run::Transport::verbs && !(automatic && !setup.local)) {
    const std::string where = setup.local && automatic
                                  ? setup.command + " --local"
                                  : fmt::format("{} over {}", setup.command, key_of(transport));
    return fail(Cause::bad_input,
                fmt::format("{} does nothing in {}", flag_of(setup.rdma.begin()->first), where), {},
                "leave it out, or take --transport verbs");
  }
  const auto set = [&](const std::string& key, const std::string& text, std::string origin) -> Result<void> {
    auto done = run::set(defaults, key, text);
    if (!done) done.error().where = std::move(origin);
    return done;
  };
  for (const auto& [key, value] : setup.config.verbs) {
    if (setup.rdma.contains(key)) continue;
    if (auto done = set(key, value.value, value.origin); !done) return tl::unexpected(done.error());
  }
  for (const auto& [key, text] : setup.rdma)
    if (auto done = set(key, text, flag_of(key)); !done) return tl::unexpected(done.error());
  return defaults;
}

std::string unused_rdma(const Setup& setup) {
  std::string names;
  for (const auto& [key, text] : setup.rdma) names += (names.empty() ? "" : ", ") + flag_of(key);
  return names.empty() ? names : names + " did nothing: no hop used RDMA";
}

}  // namespace ringtrue::ops
