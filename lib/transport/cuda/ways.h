// Which way bytes go between two ranks' GPU memories, and how a whole group plays because of that. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "collective/types.h"
#include "run/gpu.h"

namespace ringtrue::transport::cuda {

using Way = run::GpuWay;
using Play = run::GpuPlay;  // automatic, kernel or copy_engines

// What is known of one ordered pair: `reader`'s GPU reads `owner`'s memory.
struct Pair {
  collective::Rank reader = 0, owner = 0;
  bool same_process = true, same_gpu = false;
  std::string refused = {};  // why there is no direct access; empty: there is
};

struct Choice {
  Way way = Way::staged;
  std::string why = {};  // of staged: the reason
};
Choice choose(const Pair& pair);

struct Choices {
  Play play = Play::kernel;
  std::string why = {};       // why not the kernel; empty: it is, or it was asked for
  std::vector<Choice> pairs;  // reader * ranks + owner
  collective::Rank ranks = 0;

  const Choice& of(collective::Rank reader, collective::Rank owner) const {
    return pairs[std::size_t(reader) * std::size_t(ranks) + std::size_t(owner)];
  }
};
// All ordered pairs of `ranks` ranks; `no_kernel`: why these GPUs play none, empty: they do. Errors
// (unavailable): the kernel was asked for and cannot be; or only it would do, between processes, whose ranks
// are staged by whoever connects them (see transport.h).
Result<Choices> choose(const std::vector<Pair>& pairs, collective::Rank ranks, Play asked,
                       const std::string& no_kernel = {});

}  // namespace ringtrue::transport::cuda
