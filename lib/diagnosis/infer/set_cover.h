// The fewest causes that explain all slow pairs.
#pragma once

#include <vector>

#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

struct Pair {
  int source = 0;
  int destination = 0;
  bool counts = true;  // would be a cause of its own (a slow path) if no side explained it
};

struct Cover {
  std::vector<Side> sides;
  std::vector<bool> alternative;  // by side: another set with as few causes does without it
};

// Each side and each pair that no side explains is one cause. Between equal numbers the set with more sides
// wins. Exact for up to 12 candidates; beyond, greedy by pairs explained, without superfluous sides.
Cover minimum_set_cover(const std::vector<Pair>& slow, const std::vector<Side>& candidates);

}  // namespace ringtrue::diagnosis
