// What a GPU has to show, each figure beside what is wanted of it: on a real one by tests/bench/cuda.cc, and
// small by a scripted one in a unit test. Times are the GPU's own clock, the median of several runs.
//
// Bytes count what crosses the GPU's memory bus if nothing stays in its caches: each source read once, each
// result written once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collective/types.h"
#include "transport/cuda/driver.h"

namespace ringtrue::test {

struct Figure {
  std::string what, measured, wanted;  // wanted: empty where nothing is
  bool met = true;
};

struct FigureSettings {
  int gpu = 0;
  std::uint64_t large = 1 << 30;  // bytes of the largest buffers; less where the GPU has no room
  std::uint64_t medium = 64 << 20;
  int repeats = 10;
  std::string parts =
      "memory,host,collectives,results";  // what is done; collectives are held against memory's
  std::vector<collective::Rank> ranks = {1, 2, 3, 4, 5, 6, 7, 8};  // whose results are compared
};

// Tells each figure when it is known. Errors: what ended it.
Result<void> tell_figures(transport::cuda::Driver& driver, const FigureSettings& settings,
                          const std::function<void(const Figure&)>& tell);

}  // namespace ringtrue::test
