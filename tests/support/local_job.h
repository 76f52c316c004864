// What tests of whole runs begin and end with.
#pragma once

#include <cstdint>

#include "engine/session/session.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::test {

// All ranks in one process of one node.
inline run::Job local_job(const char* algorithm, int ranks, std::uint64_t elements) {
  run::Job job;
  job.algorithm = *parse_key<collective::AlgorithmId>(algorithm);
  job.nodes = {"local"};
  for (int r = 0; r < ranks; ++r) job.seats.push_back({0, 0, r});
  job.call.elements = elements;
  return job;
}

inline std::uint64_t wrong(const run::RunReport& report) {
  std::uint64_t sum = 0;
  for (const run::RankReport& rank : report.ranks) sum += rank.wrong;
  return sum;
}

}  // namespace ringtrue::test
