// The rows of a screen as text and numbers: drawn, filtered, sorted and exported alike.
#pragma once

#include <string>
#include <vector>

#include "tui/frame/columns.h"
#include "tui/frame/view.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

struct Row {
  std::string key;   // of the node or finding, unique
  std::string node;  // that filters by names look at
  Level level = Level::good;
  bool dim = false;
  std::vector<std::string> cells;
  std::vector<Maybe> numbers;  // by column, in the unit that is shown
  std::vector<Maybe> shares;   // by column, of what is expected
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::string> fields;  // by column: its name in filters, "send"
  std::vector<double> units;        // by column: of its numbers, in SI units
  std::vector<Row> rows;
};

// All rows of the screen that is looked at; problems first where that has a meaning. Empty of screens that
// are no tables.
Table all_rows(const Snapshot& snapshot, const View& view);
// Those that are to be shown, in the order asked for.
Table shown_rows(const Snapshot& snapshot, const View& view);

enum class Export { text, csv, json };
std::string exported(const Table& table, Export format);

}  // namespace ringtrue::tui
