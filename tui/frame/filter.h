// What is typed behind '/': conditions that all hold, joined by '&'.
//
//   send<95%          a column against a share of what is expected
//   errors>0          ... a number in the unit that is shown
//   recv<40MB/s       ... a rate
//   held=alice        a column that contains a text; != does not
//   node[01-08]       names of nodes
//   slow              a text in any column
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tui/frame/table.h"

namespace ringtrue::tui {

class Filter {
 public:
  // Errors (bad_input) name the column of the text, counted from 1.
  static Result<Filter> parse(std::string_view text, const Table& table);
  bool matches(const Row& row) const;

 private:
  std::vector<std::function<bool(const Row&)>> conditions_;
};

}  // namespace ringtrue::tui
