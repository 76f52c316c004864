// "did you mean": the candidate nearest to a mistyped word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringtrue {

// Insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b);

// The nearest candidate, if it is near enough to be meant (a third of the word, at least one edit).
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace ringtrue
