#include <fmt/format.h>

#include <toml++/toml.h>

#include "config/config.h"

namespace ringtrue::config {
namespace {

Result<std::string> scalar(const toml::node& node, const std::string& where) {
  if (const auto* s = node.as_string()) return s->get();
  if (const auto* i = node.as_integer()) return fmt::format("{}", i->get());
  if (const auto* f = node.as_floating_point()) return fmt::format("{}", f->get());
  if (const auto* b = node.as_boolean()) return std::string(b->get() ? "true" : "false");
  return fail(Cause::bad_input, "a string or a number was expected", where, "see ringtrue config --help");
}

Result<void> collect(const toml::table& table, const std::string& prefix, const std::string& name,
                     std::vector<Given>& out) {
  for (const auto& [key, node] : table) {
    const std::string full = prefix + std::string(key.str());
    const std::string origin = fmt::format("{} line {}", name, key.source().begin.line);
    if (const toml::table* inner = node.as_table()) {
      if ((!prefix.empty() && full != "tui.keys") || full.size() > 64) {
        return fail(Cause::bad_input, fmt::format("unknown table [{}]", full.substr(0, 64)), origin,
                    "see ringtrue config --help");
      }
      if (inner->empty()) {
        // An empty table is checked too: [deamon] must not pass because nothing is in it.
        out.push_back({full + ".", "", origin});
      }
      if (auto r = collect(*inner, full + ".", name, out); !r) return r;
      continue;
    }
    std::string text;
    const toml::array* array = node.as_array();
    if (array) {
      for (const toml::node& element : *array) {
        auto part = scalar(element, origin);
        if (!part) return tl::unexpected(part.error());
        text += (text.empty() ? "" : ",") + *part;
      }
    } else {
      auto part = scalar(node, origin);
      if (!part) return tl::unexpected(part.error());
      text = *part;
    }
    out.push_back({full, text, origin, array != nullptr});
  }
  return {};
}

// Dotted keys nest a table a dot, and the parser's recursion has an end.
bool nested_too_deep(std::string_view text) {
  constexpr int max_dots = 256;
  int dots = 0;
  for (const char c : text) {
    if (c == '.' && ++dots > max_dots) return true;
    if (std::string_view("=,{}[]\n").find(c) != std::string_view::npos) dots = 0;
  }
  return false;
}

}  // namespace

Result<std::vector<Given>> read_toml(std::string_view text, const std::string& name) {
  if (nested_too_deep(text)) {
    return fail(Cause::bad_input, "a key has more than 256 parts", name,
                "correct the file or give another --config");
  }
  std::vector<Given> out;
  try {
    const toml::table table = toml::parse(text);
    if (auto r = collect(table, "", name, out); !r) return tl::unexpected(r.error());
  } catch (const toml::parse_error& e) {
    return fail(Cause::bad_input, std::string(e.description()),
                fmt::format("{} line {}", name, e.source().begin.line),
                "correct the file or give another --config");
  }
  return out;
}

}  // namespace ringtrue::config
