#include "config/config.h"

#include <fmt/format.h>

#include <cstdlib>
#include <type_traits>

#include "base/file.h"
#include "base/number.h"
#include "base/suggest.h"
#include "run/inspect_thresholds.h"
#include "run/rdma_values.h"

namespace ringtrue::config {
namespace {

constexpr std::size_t max_file = 1u << 20;

tl::unexpected<Error> rejected(const Given& given, std::string what, std::string next = {}) {
  return fail(Cause::bad_input, std::move(what), given.origin, std::move(next));
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto number = parse_number<Number>(text);
  value = number.value_or(Number{});
  return number.has_value();
}

// ---- a value of each type: from what was given, and as a text that reads back

Result<void> parse(std::string& value, const Given& given) {
  value = given.text;
  return {};
}

// A share, such as of the attainable rate.
Result<void> parse(double& value, const Given& given) {
  std::string_view digits = given.text;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  if (read_number(digits, value) && value > 0 && (value /= percent ? 100 : 1) <= 1) return {};
  return rejected(given,
                  fmt::format("'{}' is not a share{}", given.text,
                              given.key.starts_with("thresholds.") ? " of the attainable rate" : ""),
                  "give one above 0 and at most 1, such as 0.95 or 95%");
}

// A number of ranks.
Result<void> parse(int& value, const Given& given) {
  constexpr int max = 65'536;
  if (read_number(given.text, value) && value >= 1 && value <= max) return {};
  return rejected(given, fmt::format("'{}' is not a whole number from 1 to {}", given.text, max));
}

Result<void> parse(Ports& value, const Given& given) {
  const std::string_view text = given.text;
  const std::size_t dash = text.find('-');
  value = {};
  if (text.empty()) return {};
  const bool numbers = read_number(text.substr(0, dash), value.low) &&
                       read_number(text.substr(dash == text.npos ? 0 : dash + 1), value.high);
  if (numbers && 1 <= value.low && value.low <= value.high && value.high <= 65'535) return {};
  return rejected(given, fmt::format("bad port range '{}'", text), "give LOW-HIGH such as 7500-7599");
}

Result<void> parse(std::vector<IpNetwork>& value, const Given& given) {
  value.clear();
  std::string_view rest = given.text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const auto network = parse_network(std::string(part));
    if (!network)
      return rejected(given, fmt::format("'{}' is not a network", part.substr(0, 64)),
                      "give networks such as 10.0.0.0/16, fd00::/64 or 10.0.0.7");
    value.push_back(*network);
  }
  return {};
}

template <class T>
Result<void> take(T& value, Result<T> read, const Given& given) {
  if (read) {
    value = *read;
    return {};
  }
  read.error().where = given.origin;
  return tl::unexpected(read.error());
}

template <class Choice>
requires std::is_enum_v<Choice> Result<void> parse(Choice& value, const Given& given) {
  return take(value, parse_one_of<Choice>(given.text, given.key), given);
}

Result<void> parse(Bytes& value, const Given& given) {
  return take(value, parse_size(given.text), given);
}

Result<void> parse(Seconds& value, const Given& given) {
  auto read = take(value, parse_duration(given.text), given);
  if (read && value.value <= 0) return rejected(given, given.key + " is 0", "give it at least 1ms");
  return read;
}

Result<void> parse(std::optional<BytesPerSecond>& value, const Given& given) {
  value.reset();
  return given.text.empty() ? Result<void>() : take(value.emplace(), parse_rate(given.text), given);
}

std::string text_of(const std::string& value) {
  return value;
}
template <class Number>
requires std::is_arithmetic_v<Number> std::string text_of(Number value) {
  return fmt::format("{}", value);
}
template <class Choice>
requires std::is_enum_v<Choice> std::string text_of(Choice value) {
  return key_of(value);
}
std::string text_of(Ports ports) {
  return ports.low == 0 ? "" : fmt::format("{}-{}", ports.low, ports.high);
}
std::string text_of(const std::vector<IpNetwork>& networks) {
  std::string text;
  for (const IpNetwork& network : networks) {
    if (!text.empty()) text += ',';
    text += to_text(network);
  }
  return text;
}
std::string text_of(Bytes size) {
  return to_text(size);
}
std::string text_of(Seconds time) {
  return fmt::format("{}s", time.value);
}
// Whole Mbit where it is so, bits otherwise.
std::string text_of(const std::optional<BytesPerSecond>& rate) {
  if (!rate) return "";
  const double mbit = rate->value * 8 / 1e6;
  if (mbit >= 1000) return fmt::format("{}Gbit", mbit / 1000);
  if (mbit >= 1) return fmt::format("{}Mbit", mbit);
  return fmt::format("{:.3f}bit", rate->value * 8);
}

// ---- the keys

template <class T>
Result<void> put(Setting<T>& setting, const Given& given) {
  T value{};
  if (auto parsed = parse(value, given); !parsed) return parsed;
  setting = {std::move(value), given.origin, given.layer};
  return {};
}

struct Key {
  std::string_view name;
  Result<void> (*set)(Config&, const Given&);
  Given (*get)(const Config&);  // without its key
};

template <class T>
Given shown(std::string_view name, const Setting<T>& setting) {
  return {std::string(name), text_of(setting.value), setting.origin};
}

// A setting of Config.
template <auto member>
constexpr Key key(std::string_view name) {
  return {name, [](Config& c, const Given& g) { return put(c.*member, g); },
          [](const Config& c) { return shown({}, c.*member); }};
}
// One of its daemon.
template <auto member>
constexpr Key daemon_key(std::string_view name) {
  return {name, [](Config& c, const Given& g) { return put(c.daemon.*member, g); },
          [](const Config& c) { return shown({}, c.daemon.*member); }};
}

// One of the watch.
template <auto member>
constexpr Key watch_key(std::string_view name) {
  return {name, [](Config& c, const Given& g) { return put(c.watch.*member, g); },
          [](const Config& c) { return shown({}, c.watch.*member); }};
}

// A further setting: its member, and its line here.
constexpr Key keys[] = {
    key<&Config::hosts>("hosts"),
    key<&Config::pki>("pki"),
    key<&Config::history>("history"),
    key<&Config::fleet>("fleet"),
    key<&Config::link_rate>("link_rate"),
    key<&Config::transport>("transport"),
    key<&Config::memory>("memory"),
    key<&Config::data_interface>("data_interface"),
    key<&Config::data_ports>("data_ports"),
    key<&Config::warning>("thresholds.warning"),
    key<&Config::critical>("thresholds.critical"),
    key<&Config::phase_deadline>("deadlines.phase"),
    key<&Config::run_deadline>("deadlines.run"),
    watch_key<&Watch::every>("watch.every"),
    watch_key<&Watch::load>("watch.load"),
    watch_key<&Watch::hook>("watch.hook"),
    daemon_key<&Daemon::listen>("daemon.listen"),
    daemon_key<&Daemon::state>("daemon.state"),
    daemon_key<&Daemon::node>("daemon.node"),
    daemon_key<&Daemon::max_bytes>("daemon.max_bytes"),
    daemon_key<&Daemon::max_ranks>("daemon.max_ranks"),
    daemon_key<&Daemon::max_seconds>("daemon.max_seconds"),
    daemon_key<&Daemon::peers>("daemon.peers"),
    daemon_key<&Daemon::events>("daemon.events"),
    daemon_key<&Daemon::metrics>("daemon.metrics"),
};

constexpr std::string_view inspect = "inspect.";

std::vector<std::string> inspect_names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : run::list(run::InspectThresholds{})) names.push_back(name);
  return names;
}

constexpr std::string_view verbs = "verbs.";
constexpr std::string_view tui_keys = "tui.keys.";  // whose names the dashboard knows

Result<void> put_threshold(Setting<double>& setting, const Given& given) {
  double value = 0;
  if (!read_number(given.text, value) || !(value >= 0) || value > 1e18)
    return rejected(given, fmt::format("'{}' is not a number from 0 on", given.text.substr(0, 64)));
  setting = {value, given.origin, given.layer};
  return {};
}

// The key without its table, where it is one of `names` in it; else "".
std::string name_in(std::string_view table, const auto& names, std::string_view key) {
  for (const std::string_view name : names)
    if (key.starts_with(table) && key.substr(table.size()) == name) return std::string(name);
  return {};
}

std::string environment_name(std::string_view key) {
  std::string name = "RINGTRUE_";
  for (char c : key) name += c == '.' ? '_' : (c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c);
  return name;
}

Result<void> lay_file(Config& config, const std::string& path) {
  auto text = read_file(path, max_file);
  if (!text)
    return fail(Cause::unavailable,
                fmt::format("cannot read the configuration {}: {}", path, text.error().what), {},
                "give a readable file with --config");
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
  for (const std::string& name : inspect_names()) names.push_back(std::string(inspect).append(name));
  for (const std::string& name : run::rdma_setting_names()) names.push_back(std::string(verbs).append(name));
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
  if (given.key.starts_with(tui_keys)) {
    if (const std::string name = given.key.substr(tui_keys.size()); !name.empty())
      config.tui_keys[name] = {given.text, given.origin, given.layer};
    return {};
  }
  const auto single =
      given.key == "hosts" || given.key == "daemon.peers" ? Result<void>() : not_a_list(given);
  for (const Key& key : keys) {
    if (given.key == key.name) return single ? key.set(config, given) : single;
    if (given.key.ends_with('.') && key.name.starts_with(given.key)) return {};  // an empty, known table
  }
  if (given.key == inspect || given.key == verbs || given.key == "tui.") return {};
  if (const auto name = name_in(inspect, inspect_names(), given.key); !name.empty())
    return !single ? single : put_threshold(config.inspect[name], given);
  if (const auto name = name_in(verbs, run::rdma_setting_names(), given.key); !name.empty())
    return put(config.verbs[name], given);
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
  for (const Key& key : keys) out.emplace_back(key.get(config)).key = key.name;
  const auto show_all = [&](std::string_view table, const auto& settings) {
    for (const auto& [name, setting] : settings)
      out.push_back(shown(fmt::format("{}{}", table, name), setting));
  };
  for (const auto& [name, built_in] : run::list(run::InspectThresholds{})) {
    const auto given = config.inspect.find(name);
    out.push_back(shown(fmt::format("{}{}", inspect, name),
                        given == config.inspect.end() ? Setting<double>{built_in} : given->second));
  }
  for (const auto& [name, built_in] : run::list(run::RdmaSettings{})) {
    const auto given = config.verbs.find(name);
    out.push_back(shown(fmt::format("{}{}", verbs, name),
                        given == config.verbs.end() ? Setting<std::string>{built_in} : given->second));
  }
  show_all(tui_keys, config.tui_keys);
  show_all("groups.", config.groups);
  return out;
}

}  // namespace ringtrue::config
