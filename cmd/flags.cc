#include "cmd/flags.h"

#include <fmt/format.h>

#include <cctype>

#include "base/number.h"

namespace ringtrue::cmd {

std::string Flag::long_name() const {
  const std::size_t at = names.find("--");
  return at == names.npos ? "" : names.substr(at);
}

Flags join(std::initializer_list<Flags> groups) {
  Flags out;
  for (const Flags& group : groups) out.insert(out.end(), group.begin(), group.end());
  return out;
}

Flags in_group(const std::string& heading, Flags flags) {
  for (Flag& flag : flags) flag.group = heading;
  return flags;
}

Flag required(Flag flag) {
  flag.required = true;
  return flag;
}

Flag hidden(Flag flag) {
  flag.hidden = true;
  return flag;
}

Flag excluding(Flag flag, const std::string& other) {
  flag.excludes = other;
  return flag;
}

Flag toggle(const std::string& names, bool& target, const std::string& help) {
  return {names, "", help, {}, &target};
}

Flag texts(const std::string& names, std::vector<std::string>& target, const std::string& type,
           const std::string& help, char split) {
  const auto read = [&target](std::string_view text) -> Result<void> {
    target.emplace_back(text);
    return {};
  };
  Flag flag{names, type, help, read};
  flag.many = true;
  flag.split = split;
  return flag;
}

Result<long> parse_whole(std::string_view text, long low, long high) {
  const auto value = parse_number<long>(text);
  if (value && *value >= low && *value <= high) return *value;
  return fail(Cause::bad_input,
              fmt::format("'{}' is not a whole number from {} to {}", text.substr(0, 40), low, high));
}

Result<std::pair<long, long>> parse_range(std::string_view text, long low, long high) {
  const auto dash = text.find('-');
  const auto first = parse_whole(text.substr(0, dash), low, high);
  if (!first) return tl::unexpected(first.error());
  const auto last = dash == text.npos ? first : parse_whole(text.substr(dash + 1), low, high);
  if (!last) return tl::unexpected(last.error());
  if (*last < *first)
    return fail(Cause::bad_input, fmt::format("'{}' is not ascending", text), {}, "give the lower one first");
  return std::pair(*first, *last);
}

Result<double> parse_share_up_to(double max, std::string_view text) {
  if (const auto share = parse_share(text, max)) return *share;
  return fail(Cause::bad_input,
              fmt::format("'{}' is not a share from 0 to {:g}%", text.substr(0, 40), max * 100), {},
              "like 5% or 0.05");
}

tl::unexpected<Error> no_choice(const std::string& names, std::string_view text,
                                const std::vector<std::string>& words) {
  std::string list = words[0], what;
  for (std::size_t i = 1; i < words.size(); ++i) list += (i + 1 < words.size() ? ", " : " or ") + words[i];
  for (const char c : names)  // "--color", "SHELL"
    if (c != '-' || !what.empty()) what += char(std::tolower(static_cast<unsigned char>(c)));
  return fail(Cause::bad_input, fmt::format("unknown {} '{}'", what, text.substr(0, 40)), {}, "use " + list);
}

}  // namespace ringtrue::cmd
