// Which of a check's runs is the ring whose busbw it gives.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "diagnosis/findings/report.h"

namespace ringtrue::diagnosis {

// The last ring of that busbw; nullopt: the last of any. nullptr: there is none.
template <class Runs>
auto* last_ring_of(Runs& runs, const std::optional<BytesPerSecond>& busbw) {
  const auto ring = std::find_if(runs.rbegin(), runs.rend(), [&](const RunRecord& run) {
    return run.experiment.algorithm == collective::AlgorithmId::ring && run.busbw &&
           (!busbw || run.busbw == busbw);
  });
  return ring == runs.rend() ? nullptr : &*ring;
}

}  // namespace ringtrue::diagnosis
