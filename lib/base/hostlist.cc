#include "base/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/file.h"

namespace ringtrue {
namespace {

constexpr std::size_t max_name = 255;
constexpr std::size_t max_text = 4u << 20;  // of a list or of a file
constexpr int max_depth = 8;                // of groups in groups
constexpr std::size_t max_digits = 9;
constexpr int max_brackets = 4, max_files = 64;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool allowed_in_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.' || c == ':';
}

std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  for (char c : digits) value = value * 10 + unsigned(c - '0');
  return value;
}

// A list, and where it came from when it is not what the user typed.
struct Source {
  std::string_view text;
  std::string origin{};
  int depth = 0;  // of groups in groups
  bool is_file = false;
};

class Expander {
 public:
  explicit Expander(const HostGroups* groups) : groups_(groups) {}

  Result<void> list(Source source) {
    std::swap(source, source_);
    auto done = elements(source_.text);
    std::swap(source, source_);
    return done;
  }

  std::vector<std::string> names;

 private:
  // `at` is within the source's text.
  tl::unexpected<Error> bad(std::string_view at, std::string_view why) const {
    return fail(Cause::bad_input,
                fmt::format("bad host list{}{}: {} at position {}", source_.origin.empty() ? "" : " in ",
                            source_.origin, why, position(at)),
                {}, "write hosts as node[01-16],node20:7464,@group or ^file");
  }
  std::ptrdiff_t position(std::string_view at) const { return at.data() - source_.text.data() + 1; }

  Result<void> elements(std::string_view text) {
    if (text.empty()) return bad(text, "no hosts");
    for (;;) {
      int open = 0;
      std::size_t end = 0;
      for (; end < text.size() && (text[end] != ',' || open > 0); ++end) {
        if (text[end] == '[') ++open;
        if (text[end] == ']' && open > 0) --open;
      }
      std::string_view name = text.substr(0, end);
      while (!name.empty() && is_blank(name.front())) name.remove_prefix(1);
      while (!name.empty() && is_blank(name.back())) name.remove_suffix(1);
      if (name.empty()) return bad(text, "an empty name");
      if (auto r = element(name); !r) return r;
      if (end == text.size()) return {};
      text.remove_prefix(end + 1);
    }
  }

  Result<void> element(std::string_view text) {
    element_ = text;
    if (text[0] == '@') return group(text.substr(1));
    if (text[0] == '^') return file(std::string(text.substr(1)));
    const bool path = text.starts_with("unix:");
    if (path && text.size() == 5) return bad(text, "unix: without a path");
    // An IPv6 address in brackets is a name, not a range of numbers.
    const std::size_t close = text.find(']');
    if (text[0] == '[' && close != text.npos && text.substr(0, close).find(':') != text.npos)
      return address(text, close);
    return brackets("", text, path, max_brackets);
  }

  Result<void> address(std::string_view text, std::size_t close) {
    for (std::size_t i = 1; i < close; ++i)
      if (!allowed_in_name(text[i]) && text[i] != '%')
        return bad(text.substr(i), "a character that no address has");
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty()) {
      if (rest[0] != ':') return bad(rest, "something after an address");
      if (auto r = port(rest.substr(1)); !r) return r;
    }
    return add(std::string(text));
  }

  Result<void> port(std::string_view digits) const {
    if (digits.empty()) return bad(element_, "no port after ':'");
    if (!std::all_of(digits.begin(), digits.end(), is_digit))
      return bad(element_, "a port that is not a number");
    const auto port = number(digits);
    if (!port || port->value > 65535) return bad(element_, "a port above 65535");
    if (port->value == 0) return bad(element_, "port 0");
    return {};
  }

  Result<void> group(std::string_view name) {
    if (source_.depth >= max_depth) return bad(element_, "groups that contain each other");
    static const HostGroups none;
    const HostGroups& groups = groups_ ? *groups_ : none;
    if (const auto found = groups.find(name); found != groups.end())
      return list({found->second, "group @" + found->first, source_.depth + 1});
    std::string known;
    for (const auto& [key, value] : groups) known += (known.empty() ? "known groups: @" : ", @") + key;
    return fail(Cause::bad_input,
                fmt::format("unknown host group @{} at position {}", name, position(element_)), {},
                known.empty() ? "define it under [groups] in the configuration" : known);
  }

  Result<void> file(const std::string& path) {
    if (source_.is_file) return bad(element_, "a file inside a file");
    if (path.empty()) return bad(element_, "'^' without a file");
    if (++files_ > max_files) return bad(element_, "too many files");
    const auto text = read_file(path, max_text);
    if (!text)
      return fail(Cause::bad_input, fmt::format("cannot read hosts from {}: {}", path, text.error().what), {},
                  "give a readable file with one host a line");
    const std::size_t before = names.size();
    std::string_view rest = *text;
    for (int line = 1; !rest.empty(); ++line) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view content = rest.substr(0, end);
      content = content.substr(0, content.find('#'));
      while (!content.empty() && is_blank(content.back())) content.remove_suffix(1);
      if (!content.empty())
        if (auto r = list({content, fmt::format("{} line {}", path, line), source_.depth, true}); !r)
          return r;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (names.size() > before) return {};
    return fail(Cause::bad_input, "no hosts in " + path, {}, "write one host a line into it");
  }

  // Replaces the first bracket of `rest` by each of its numbers, and so on for the others.
  Result<void> brackets(std::string name, std::string_view rest, bool path, int brackets_left) {
    for (; !rest.empty() && rest[0] != '['; rest.remove_prefix(1)) {
      const char c = rest[0];
      if (c == ']') return bad(rest, "']' without '['");
      if (path ? (static_cast<unsigned char>(c) < 0x21 || c == 0x7f) : !allowed_in_name(c))
        return bad(rest, "a character that no host name has");
      name += c;
      if (name.size() > max_name) return bad(rest, "a name of more than 255 characters");
    }
    if (rest.empty()) return path ? add(std::move(name)) : host(std::move(name));
    const std::size_t close = rest.find(']');
    if (close == rest.npos) return bad(rest, "'[' without ']'");
    if (brackets_left == 0) return bad(rest, "more than four brackets");
    for (std::string_view ranges = rest.substr(1);; ranges.remove_prefix(1)) {
      const std::string_view item = ranges;
      const auto low = take_number(ranges);
      if (!low) return bad(ranges, "a number was expected");
      auto high = low;
      if (ranges[0] == '-') {
        ranges.remove_prefix(1);
        high = take_number(ranges);
        if (!high) return bad(ranges, "a number was expected");
      }
      if (high->value < low->value) return bad(item, "a range that runs backwards");
      if (high->value - low->value >= max_hosts) return bad(item, "more than 100000 hosts");
      for (std::uint64_t n = low->value; n <= high->value; ++n) {
        auto r = brackets(fmt::format("{}{:0{}}", name, n, low->width), rest.substr(close + 1), path,
                          brackets_left - 1);
        if (!r) return r;
      }
      if (ranges[0] == ']') return {};
      if (ranges[0] != ',') return bad(ranges, "',' or '-' was expected");
    }
  }

  struct Number {
    std::uint64_t value = 0;
    std::size_t width = 0;  // as typed, where it starts with a zero
  };
  static std::optional<Number> number(std::string_view digits) {
    if (digits.empty() || digits.size() > max_digits) return std::nullopt;
    return Number{value_of(digits), digits[0] == '0' ? digits.size() : 0};
  }
  // The one that `text` begins with; only where there is one, it is taken away.
  static std::optional<Number> take_number(std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto taken = number(text.substr(0, std::size_t(end - text.begin())));
    if (taken) text.remove_prefix(std::size_t(end - text.begin()));
    return taken;
  }

  Result<void> host(std::string name) {
    const std::size_t colon = name.find(':');
    if (colon == 0) return bad(element_, "an empty name");
    if (colon != name.npos) {
      if (name.find(':', colon + 1) != name.npos) return bad(element_, "an IPv6 address without brackets");
      if (auto r = port(std::string_view(name).substr(colon + 1)); !r) return r;
    }
    if (name[0] == '-') return bad(element_, "a name that starts with '-'");
    return add(std::move(name));
  }

  Result<void> add(std::string name) {
    if (name.size() > max_name) return bad(element_, "a name of more than 255 characters");
    if (names.size() >= max_hosts) return bad(element_, "more than 100000 hosts");
    names.push_back(std::move(name));
    return {};
  }

  const HostGroups* groups_;
  Source source_{};
  std::string_view element_;  // of the source, that is being read
  int files_ = 0;
};

// The number in a name that neighbours count up: the last one before the domain and the port; an IPv4
// address counts in its last part.
struct Parts {
  std::string_view prefix, digits, suffix;
};

std::optional<Parts> parts_of(std::string_view name) {
  if (name.empty() || name[0] == '[') return std::nullopt;
  const bool path = name.starts_with("unix:");
  std::size_t end = path ? name.size() : std::min(name.find(':'), name.size());
  const bool ipv4 = name.substr(0, end).find_first_not_of("0123456789.") == std::string_view::npos;
  if (!ipv4 && !path) end = std::min(name.find('.'), end);
  std::size_t last = end;
  while (last > 0 && !is_digit(name[last - 1])) --last;
  std::size_t first = last;
  while (first > 0 && is_digit(name[first - 1])) --first;
  if (first == last || last - first > max_digits) return std::nullopt;
  return Parts{name.substr(0, first), name.substr(first, last - first), name.substr(last)};
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, const HostGroups* groups) {
  if (text.size() > max_text)
    return fail(Cause::bad_input, "bad host list: longer than 4 MiB", {}, "use ^file");
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\n')) text.remove_suffix(1);
  Expander expander(groups);
  if (auto r = expander.list({text}); !r) return tl::unexpected(r.error());
  return std::move(expander.names);
}

std::string fold_hostlist(const std::vector<std::string>& hosts) {
  std::string out;
  for (std::size_t i = 0; i < hosts.size();) {
    if (!out.empty()) out += ',';
    const auto first = parts_of(hosts[i]);
    if (!first) {
      out += hosts[i++];
      continue;
    }
    // Ranges of neighbours with the same prefix and suffix, in the order given.
    std::string ranges;
    std::size_t j = i;
    while (j < hosts.size()) {
      const auto low = parts_of(hosts[j]);
      if (!low || low->prefix != first->prefix || low->suffix != first->suffix) break;
      const std::size_t width = low->digits[0] == '0' ? low->digits.size() : 0;
      std::uint64_t high = value_of(low->digits);
      std::size_t k = j + 1;
      for (; k < hosts.size(); ++k) {
        const auto next = parts_of(hosts[k]);
        if (!next || next->prefix != first->prefix || next->suffix != first->suffix) break;
        if (next->digits != fmt::format("{:0{}}", high + 1, width)) break;
        ++high;
      }
      if (!ranges.empty()) ranges += ',';
      ranges += low->digits;
      if (k > j + 1) ranges += fmt::format("-{:0{}}", high, width);
      j = k;
    }
    if (j == i + 1) {
      out += hosts[i];
    } else {
      out += fmt::format("{}[{}]{}", first->prefix, ranges, first->suffix);
    }
    i = j;
  }
  return out;
}

}  // namespace ringtrue
