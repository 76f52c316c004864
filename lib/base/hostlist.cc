#include "base/hostlist.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "base/file.h"

namespace ringtrue {
namespace {

constexpr std::size_t max_name = 255;
constexpr std::size_t max_text = 4u << 20;  // of a list or of a file
constexpr int max_depth = 8;                // of groups in groups
constexpr std::size_t max_digits = 9;

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

Result<std::string> read_text(const std::string& path) {
  const auto cannot = [&](std::string why) {
    return fail(Cause::unavailable, fmt::format("cannot read hosts from {}: {}", path, why), {},
                "give a readable file with one host a line");
  };
  auto text = read_file(path, max_text);
  if (!text) return cannot(text.error().what);
  return *std::move(text);
}

class Expander {
 public:
  Expander(const HostGroups* groups) : groups_(groups) {}

  // `origin` tells where the text came from when it is not what the user typed.
  Result<void> list(std::string_view text, const std::string& origin, int depth, bool in_file) {
    std::size_t at = 0;
    for (;;) {
      const std::size_t start = at;
      int open = 0;
      while (at < text.size() && !(text[at] == ',' && open == 0)) {
        if (text[at] == '[') ++open;
        if (text[at] == ']' && open > 0) --open;
        ++at;
      }
      std::size_t from = start, to = at;
      while (from < to && is_blank(text[from])) ++from;
      while (to > from && is_blank(text[to - 1])) --to;
      if (from == to) return bad(origin, start, text.empty() ? "no hosts" : "an empty name");
      if (auto r = element(text.substr(from, to - from), origin, from, depth, in_file); !r) return r;
      if (at == text.size()) return {};
      ++at;
    }
  }

  std::vector<std::string> names;

 private:
  static tl::unexpected<Error> bad(const std::string& origin, std::size_t at, std::string why) {
    return fail(
        Cause::bad_input,
        fmt::format("bad host list{}: {} at position {}", origin.empty() ? "" : " in " + origin, why, at + 1),
        {}, "write hosts as node[01-16],node20:7464,@group or ^file");
  }

  Result<void> element(std::string_view text, const std::string& origin, std::size_t at, int depth,
                       bool in_file) {
    if (text[0] == '@') return group(text.substr(1), origin, at, depth);
    if (text[0] == '^') {
      if (in_file) return bad(origin, at, "a file inside a file");
      return file(std::string(text.substr(1)), origin, at, depth);
    }
    if (text.starts_with("unix:")) {
      if (text.size() == 5) return bad(origin, at, "unix: without a path");
      return brackets("", text, origin, at, true);
    }
    if (text[0] == '[') {
      // An IPv6 address in brackets is a name, not a range of numbers.
      const std::size_t close = text.find(']');
      if (close != std::string_view::npos && text.substr(0, close).find(':') != std::string_view::npos) {
        return address(text, close, origin, at);
      }
    }
    return brackets("", text, origin, at, false);
  }

  Result<void> address(std::string_view text, std::size_t close, const std::string& origin, std::size_t at) {
    for (std::size_t i = 1; i < close; ++i) {
      if (!allowed_in_name(text[i]) && text[i] != '%')
        return bad(origin, at + i, "a character that no address has");
    }
    if (close + 1 < text.size()) {
      if (text[close + 1] != ':') return bad(origin, at + close + 1, "something after an address");
      if (auto r = port(text, close + 2, origin, at); !r) return r;
    }
    return add(std::string(text), origin, at);
  }

  Result<void> port(std::string_view text, std::size_t from, const std::string& origin, std::size_t at) {
    unsigned value = 0;
    if (from >= text.size()) return bad(origin, at + from, "no port after ':'");
    for (std::size_t i = from; i < text.size(); ++i) {
      if (!is_digit(text[i])) return bad(origin, at + i, "a port that is not a number");
      value = value * 10 + unsigned(text[i] - '0');
      if (value > 65535) return bad(origin, at + from, "a port above 65535");
    }
    if (value == 0) return bad(origin, at + from, "port 0");
    return {};
  }

  Result<void> group(std::string_view name, const std::string& origin, std::size_t at, int depth) {
    if (depth >= max_depth) return bad(origin, at, "groups that contain each other");
    const auto found = groups_ ? groups_->find(name) : HostGroups::const_iterator{};
    if (!groups_ || found == groups_->end()) {
      std::string known;
      if (groups_) {
        for (const auto& [key, value] : *groups_) known += (known.empty() ? "@" : ", @") + key;
      }
      return fail(Cause::bad_input, fmt::format("unknown host group @{} at position {}", name, at + 1), {},
                  known.empty() ? "define it under [groups] in the configuration" : "known groups: " + known);
    }
    return list(found->second, "group @" + found->first, depth + 1, false);
  }

  Result<void> file(const std::string& path, const std::string& origin, std::size_t at, int depth) {
    if (path.empty()) return bad(origin, at, "'^' without a file");
    if (++files_ > 64) return bad(origin, at, "too many files");
    auto text = read_text(path);
    if (!text) return tl::unexpected(text.error());
    const std::size_t before = names.size();
    std::size_t start = 0;
    for (int line = 1; start <= text->size(); ++line) {
      std::size_t end = text->find('\n', start);
      if (end == std::string::npos) end = text->size();
      std::string_view content = std::string_view(*text).substr(start, end - start);
      content = content.substr(0, content.find('#'));
      while (!content.empty() && is_blank(content.back())) content.remove_suffix(1);
      if (!content.empty()) {
        if (auto r = list(content, fmt::format("{} line {}", path, line), depth, true); !r) return r;
      }
      start = end + 1;
    }
    if (names.size() == before) {
      return fail(Cause::bad_input, "no hosts in " + path, {}, "write one host a line into it");
    }
    return {};
  }

  // Replaces the first bracket of `rest` by each of its numbers, and so on for the others.
  Result<void> brackets(const std::string& head, std::string_view rest, const std::string& origin,
                        std::size_t at, bool path) {
    std::string name = head;
    std::size_t i = 0;
    for (; i < rest.size() && rest[i] != '['; ++i) {
      const char c = rest[i];
      if (c == ']') return bad(origin, at + i, "']' without '['");
      if (path ? (static_cast<unsigned char>(c) < 0x21 || c == 0x7f) : !allowed_in_name(c)) {
        return bad(origin, at + i, "a character that no host name has");
      }
      name += c;
      if (name.size() > max_name) return bad(origin, at + i, "a name of more than 255 characters");
    }
    if (i == rest.size()) return path ? add(std::move(name), origin, at) : host(std::move(name), origin, at);
    const std::size_t close = rest.find(']', i);
    if (close == std::string_view::npos) return bad(origin, at + i, "'[' without ']'");
    if (++bracket_depth_ > 4) return bad(origin, at + i, "more than four brackets");
    std::size_t p = i + 1;
    for (;;) {
      const auto low = number(rest, p);
      if (!low) return bad(origin, at + p, "a number was expected");
      std::uint64_t high = low->value;
      const std::size_t item = p;
      p = low->end;
      if (p < close && rest[p] == '-') {
        const auto upper = number(rest, p + 1);
        if (!upper) return bad(origin, at + p + 1, "a number was expected");
        high = upper->value;
        p = upper->end;
      }
      if (high < low->value) return bad(origin, at + item, "a range that runs backwards");
      if (high - low->value >= max_hosts) return bad(origin, at + item, "more than 100000 hosts");
      for (std::uint64_t n = low->value; n <= high; ++n) {
        auto r = brackets(fmt::format("{}{:0{}}", name, n, low->width), rest.substr(close + 1), origin,
                          at + close + 1, path);
        if (!r) return r;
      }
      if (p == close) break;
      if (rest[p] != ',') return bad(origin, at + p, "',' or '-' was expected");
      ++p;
    }
    --bracket_depth_;
    return {};
  }

  struct Number {
    std::uint64_t value = 0;
    std::size_t width = 0;  // as typed, where it starts with a zero
    std::size_t end = 0;
  };
  static std::optional<Number> number(std::string_view text, std::size_t at) {
    Number n;
    n.end = at;
    while (n.end < text.size() && is_digit(text[n.end]))
      n.value = n.value * 10 + unsigned(text[n.end++] - '0');
    if (n.end == at || n.end - at > max_digits) return std::nullopt;
    if (text[at] == '0') n.width = n.end - at;
    return n;
  }

  Result<void> host(std::string name, const std::string& origin, std::size_t at) {
    const std::size_t colon = name.find(':');
    if (colon == 0) return bad(origin, at, "an empty name");
    if (colon != std::string::npos) {
      if (name.find(':', colon + 1) != std::string::npos) {
        return bad(origin, at, "an IPv6 address without brackets");
      }
      if (auto r = port(name, colon + 1, origin, at); !r) return r;
    }
    if (name[0] == '-') return bad(origin, at, "a name that starts with '-'");
    return add(std::move(name), origin, at);
  }

  Result<void> add(std::string name, const std::string& origin, std::size_t at) {
    if (name.size() > max_name) return bad(origin, at, "a name of more than 255 characters");
    if (names.size() >= max_hosts) return bad(origin, at, "more than 100000 hosts");
    names.push_back(std::move(name));
    return {};
  }

  const HostGroups* groups_;
  int files_ = 0;
  int bracket_depth_ = 0;
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

std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  for (char c : digits) value = value * 10 + unsigned(c - '0');
  return value;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, const HostGroups* groups) {
  if (text.size() > max_text)
    return fail(Cause::bad_input, "bad host list: longer than 4 MiB", {}, "use ^file");
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\n')) text.remove_suffix(1);
  Expander expander(groups);
  if (auto r = expander.list(text, "", 0, false); !r) return tl::unexpected(r.error());
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
