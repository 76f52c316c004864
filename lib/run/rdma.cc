#include "run/rdma.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/number.h"
#include "base/units.h"
#include "run/fields.h"
#include "run/rdma_values.h"

namespace ringtrue::run {
namespace {

constexpr std::size_t max_name = 64;  // IB_DEVICE_NAME_MAX

bool is_name(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !text.empty() && text.size() < max_name && text.find_first_not_of(letters) == text.npos;
}

// The first value that is not in its range.
struct RangeCheck {
  Result<void> result{};

  void operator()(const char* name, const About& about, const auto& value) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value)>>) {
      if (result && !(about.min <= double(value) && double(value) <= about.max))
        result = fail(Cause::bad_input,
                      fmt::format("{} {} is not within {} to {}", name, value, about.min, about.max));
    }
  }
};

Result<void> parse(std::vector<RdmaPort>& ports, std::string_view text) {
  return parse_ports(text).map([&](auto read) { ports = std::move(read); });
}

Result<void> parse(std::uint64_t& bytes, std::string_view text) {
  return parse_size(text).map([&](Bytes read) { bytes = read.value; });
}

Result<void> parse(Registration& way, std::string_view text) {
  return parse_one_of<Registration>(text, "way").map([&](Registration read) { way = read; });
}

Result<void> parse(bool& on, std::string_view text) {
  on = text == "on" || text == "true";
  if (on || text == "off" || text == "false") return {};
  return fail(Cause::bad_input, fmt::format("'{}' is neither on nor off", text.substr(0, max_name)), {},
              "use on or off");
}

Result<void> parse(int& into, std::string_view text) {
  const auto number = parse_number<int>(text);
  into = number.value_or(into);
  if (number) return {};
  return fail(Cause::bad_input, fmt::format("'{}' is not a whole number", text.substr(0, max_name)));
}

std::string text_of(const std::vector<RdmaPort>& ports) {
  std::string text;
  for (const RdmaPort& port : ports) text.append(text.empty() ? "" : ",").append(to_text(port));
  return text;
}
std::string text_of(std::uint64_t bytes) {
  return ringtrue::to_text(Bytes(bytes));
}
std::string text_of(Registration way) {
  return key_of(way);
}
std::string text_of(bool on) {
  return on ? "on" : "off";
}
std::string text_of(int value) {
  return fmt::format("{}", value);
}

}  // namespace

Result<RdmaPort> parse_port(std::string_view text) {
  const auto colon = text.find(':');
  RdmaPort port{std::string(text.substr(0, colon))};
  bool good = is_name(port.device);
  if (colon != text.npos) {
    port.port = parse_number<int>(text.substr(colon + 1)).value_or(0);
    good = good && port.port >= 1 && port.port <= 255;
  }
  if (good) return port;
  return fail(Cause::bad_input,
              fmt::format("\"{}\" is not a port of an RDMA device", text.substr(0, max_name)), {},
              "write the device and the port's number, as in mlx5_0:1");
}

std::string to_text(const RdmaPort& port) {
  return fmt::format("{}:{}", port.device, port.port);
}

std::string port_name(const RdmaPort& port) {
  return fmt::format("{}/{}", port.device, port.port);
}

Result<std::vector<RdmaPort>> parse_ports(std::string_view text) {
  std::vector<RdmaPort> ports;
  for (;;) {
    const auto comma = text.find(',');
    auto port = parse_port(text.substr(0, comma));
    if (!port) return tl::unexpected(port.error());
    if (std::find(ports.begin(), ports.end(), *port) != ports.end())
      return fail(Cause::bad_input, fmt::format("port {} is named twice", to_text(*port)));
    if (ports.size() == std::size_t(max_rdma_ports))
      return fail(Cause::bad_input, fmt::format("more than {} ports of RDMA devices", max_rdma_ports));
    ports.push_back(std::move(*port));
    if (comma == text.npos) return ports;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string> rdma_setting_names() {
  std::vector<std::string> names;
  const RdmaSettings any;
  fields([&](const char* name, const About&, const auto&) { names.emplace_back(name); }, any);
  return names;
}

std::vector<std::pair<std::string, std::string>> list(const RdmaSettings& settings) {
  std::vector<std::pair<std::string, std::string>> values;
  fields(
      [&](const char* name, const About&, const auto& value) { values.emplace_back(name, text_of(value)); },
      settings);
  return values;
}

Result<void> set(RdmaSettings& settings, std::string_view name, std::string_view text) {
  Result<void> done = fail(Cause::bad_input, fmt::format("no setting of RDMA is called '{}'", name));
  const auto parse_named = [&](std::string_view of, const About&, auto& value) {
    if (of == name) done = parse(value, text);
  };
  fields(parse_named, settings);
  return done ? check(settings) : done;
}

Result<void> check(const RdmaSettings& settings) {
  RangeCheck ranges;
  fields(ranges, settings);
  const int mtu = settings.mtu;
  if (ranges.result && mtu != 0 && !is_path_mtu(mtu))
    return fail(Cause::bad_input, fmt::format("path_mtu {} is not 256, 512, 1024, 2048 or 4096", mtu));
  return ranges.result;
}

}  // namespace ringtrue::run
