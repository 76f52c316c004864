// The daemon's command line and configuration.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "daemon/lease.h"

namespace ringtrue::daemon {

struct Options {
  std::string listen;  // empty: the Unix socket alone
  std::string state;
  std::string pki;  // empty: no TLS
  std::string node;
  std::string metrics;  // address of the page of metrics; empty: none
  std::string events;   // folder of what devices did; empty: in memory alone
  bool insecure = false;
  Limits limits;
  std::string config_file;           // --config; empty: the usual places
  std::vector<config::Given> flags;  // for reading the configuration again
};

// An exit status where there is nothing more to do: --help, --version.
Result<std::variant<Options, int>> read_options(int argc, char** argv);
// What a reload may change, and the keys whose new values it may not: they need a restart.
struct Reloaded {
  Limits limits;
  std::vector<std::string> kept;
};
Result<Reloaded> reload(const Options& options);

}  // namespace ringtrue::daemon
