// The steps of an algorithm on paper.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collective/recorder.h"

namespace ringtrue::ops {

struct TreeNode {
  int rank = 0;
  std::optional<int> parent;
  std::vector<int> children;
};

struct StepRow {
  int rank = 0;
  std::uint32_t step = 0;
  collective::Step::Kind kind{};
  int peer = 0, lane = 0;
  bool scratch = false;
  std::uint64_t offset = 0, length = 0;
};

struct ScheduleDocument {
  collective::AlgorithmId algorithm{};
  int ranks = 0;
  std::uint64_t bytes = 0;
  std::vector<std::vector<TreeNode>> trees;  // double-tree: two
  bool steps_omitted = false;
  // Calls its argument for every step, rank by rank. There may be millions: they are never held at once.
  std::function<void(const std::function<void(const StepRow&)>&)> each_step;
};

}  // namespace ringtrue::ops
