// Rows as values: for this room's files that read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/store.h"

namespace ringtrue::history {

// All rows of a statement, as `of` takes them.
template <class T, class Of, class... Values>
Result<std::vector<T>> all(const Store& store, const std::string& text, Of of, const Values&... values) {
  auto rows = store.connection().prepare(text.c_str());
  if (!rows) return tl::unexpected(rows.error());
  rows->with(values...);
  std::vector<T> out;
  if (auto read = each_row(*rows, [&] { out.push_back(of(*rows)); }); !read)
    return tl::unexpected(read.error());
  return out;
}

inline std::optional<std::string> any_fleet(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(name);
}

inline constexpr std::int64_t endless = INT64_MAX;

inline SubjectKey key_at(const Statement& row, int column) {
  return {parse_key<SubjectType>(row.text(column)).value_or(SubjectType::counter), row.text(column + 1),
          row.text(column + 2), row.text(column + 3)};
}

inline Metric metric_of(std::int64_t stored) {
  return Metric(std::uint8_t(stored));
}

}  // namespace ringtrue::history
