#include "wire/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace ringtrue::wire {
namespace {

Program& mutable_program() {
  static Program program{RINGTRUE_VERSION, protocol_version, oldest_protocol};
  return program;
}

std::uint32_t oldest_of(const Program& p) {
  return p.oldest == 0 ? p.protocol : p.oldest;
}

// Major and minor of "0.1.3".
std::optional<std::pair<int, int>> series(std::string_view version) {
  const auto dot = version.find('.');
  if (dot == version.npos) return std::nullopt;
  const auto major = parse_number<int>(version.substr(0, dot));
  version.remove_prefix(dot + 1);
  const auto minor = parse_number<int>(version.substr(0, version.find('.')));
  if (!major || !minor || *major < 0 || *minor < 0) return std::nullopt;
  return std::pair(*major, *minor);
}

bool neighbours(std::string_view a, std::string_view b) {
  const auto x = series(a), y = series(b);
  if (!x || !y) return a == b;
  const auto [low, high] = std::minmax(*x, *y);
  return low.first == high.first ? high.second - low.second <= 1 : high.first - low.first == 1;
}

std::string text_of(const Program& p) {
  const std::string version = p.version.empty() ? "unknown" : one_line(p.version, 64);
  const std::uint32_t oldest = oldest_of(p);
  return oldest == p.protocol ? fmt::format("{} (protocol {})", version, p.protocol)
                              : fmt::format("{} (protocols {} to {})", version, oldest, p.protocol);
}

}  // namespace

const Program& this_program() {
  return mutable_program();
}

void speak_as(Program program) {
  mutable_program() = std::move(program);
}

bool compatible(const Program& a, const Program& b) {
  return std::max(oldest_of(a), oldest_of(b)) <= std::min(a.protocol, b.protocol) &&
         neighbours(a.version, b.version);
}

Error version_mismatch(const Program& daemon, const Program& operators) {
  return Error{Cause::refused,
               fmt::format("ringtrued is version {}, the operator's ringtrue is version {}", text_of(daemon),
                           text_of(operators)),
               "", "install the same release on both, or the one next to it"};
}

}  // namespace ringtrue::wire
