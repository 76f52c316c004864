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

// Years of daily checks, judged by the rule of regressions.
struct YearsDocument {
  struct Row {
    std::string what;
    long count = 0, of = 0;
    std::string wanted;  // what is asked of it; empty: nothing
  };
  std::uint64_t seed = 1;
  long years = 0, checks = 0;
  int min_nodes = 0, max_nodes = 0;
  std::string command;
  std::vector<Row> rows;
  std::optional<Trouble> error;
};

}  // namespace ringtrue::ops
