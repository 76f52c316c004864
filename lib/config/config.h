// The configuration: built-in values, files, environment and flags laid over one another. Each value knows
// where it came from.
//
// Files are TOML (read in config/toml.cc alone):
//
//   hosts = "node[01-16]"        link_rate = "500Mbit"      transport = "auto"
//   memory = "host"              history = "/var/lib/ringtrue/history.db"    fleet = "default"
//   pki = "/etc/ringtrue/pki"    data_interface = "eth0"    data_ports = "7500-7599"
//   [groups]      rack1 = "node[01-08]"
//   [thresholds]  warning = 0.95        critical = 0.85
//   [inspect]     memlock_bytes = 1e9   symbol_error_per_s = 10    (docs/rules.md lists them)
//   [verbs]       rdma_ports = "mlx5_0,mlx5_1:2"           gid_index = 3   (docs/verbs.md lists them)
//   [tui.keys]    down = "j,Down"                          (? in the dashboard lists them)
//   [deadlines]   phase = "10s"         run = "60s"
//   [watch]       every = "1h"          load = 0.1         hook = "/usr/local/bin/page"
//   [daemon]      max_bytes = "64G"     max_ranks = 4096     max_seconds = "1h"
//                 listen = "0.0.0.0:7464"    state = "/run/ringtrue"    node = "node01"
//                 peers = ["10.0.0.0/16", "fd00::/64"]      metrics = "127.0.0.1:9464"
//
// A key without a group is the environment's RINGTRUE_KEY ("link_rate" is RINGTRUE_LINK_RATE), one of a table
// RINGTRUE_TABLE_KEY ("daemon.node" is RINGTRUE_DAEMON_NODE). Hosts default to those of the Slurm job.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hostlist.h"
#include "base/ip.h"
#include "base/result.h"
#include "base/units.h"
#include "run/job.h"

namespace ringtrue::config {

// They lie over one another, the last above.
enum class Layer : std::uint8_t { built_in, file, environment, flag };

template <class T>
struct Setting {
  T value{};
  std::string origin = "built in";  // "/etc/ringtrue/config.toml line 3", "RINGTRUE_HOSTS", "--hosts"
  Layer layer = Layer::built_in;
};

struct Ports {
  int low = 0, high = 0;  // inclusive; 0, 0: any
  bool operator==(const Ports&) const = default;
};

struct Daemon {
  Setting<std::string> listen;  // ADDRESS:PORT of the TCP service; empty: the Unix socket alone
  Setting<std::string> state{"/run/ringtrue"};
  Setting<std::string> node;                                 // this node's name; empty: its host name
  Setting<Bytes> max_bytes{Bytes(std::uint64_t(64) << 30)};  // held on this node for one lease
  Setting<int> max_ranks{4096};                              // on this node, for one lease
  Setting<Seconds> max_seconds{Seconds(3600)};               // of one lease
  Setting<std::vector<IpNetwork>> peers;  // where other nodes of a run may be; none: where interfaces are
  Setting<std::string> metrics;           // ADDRESS:PORT of the page for Prometheus; empty: none
  Setting<std::string> events;  // folder for 30 days of device events; empty: the last hour, in memory
};

// Of `ringtrue watch`.
struct Watch {
  Setting<Seconds> every{Seconds(3600)};  // from the start of a check to the start of the next
  Setting<double> load{0.1};              // share of the time in which it measures, at most
  Setting<std::string> hook;              // a program that is run for what changed; empty: none
};

struct Config {
  Setting<std::string> hosts;             // a host list, not expanded; empty: none known
  Setting<std::string> pki;               // folder with certificates; empty: none known
  Setting<std::string> history;           // file of what was measured; empty: the usual one; "none": none
  Setting<std::string> fleet{"default"};  // as that file has it, where several share it
  Setting<std::optional<BytesPerSecond>> link_rate;
  Setting<run::Transport> transport;
  Setting<run::Memory> memory;
  Setting<std::string> data_interface;
  Setting<Ports> data_ports;
  Setting<double> warning{0.95};   // of the attainable rate
  Setting<double> critical{0.85};  // of the attainable rate
  Setting<Seconds> phase_deadline{Seconds(10)};
  Setting<Seconds> run_deadline{Seconds(60)};
  std::map<std::string, Setting<std::string>, std::less<>> groups;
  // Thresholds of inspection, by name; only those that were given. Their built-in values and ranges are
  // run::InspectThresholds's.
  std::map<std::string, Setting<double>> inspect;
  // Settings of RDMA, by name, as text; only those that were given: run::set() reads them.
  std::map<std::string, Setting<std::string>> verbs;
  std::map<std::string, Setting<std::string>> tui_keys;  // keys of the dashboard, by name of what they do
  Watch watch;
  Daemon daemon;

  HostGroups host_groups() const;
};

// One value that was given: in a file, in the environment or as a flag.
struct Given {
  std::string key;     // "link_rate", "daemon.node", "groups.rack1"
  std::string text;    // as its parser reads it
  std::string origin;  // for people
  bool list = false;   // written as one; `text` has its parts separated by commas
  Layer layer = Layer::file;
};

// Rejects a list where a single value is meant, with its origin.
Result<void> not_a_list(const Given& given);
// Sets one value. Errors (Cause::bad_input) name the origin.
Result<void> apply(Config& config, const Given& given);
// What holds between values: critical below warning and so on.
Result<void> validate(const Config& config);

// The values of a TOML text; `name` is the file's name in errors. Unknown keys are found by apply().
Result<std::vector<Given>> read_toml(std::string_view text, const std::string& name);

struct Sources {
  std::string file;  // --config; empty: RINGTRUE_CONFIG, or else the usual places, as far as they exist
  // /etc/ringtrue/config.toml, then $XDG_CONFIG_HOME/ringtrue/config.toml, over it
  bool user_file = true;  // a daemon reads no user's file
  std::vector<Given> flags;
  std::function<const char*(const char*)> environment;  // default: getenv(3)
};

Result<Config> load(const Sources& sources);

// Every key with its value as text and its origin, in the order of the file above.
std::vector<Given> effective(const Config& config);
// The keys that a file may hold, without those of [groups].
std::vector<std::string> known_keys();

}  // namespace ringtrue::config
