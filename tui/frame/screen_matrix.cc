// Who sends to whom: the shares as numbers with marks, both headers staying while it scrolls.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/plural.h"
#include "tui/frame/filter.h"
#include "tui/frame/parts.h"
#include "tui/frame/words.h"

namespace ringtrue::tui {
namespace {

constexpr std::size_t grouped_above = 40;
constexpr int cell_width = 4;                // "100!"
constexpr std::string_view and_more = "..";  // a group by its first node

Maybe share_at(const Matrix& m, const View& view, std::size_t from, std::size_t to) {
  const std::size_t layer = m.layers.empty() ? 0 : std::size_t(view.layer) % m.layers.size();
  const Maybe rate = m.rate(layer, from, to);
  const Maybe of = view.baseline ? m.usual(from, to) : m.expected;
  return rate && of && *of > 0 ? Maybe(*rate / *of) : Maybe();
}

// By leaf, or else by so many as they come.
struct Groups {
  std::vector<std::string> names;
  std::vector<std::vector<int>> members;
};

Groups groups_of(const Matrix& m) {
  Groups out;
  if (!m.groups.empty() && m.group.size() == m.names.size()) {
    out.names = m.groups;
    out.members.resize(m.groups.size());
    for (std::size_t i = 0; i < m.names.size(); ++i)
      if (m.group[i] >= 0 && std::size_t(m.group[i]) < out.members.size())
        out.members[std::size_t(m.group[i])].push_back(int(i));
    return out;
  }
  constexpr std::size_t together = 16;
  for (std::size_t i = 0; i < m.names.size(); i += together) {
    const std::size_t end = std::min(i + together, m.names.size());
    out.names.push_back(m.names[i] + std::string(and_more));
    out.members.emplace_back(end - i);
    std::iota(out.members.back().begin(), out.members.back().end(), int(i));
  }
  return out;
}

bool is_part(char c) {  // of a number, or of a character that is longer
  return (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

// How far all names agree from their beginnings, or from their ends, but for numbers; 0 where that is all of
// one.
template <class Begin>  // iterator(const std::string&)
std::size_t agreement(const std::vector<std::string>& names, Begin begin) {
  std::size_t common = names[0].size();
  for (const std::string& name : names) {
    std::size_t same = 0;
    while (same < std::min(common, name.size()) &&
           begin(name)[std::ptrdiff_t(same)] == begin(names[0])[std::ptrdiff_t(same)])
      ++same;
    common = same;
  }
  while (common > 0 && is_part(begin(names[0])[std::ptrdiff_t(common) - 1])) --common;
  const bool is_one_whole =
      std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name.size() == common; });
  return is_one_whole ? 0 : common;
}

// In so few columns: what tells the names apart, or else their numbers.
struct Heads {
  std::vector<std::string> texts;
  std::string left_out;  // "node…", "…example.org"
  bool numbers = false;
};

Heads heads_of(std::vector<std::string> names, const std::vector<int>& ids, const Letters& letters) {
  Heads out;
  const bool all_fit = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return int(columns_of(name)) <= cell_width;
  });
  if (!all_fit && names.size() > 1) {
    const std::size_t start = agreement(names, [](const std::string& name) { return name.begin(); });
    const std::string first = names[0].substr(0, start);
    for (std::string& name : names) name.erase(0, start);
    const std::size_t end = agreement(names, [](const std::string& name) { return name.rbegin(); });
    const std::string last = names[0].substr(names[0].size() - end);
    for (std::string& name : names) name.resize(name.size() - end);
    if (start + end > 0) out.left_out = first + std::string(letters.cut()) + last;
  }
  for (const std::string& name : names)
    out.texts.push_back(fitted_end(shown(name, letters), cell_width, letters));
  if (std::set<std::string>(out.texts.begin(), out.texts.end()).size() < out.texts.size()) {
    out = {{}, "", true};
    for (const int id : ids) out.texts.push_back(std::to_string(id));
  }
  return out;
}

}  // namespace

Cells cells_of(const Snapshot& snapshot, const View& view) {
  Cells out;
  if (!snapshot.matrix) return out;
  const Matrix& m = *snapshot.matrix;
  std::vector<int> rows(m.names.size()), columns;
  std::iota(rows.begin(), rows.end(), 0);
  const Spot& spot = view.here();
  if (!spot.filter.empty()) {
    Table names;
    names.columns = {{"NODE"}};
    names.fields = {"node"};
    names.units = {1};
    if (const auto filter = Filter::parse(spot.filter, names))
      std::erase_if(rows, [&](int i) {
        const std::string& name = m.names[std::size_t(i)];
        return !filter->matches({name, name, Level::good, false, {name}, {{}}, {{}}});
      });
  }
  columns = rows;
  if (m.names.size() > grouped_above && spot.filter.empty()) {
    const Groups groups = groups_of(m);
    if (!spot.open) {
      out.grouped = true;
      out.rows = out.columns = groups.names;
      out.shares.assign(groups.names.size(), std::vector<Maybe>(groups.names.size()));
      for (std::size_t a = 0; a < groups.names.size(); ++a) {
        out.row_ids.push_back(int(a));
        for (std::size_t b = 0; b < groups.names.size(); ++b)
          for (const int i : groups.members[a])
            for (const int j : groups.members[b])
              if (const Maybe share = share_at(m, view, std::size_t(i), std::size_t(j)); share)
                out.shares[a][b] = std::min(out.shares[a][b].value_or(99), *share);
      }
      out.column_ids = out.row_ids;
      return out;
    }
    // "3 5": the groups that were gone into.
    int a = 0, b = 0;
    if (std::size_t cut = spot.key.find(' '); cut != spot.key.npos) {
      a = std::atoi(spot.key.c_str());
      b = std::atoi(spot.key.c_str() + cut);
    }
    const auto members = [&](int g) {
      return g >= 0 && std::size_t(g) < groups.members.size() ? groups.members[std::size_t(g)]
                                                              : std::vector<int>();
    };
    rows = members(a);
    columns = members(b);
  }
  for (const int i : rows) out.rows.push_back(m.names[std::size_t(i)]);
  for (const int j : columns) out.columns.push_back(m.names[std::size_t(j)]);
  for (const int i : rows) {
    out.shares.emplace_back();
    for (const int j : columns)
      out.shares.back().push_back(share_at(m, view, std::size_t(i), std::size_t(j)));
  }
  out.row_ids = std::move(rows);
  out.column_ids = std::move(columns);
  return out;
}

std::string draw_matrix(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  const Cells cells = cells_of(snapshot, view);
  if (cells.rows.empty() || cells.columns.empty() || box.height < 3) {
    draw_text(grid, box,
              snapshot.matrix ? "No node fits the filter."
                              : "No rates between nodes are known: a check measures them.",
              Paint::dim);
    return {};
  }
  const Matrix& m = *snapshot.matrix;
  const int row_at = std::clamp(view.here().row, 0, int(cells.rows.size()) - 1);
  const int column_at = std::clamp(view.here().column, 0, int(cells.columns.size()) - 1);
  const Letters& letters = grid.letters();
  std::vector<std::string> columns = cells.columns;
  if (cells.grouped)
    for (std::string& name : columns)
      if (name.ends_with(and_more)) name.resize(name.size() - and_more.size());
  const Heads heads = heads_of(std::move(columns), cells.column_ids, letters);
  std::vector<std::string> labels = cells.rows;
  if (heads.numbers)
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = fmt::format("{} {}", cells.row_ids[i], labels[i]);
  int label = 4;
  for (const std::string& name : labels)
    label = std::max(label, int(columns_of(shown(name, letters), letters.ambiguous)));
  label = std::min(label, std::max({std::min(20, box.width / 3), box.width / 4, 4}));
  const int pitch = cell_width + 1;
  const int across = std::max((box.width - label) / pitch, 1), down = box.height - 2;
  const int first_row = first_shown(row_at, int(cells.rows.size()), down);
  const int first_column = first_shown(column_at, int(cells.columns.size()), across);
  const std::size_t layer = m.layers.empty() ? 0 : std::size_t(view.layer) % m.layers.size();
  // What is chosen, in full.
  const Maybe& here = cells.shares[std::size_t(row_at)][std::size_t(column_at)];
  std::string says =
      fmt::format("{} -> {}: {}", cells.rows[std::size_t(row_at)], cells.columns[std::size_t(column_at)],
                  cells.grouped ? (here ? "worst " + percent(here) : "not measured") : "");
  if (!cells.grouped) {
    const Maybe rate = m.rate(layer, std::size_t(cells.row_ids[std::size_t(row_at)]),
                              std::size_t(cells.column_ids[std::size_t(column_at)]));
    const RateUnit unit = unit_of(rate.value_or(0));
    says += rate ? fmt::format("{} {}{}", in_unit(rate, unit), unit.name, here ? ", " + percent(here) : "")
            : row_at == column_at && cells.row_ids == cells.column_ids ? "itself"
                                                                       : "not measured";
  }
  if (m.layers.size() > 1) says = fmt::format("[{}] {}", m.layers[layer].name, says);
  if (const Level level = level_of(here, m.warning, m.critical); level >= Level::warning)
    says += fmt::format(" {}", mark_of(level));
  const std::string what = view.baseline ? "% of baseline" : "% of expected";
  const int right = int(columns_of(what));
  if (box.width > right + 20) grid.put_right(box.x + box.width - right, box.y, right, what, Paint::dim);
  grid.put(box.x, box.y, says, paint_of(level_of(here, m.warning, m.critical)),
           box.width > right + 20 ? box.width - right - 1 : box.width);
  grid.put(box.x, box.y + 1, heads.left_out, Paint::dim, label);
  for (int c = 0; c < across && first_column + c < int(cells.columns.size()); ++c) {
    grid.put_right(box.x + label + 1 + c * pitch, box.y + 1, cell_width,
                   heads.texts[std::size_t(first_column + c)], Paint::title);
    if (first_column + c == column_at) grid.reverse(box.x + label + 1 + c * pitch, box.y + 1, cell_width);
  }
  for (int r = 0; r < down && first_row + r < int(cells.rows.size()); ++r) {
    const int y = box.y + 2 + r;
    grid.put(box.x, y, fitted_name(shown(labels[std::size_t(first_row + r)], letters), label, letters),
             Paint::title, label);
    if (first_row + r == row_at) grid.reverse(box.x, y, label);
    for (int c = 0; c < across && first_column + c < int(cells.columns.size()); ++c) {
      const Maybe& share = cells.shares[std::size_t(first_row + r)][std::size_t(first_column + c)];
      const int x = box.x + label + 1 + c * pitch;
      if (share) {
        const char mark = mark_of(level_of(share, m.warning, m.critical));
        grid.put_right(x, y, cell_width, fmt::format("{:.0f}{}", std::min(*share * 100, 999.0), mark),
                       heat(share));
      } else {
        grid.put_right(x, y, cell_width, ". ", Paint::dim);
      }
      if (first_row + r == row_at && first_column + c == column_at) grid.reverse(x, y, cell_width);
    }
  }
  std::string seen_of = seen(first_row, down, int(cells.rows.size()), "rows");
  const std::string seen_across = seen(first_column, across, int(cells.columns.size()), "columns");
  if (!seen_across.empty()) seen_of += (seen_of.empty() ? "" : ", ") + seen_across;
  return seen_of;
}

}  // namespace ringtrue::tui
