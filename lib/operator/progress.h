// What a use case tells while it goes on: values, from any thread, in the order in which things happen.
// Enough to draw a check live.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/phase.h"
#include "diagnosis/check.h"
#include "diagnosis/measurer.h"

namespace ringtrue::ops::progress {

// Of a run over daemons, or of asking them what is in their nodes.
struct Phase {
  ringtrue::Phase phase{};
  int answered = 0, nodes = 0;
};

// What is done that has no numbers: "looking at the nodes".
struct Step {
  std::string what;
};

// One of several alike: "shift 2 of 7".
struct Part {
  std::string what;
  std::size_t number = 0, of = 0;
};

// A call is about to be played.
struct Call {
  collective::AlgorithmId algorithm{};
  std::uint64_t bytes = 0;
  std::size_t number = 0, of = 0;  // among the sizes; 0: there is but one
  bool beside = false;             // the ring that an omnireduce is held against
};

// Before an experiment of a check.
struct Experiment {
  diagnosis::Stage stage{};
  std::string what;
  double budget_used = 0;  // 0..1
};

// What a check may take, as soon as it is known how fast the fleet is; and again where it may take longer.
struct Budget {
  Seconds budget;                  // all of it
  std::optional<Seconds> reading;  // one experiment's; longer, because something is open: nullopt
};

// What an experiment read, hop by hop, and how much was played until then.
struct Reading {
  diagnosis::Observation observation;
  std::vector<std::string> nodes;  // names, by the observation's numbers
  std::uint64_t runs = 0, bytes = 0;
};

// What a check suspects after a round: what is confirmed first.
struct Suspects {
  std::vector<diagnosis::Candidate> suspects;
};

using Event = std::variant<Phase, Step, Part, Call, Experiment, Budget, Reading, Suspects>;
using Sink = std::function<void(const Event&)>;

}  // namespace ringtrue::ops::progress
