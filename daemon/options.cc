#include "daemon/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

namespace ringtrue::daemon {
namespace {

Result<config::Config> load_config(const Options& options) {
  config::Sources sources;
  sources.file = options.config_file;
  sources.user_file = false;
  sources.flags = options.flags;
  return config::load(sources);
}

Limits limits_of(const config::Config& config) {
  Limits limits;
  const std::uint64_t memory =
      std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGESIZE));
  // A node that swaps measures its disk.
  limits.bytes = Bytes(std::min<std::uint64_t>(config.daemon.max_bytes.value.value, memory / 5 * 4));
  limits.ranks = config.daemon.max_ranks.value;
  limits.lease = config.daemon.max_seconds.value;
  limits.peers = Peers(config.daemon.peers.value);
  return limits;
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string name_of(const config::Config& config) {
  return config.daemon.node.value.empty() ? host_name() : config.daemon.node.value;
}

}  // namespace

Result<std::variant<Options, int>> read_options(int argc, char** argv) {
  Options options;
  std::string listen, state, pki, node, peers, metrics;
  CLI::App app{
      "ringtrued: one node's part in cluster allreduce diagnostics. Waits for\n"
      "`ringtrue` on a Unix socket and, with --listen, on TCP with mutual TLS.",
      "ringtrued"};
  app.get_formatter()->column_width(26);
  app.set_version_flag("--version", std::string("ringtrued ") + RINGTRUE_VERSION);
  const auto add = [&app](const char* name, std::string& value, const char* type, const char* help) {
    app.add_option(name, value, help)->type_name(type);
  };
  add("--listen", listen, "ADDRESS:PORT", "listen on TCP too (port 7464 where none is given)");
  add("--state", state, "DIR", "folder for the socket and the lock (/run/ringtrue)");
  add("--pki", pki, "DIR", "folder with ca.crt, node.crt and node.key, as\n`ringtrue pki` makes them");
  add("--node", node, "NAME", "this node's name (its host name)");
  add("--peers", peers, "NETWORK,...",
      "networks that other nodes of a run may be in:\n10.0.0.0/16,fd00::/64 (those of this machine's\n"
      "interfaces)");
  add("--metrics", metrics, "ADDRESS:PORT",
      "serve metrics for Prometheus by mutual TLS, on\nloopback by plain HTTP (port 9464 where none "
      "is\ngiven)");
  add("--config", options.config_file, "FILE", "configuration (/etc/ringtrue/config.toml)");
  app.add_flag("--insecure", options.insecure,
               "listen on TCP without TLS: whoever reaches the\nport may run anything that ringtrue can");
  app.footer(
      "Exit codes: 0 it was told to stop, 1 something that may pass (its port is in\n"
      "use, say), 3 the configuration, a flag or a certificate is wrong. SIGHUP reads\n"
      "limits and certificates again.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return 0;
    }
    return fail(Cause::bad_input, error.what(), "", "see `ringtrued --help`");
  }
  const auto give = [&](const char* flag, const char* key, const std::string& text) {
    if (app.count(flag) > 0) options.flags.push_back({key, text, flag});
  };
  for (const char* flag : {"--listen", "--state", "--pki", "--node", "--peers", "--metrics", "--config"})
    if (app.count(flag) > 0 && app.get_option(flag)->as<std::string>().empty())
      return fail(Cause::bad_input, "an empty value", flag, "give one, or leave the flag out");
  if (options.insecure && app.count("--pki") > 0)
    return fail(Cause::bad_input, "--insecure and --pki exclude each other", "", "leave one of them out");
  give("--listen", "daemon.listen", listen);
  give("--state", "daemon.state", state);
  give("--pki", "pki", pki);
  give("--node", "daemon.node", node);
  give("--peers", "daemon.peers", peers);
  give("--metrics", "daemon.metrics", metrics);

  auto config = load_config(options);
  if (!config) return tl::unexpected(config.error());
  options.listen = config->daemon.listen.value;
  options.metrics = config->daemon.metrics.value;
  options.state = config->daemon.state.value;
  options.pki = config->pki.value;
  options.node = name_of(*config);
  // By systemd's word, where the unit has a StateDirectory.
  const char* given = std::getenv("STATE_DIRECTORY");
  options.events = !config->daemon.events.value.empty() ? config->daemon.events.value : given ? given : "";
  options.limits = limits_of(*config);
  if (options.insecure && options.listen.empty())
    return fail(Cause::bad_input, "does nothing without a TCP listener", "--insecure",
                "give --listen as well");
  if (options.node.size() > 255 || options.node.empty() ||
      options.node.find_first_of(" \t\r\n") != std::string::npos)
    return fail(Cause::bad_input, fmt::format("'{}' is not a node's name", options.node), "--node",
                "give 1 to 255 letters without blanks, as the host's name");
  return options;
}

Result<Reloaded> reload(const Options& options) {
  auto config = load_config(options);
  if (!config) return tl::unexpected(config.error());
  Reloaded reloaded{limits_of(*config), {}};
  const auto keep = [&](const char* key, const std::string& now, const std::string& then) {
    if (now != then) reloaded.kept.push_back(key);
  };
  keep("daemon.listen", config->daemon.listen.value, options.listen);
  keep("daemon.metrics", config->daemon.metrics.value, options.metrics);
  keep("daemon.state", config->daemon.state.value, options.state);
  keep("pki", config->pki.value, options.pki);
  keep("daemon.node", name_of(*config), options.node);
  return reloaded;
}

}  // namespace ringtrue::daemon
