#include "tui/frame/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/hostlist.h"
#include "base/suggest.h"
#include "base/units.h"

namespace ringtrue::tui {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
}

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

tl::unexpected<Error> wrong(std::size_t at, const std::string& what, std::string next = {}) {
  return fail(Cause::bad_input, fmt::format("column {}: {}", at + 1, what), {}, std::move(next));
}

enum class Compare { less, at_most, more, at_least, same, other };

bool holds(double value, Compare compare, double limit) {
  switch (compare) {
    case Compare::less:
      return value < limit;
    case Compare::at_most:
      return value <= limit;
    case Compare::more:
      return value > limit;
    case Compare::at_least:
      return value >= limit;
    case Compare::same:
      return value == limit;
    case Compare::other:
      return value != limit;
  }
  return false;
}

struct Number {
  double value = 0;
  enum { plain, share, rate } kind = plain;
};

std::optional<Number> number_of(std::string_view text) {
  Number number;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number.value);
  if (error != std::errc()) return {};
  const std::string_view unit = trimmed(text.substr(std::size_t(rest - text.data())));
  if (unit.empty()) return number;
  if (unit == "%") return Number{number.value / 100, Number::share};
  if (const auto rate = parse_rate(text)) return Number{rate->value, Number::rate};
  return {};
}

}  // namespace

Result<Filter> Filter::parse(std::string_view text, const Table& table) {
  Filter filter;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('&', begin), text.size());
    const std::string_view raw = text.substr(begin, end - begin);
    const std::string_view term = trimmed(raw);
    const std::size_t at = begin + std::min(raw.find_first_not_of(' '), raw.size());
    begin = end + 1;
    if (term.empty()) {
      if (trimmed(text).empty()) return filter;
      return wrong(at, "a condition is missing beside '&'");
    }
    const std::size_t op = term.find_first_of("<>=!");
    if (op == term.npos) {
      if (term.find('[') == term.npos) {
        filter.conditions_.push_back([part = std::string(term)](const Row& row) {
          return contains(row.key, part) ||
                 std::any_of(row.cells.begin(), row.cells.end(),
                             [&](const std::string& cell) { return contains(cell, part); });
        });
        continue;
      }
      if (const std::size_t file = term.find_first_of("^@"); file != term.npos)  // would be read
        return wrong(at + file, "names of nodes alone, no files and groups");
      const auto names = expand_hostlist(term);
      if (!names) return wrong(at, names.error().what);
      filter.conditions_.push_back([set = std::set<std::string, std::less<>>(names->begin(), names->end())](
                                       const Row& row) { return set.contains(row.node); });
      continue;
    }
    const std::string_view name = trimmed(term.substr(0, op));
    const auto field = std::find(table.fields.begin(), table.fields.end(), name);
    if (field == table.fields.end() || name.empty()) {
      std::string all;
      for (const std::string& f : table.fields)
        if (!f.empty()) all += (all.empty() ? "" : ", ") + f;
      const auto near = closest(name, table.fields);
      return wrong(at, fmt::format("no column is called '{}'", name),
                   near ? fmt::format("did you mean {}?", *near) : fmt::format("there are {}", all));
    }
    const std::size_t column = std::size_t(field - table.fields.begin());
    const bool two = op + 1 < term.size() && term[op + 1] == '=';
    if (term[op] == '!' && !two) return wrong(at + op, "'!' needs a '=' behind it");
    const Compare compare = term[op] == '<'   ? (two ? Compare::at_most : Compare::less)
                            : term[op] == '>' ? (two ? Compare::at_least : Compare::more)
                            : term[op] == '!' ? Compare::other
                                              : Compare::same;
    const std::string_view value = trimmed(term.substr(op + (two ? 2 : 1)));
    const std::size_t value_at = at + op + (two ? 2 : 1);
    if (value.empty()) return wrong(value_at, "a value is missing");
    const auto number = number_of(value);
    if (!number) {
      if (compare != Compare::same && compare != Compare::other)
        return wrong(value_at, fmt::format("'{}' is no number", value), "give 40, 95% or 40MB/s");
      filter.conditions_.push_back([column, part = std::string(value), compare](const Row& row) {
        return column < row.cells.size() && contains(row.cells[column], part) == (compare == Compare::same);
      });
      continue;
    }
    const double unit = column < table.units.size() ? table.units[column] : 1;
    filter.conditions_.push_back([column, n = *number, unit, compare](const Row& row) {
      const auto& values = n.kind == Number::share ? row.shares : row.numbers;
      if (column >= values.size() || !values[column]) return false;
      return holds(*values[column], compare, n.kind == Number::rate ? n.value / unit : n.value);
    });
  }
  return filter;
}

bool Filter::matches(const Row& row) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const auto& holds) { return holds(row); });
}

}  // namespace ringtrue::tui
