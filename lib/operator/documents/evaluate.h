// A campaign's score, and one of its cases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/accuracy.h"
#include "operator/documents/check.h"

namespace ringtrue::ops {

struct EvaluateDocument {
  std::uint64_t seed = 1;
  int min_nodes = 0, max_nodes = 0;  // of the modelled clusters
  double noise = 0;                  // of a run and of a slice
  std::string command;               // that plays the same cases again
  diagnosis::Score score;
  std::optional<Trouble> error;  // why not all cases were played
};

// One case in full: what is wrong, what was measured, what was said.
struct CaseDocument {
  std::uint64_t campaign_seed = 1;
  diagnosis::Listed drawn;
  std::string summary;              // of its kind
  std::string fabric;               // in words, its faults with it
  std::vector<std::string> faults;  // as --fault takes them
  diagnosis::CaseScore score;
  CheckDocument check;
};

}  // namespace ringtrue::ops
