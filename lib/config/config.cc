#include "config/config.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/suggest.h"

namespace ringtrue::config {
namespace {

constexpr std::size_t max_file = 1u << 20;

Result<double> parse_share(std::string_view text) {
  double value = 0;
  std::string_view digits = text;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !(value > 0) ||
      (value /= percent ? 100 : 1) > 1) {
    return fail(Cause::bad_input, fmt::format("'{}' is not a share of the attainable rate", text), {},
                "give one above 0 and at most 1, such as 0.95 or 95%");
  }
  return value;
}

Result<int> parse_count(std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return fail(Cause::bad_input, fmt::format("'{}' is not a whole number from {} to {}", text, low, high));
  }
  return value;
}

Result<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1e18) {
    return fail(Cause::bad_input, fmt::format("'{}' is not a number from 0 on", text.substr(0, 64)));
  }
  return value;
}

Result<Ports> parse_ports(std::string_view text) {
  if (text.empty()) return Ports{};
  const std::size_t dash = text.find('-');
  const auto low = parse_count(text.substr(0, dash), 1, 65535);
  const auto high = dash == std::string_view::npos ? low : parse_count(text.substr(dash + 1), 1, 65535);
  if (!low || !high || *high < *low) {
    return fail(Cause::bad_input, fmt::format("bad port range '{}'", text), {},
                "give LOW-HIGH such as 7500-7599");
  }
  return Ports{*low, *high};
}

Result<std::string> parse_word(std::string_view text) {
  return std::string(text);
}

Result<run::Transport> parse_transport(std::string_view text) {
  return parse_one_of<run::Transport>(text, "transport");
}

Result<run::Memory> parse_memory(std::string_view text) {
  return parse_one_of<run::Memory>(text, "memory");
}

Result<std::optional<BytesPerSecond>> parse_link_rate(std::string_view text) {
  if (text.empty()) return std::optional<BytesPerSecond>();
  auto rate = parse_rate(text);
  if (!rate) return tl::unexpected(rate.error());
  return std::optional<BytesPerSecond>(*rate);
}

// A rate as it reads back: whole Mbit where it is so, bytes otherwise.
std::string rate_text(const std::optional<BytesPerSecond>& rate) {
  if (!rate) return "";
  const double mbit = rate->value * 8 / 1e6;
  if (mbit >= 1000) return fmt::format("{}Gbit", mbit / 1000);
  if (mbit >= 1) return fmt::format("{}Mbit", mbit);
  return fmt::format("{:.3f}bit", rate->value * 8);
}

std::string ports_text(const Ports& p) {
  return p.low == 0 ? "" : fmt::format("{}-{}", p.low, p.high);
}

template <class T>
using Parser = Result<T> (*)(std::string_view);

template <class T>
Result<void> put(Setting<T>& setting, const Given& given, Parser<T> parse) {
  auto value = parse(given.text);
  if (!value) {
    Error e = value.error();
    e.where = given.origin;
    return tl::unexpected(e);
  }
  setting.value = std::move(*value);
  setting.origin = given.origin;
  setting.layer = given.layer;
  return {};
}

struct Key {
  std::string_view name;
  Result<void> (*set)(Config&, const Given&);
  Given (*get)(const Config&);  // text and origin
};

template <class T>
Given shown(const Setting<T>& setting, std::string text) {
  return {"", std::move(text), setting.origin};
}

const Key keys[] = {
    {"hosts", [](Config& c, const Given& g) { return put(c.hosts, g, parse_word); },
     [](const Config& c) { return shown(c.hosts, c.hosts.value); }},
    {"pki", [](Config& c, const Given& g) { return put(c.pki, g, parse_word); },
     [](const Config& c) { return shown(c.pki, c.pki.value); }},
    {"link_rate", [](Config& c, const Given& g) { return put(c.link_rate, g, parse_link_rate); },
     [](const Config& c) { return shown(c.link_rate, rate_text(c.link_rate.value)); }},
    {"transport", [](Config& c, const Given& g) { return put(c.transport, g, parse_transport); },
     [](const Config& c) { return shown(c.transport, key_of(c.transport.value)); }},
    {"memory", [](Config& c, const Given& g) { return put(c.memory, g, parse_memory); },
     [](const Config& c) { return shown(c.memory, key_of(c.memory.value)); }},
    {"data_interface", [](Config& c, const Given& g) { return put(c.data_interface, g, parse_word); },
     [](const Config& c) { return shown(c.data_interface, c.data_interface.value); }},
    {"data_ports", [](Config& c, const Given& g) { return put(c.data_ports, g, parse_ports); },
     [](const Config& c) { return shown(c.data_ports, ports_text(c.data_ports.value)); }},
    {"thresholds.warning", [](Config& c, const Given& g) { return put(c.warning, g, parse_share); },
     [](const Config& c) { return shown(c.warning, fmt::format("{}", c.warning.value)); }},
    {"thresholds.critical", [](Config& c, const Given& g) { return put(c.critical, g, parse_share); },
     [](const Config& c) { return shown(c.critical, fmt::format("{}", c.critical.value)); }},
    {"deadlines.phase", [](Config& c, const Given& g) { return put(c.phase_deadline, g, parse_duration); },
     [](const Config& c) {
       return shown(c.phase_deadline, fmt::format("{}s", c.phase_deadline.value.value));
     }},
    {"deadlines.run", [](Config& c, const Given& g) { return put(c.run_deadline, g, parse_duration); },
     [](const Config& c) { return shown(c.run_deadline, fmt::format("{}s", c.run_deadline.value.value)); }},
    {"daemon.listen", [](Config& c, const Given& g) { return put(c.daemon.listen, g, parse_word); },
     [](const Config& c) { return shown(c.daemon.listen, c.daemon.listen.value); }},
    {"daemon.state", [](Config& c, const Given& g) { return put(c.daemon.state, g, parse_word); },
     [](const Config& c) { return shown(c.daemon.state, c.daemon.state.value); }},
    {"daemon.node", [](Config& c, const Given& g) { return put(c.daemon.node, g, parse_word); },
     [](const Config& c) { return shown(c.daemon.node, c.daemon.node.value); }},
    {"daemon.max_bytes", [](Config& c, const Given& g) { return put(c.daemon.max_bytes, g, parse_size); },
     [](const Config& c) { return shown(c.daemon.max_bytes, to_text(c.daemon.max_bytes.value)); }},
    {"daemon.max_ranks",
     [](Config& c, const Given& g) {
       return put<int>(c.daemon.max_ranks, g, [](std::string_view t) { return parse_count(t, 1, 65536); });
     },
     [](const Config& c) { return shown(c.daemon.max_ranks, fmt::format("{}", c.daemon.max_ranks.value)); }},
    {"daemon.max_seconds",
     [](Config& c, const Given& g) { return put(c.daemon.max_seconds, g, parse_duration); },
     [](const Config& c) {
       return shown(c.daemon.max_seconds, fmt::format("{}s", c.daemon.max_seconds.value.value));
     }},
};

// [inspect]: the names of diagnosis::InspectThresholds, which a test compares with these.
constexpr std::string_view inspect = "inspect.";
constexpr std::string_view inspect_names[] = {
    "symbol_error_per_s",
    "symbol_error_per_hour",
    "link_error_recovery_per_min",
    "port_rcv_errors_per_s",
    "port_xmit_discards_per_s",
    "carrier_changes",
    "pci_correctable_per_s",
    "nvlink_crc_per_s",
    "memlock_bytes",
    "pci_warning",
    "pci_critical",
    "majority",
};

// [verbs]: the names of the flags in cmd/verbs_flags.cc, which parses them.
constexpr std::string_view verbs = "verbs.";
constexpr std::string_view verbs_names[] = {
    "rdma_ports",
    "gid_index",
    "pkey_index",
    "path_mtu",
    "ib_timeout",
    "retry_count",
    "rnr_retry",
    "traffic_class",
    "service_level",
    "queue_pairs",
    "adaptive_routing_threshold",
    "relaxed_ordering",
    "rdma_memory",
    "slot_bytes",
    "slots",
};

// The key without its table, where it is one of `names` in it; else "".
template <std::size_t n>
std::string_view name_in(std::string_view table, const std::string_view (&names)[n], std::string_view key) {
  for (std::string_view name : names)
    if (key.starts_with(table) && key.substr(table.size()) == name) return name;
  return {};
}

std::string environment_name(std::string_view key) {
  std::string name = "RINGTRUE_";
  for (char c : key) name += c == '.' ? '_' : (c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c);
  return name;
}

Result<std::string> read_file(const std::string& path) {
  auto text = ringtrue::read_file(path, max_file);
  if (text) return *std::move(text);
  return fail(Cause::unavailable,
              fmt::format("cannot read the configuration {}: {}", path, text.error().what), {},
              "give a readable file with --config");
}

Result<void> lay_file(Config& config, const std::string& path) {
  auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto given = read_toml(*text, path);
  if (!given) return tl::unexpected(given.error());
  for (const Given& g : *given) {
    if (auto r = apply(config, g); !r) return r;
  }
  return {};
}

}  // namespace

HostGroups Config::host_groups() const {
  HostGroups out;
  for (const auto& [name, setting] : groups) out[name] = setting.value;
  return out;
}

std::vector<std::string> known_keys() {
  std::vector<std::string> names;
  for (const Key& key : keys) names.emplace_back(key.name);
  for (std::string_view name : inspect_names) names.push_back(std::string(inspect).append(name));
  for (std::string_view name : verbs_names) names.push_back(std::string(verbs).append(name));
  return names;
}

Result<void> not_a_list(const Given& given) {
  if (!given.list) return {};
  return fail(Cause::bad_input, fmt::format("{} is one value, not a list", given.key.substr(0, 64)),
              given.origin);
}

Result<void> apply(Config& config, const Given& given) {
  if (given.key.starts_with("groups.")) {
    if (given.key.size() > 7) config.groups[given.key.substr(7)] = {given.text, given.origin};
    return {};
  }
  const auto single = given.key == "hosts" ? Result<void>() : not_a_list(given);
  for (const Key& key : keys) {
    if (given.key == key.name) return single ? key.set(config, given) : single;
    if (given.key.ends_with('.') && key.name.starts_with(given.key)) return {};  // an empty, known table
  }
  if (given.key == inspect || given.key == verbs) return {};
  if (const auto name = name_in(inspect, inspect_names, given.key); !name.empty())
    return !single ? single : put(config.inspect[std::string(name)], given, parse_number);
  if (const auto name = name_in(verbs, verbs_names, given.key); !name.empty())
    return put(config.verbs[std::string(name)], given, parse_word);
  const auto meant = closest(given.key, known_keys());
  return fail(Cause::bad_input, fmt::format("unknown key '{}'", given.key.substr(0, 64)), given.origin,
              meant ? fmt::format("did you mean {}?", *meant) : "see ringtrue config --help");
}

Result<void> validate(const Config& config) {
  if (config.critical.value > config.warning.value) {
    return fail(Cause::bad_input,
                fmt::format("thresholds.critical ({}) is above thresholds.warning ({})",
                            config.critical.value, config.warning.value),
                config.critical.origin, "a critical rate is lower than one to warn of");
  }
  const auto positive = [](const Setting<Seconds>& s, const char* name) -> Result<void> {
    if (s.value.value > 0) return {};
    return fail(Cause::bad_input, fmt::format("{} is 0", name), s.origin, "give it at least 1ms");
  };
  if (auto r = positive(config.phase_deadline, "deadlines.phase"); !r) return r;
  if (auto r = positive(config.run_deadline, "deadlines.run"); !r) return r;
  if (auto r = positive(config.daemon.max_seconds, "daemon.max_seconds"); !r) return r;
  return {};
}

Result<Config> load(const Sources& sources) {
  const auto environment = [&](const std::string& name) -> std::string {
    const char* value = sources.environment ? sources.environment(name.c_str()) : std::getenv(name.c_str());
    return value ? value : "";
  };
  Config config;
  std::string file = sources.file;
  if (file.empty()) file = environment("RINGTRUE_CONFIG");
  if (!file.empty()) {
    if (auto r = lay_file(config, file); !r) return tl::unexpected(r.error());
  } else {
    std::vector<std::string> places = {"/etc/ringtrue/config.toml"};
    if (sources.user_file) {
      std::string home = environment("XDG_CONFIG_HOME");
      if (home.empty() && !environment("HOME").empty()) home = environment("HOME") + "/.config";
      if (!home.empty()) places.push_back(home + "/ringtrue/config.toml");
    }
    for (const std::string& path : places) {
      if (access(path.c_str(), F_OK) != 0) continue;
      if (auto r = lay_file(config, path); !r) return tl::unexpected(r.error());
    }
  }
  for (const char* name : {"SLURM_NODELIST", "SLURM_JOB_NODELIST"}) {
    const std::string hosts = environment(name);
    if (!hosts.empty()) config.hosts = {hosts, name};
  }
  for (const std::string& key : known_keys()) {
    const std::string name = environment_name(key);
    const std::string value = environment(name);
    if (value.empty()) continue;
    if (auto r = apply(config, {key, value, name, false, Layer::environment}); !r)
      return tl::unexpected(r.error());
  }
  for (Given flag : sources.flags) {
    flag.layer = Layer::flag;
    if (auto r = apply(config, flag); !r) return tl::unexpected(r.error());
  }
  if (auto r = validate(config); !r) return tl::unexpected(r.error());
  return config;
}

std::vector<Given> effective(const Config& config) {
  std::vector<Given> out;
  for (const Key& key : keys) {
    Given given = key.get(config);
    given.key = key.name;
    out.push_back(std::move(given));
  }
  for (const auto& [name, setting] : config.inspect) {
    out.push_back({std::string(inspect).append(name), fmt::format("{}", setting.value), setting.origin});
  }
  for (const auto& [name, setting] : config.verbs) {
    out.push_back({std::string(verbs).append(name), setting.value, setting.origin});
  }
  for (const auto& [name, setting] : config.groups) {
    out.push_back({"groups." + name, setting.value, setting.origin});
  }
  return out;
}

}  // namespace ringtrue::config
