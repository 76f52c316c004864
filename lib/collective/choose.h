// `auto`: predicts every algorithm's time from latency and rate per hop, and takes the shortest.
//
// The model is Hockney's, T = steps x latency + bytes / rate (as in NCCL's src/graph/tuning.cc and in
// Thakur, Rabenseifner, Gropp 2005), with one pair of numbers for hops inside a node and one for hops
// between nodes. Between nodes, all ranks of a node share the node's rate.
#pragma once

#include <string>
#include <vector>

#include "collective/algorithm.h"

namespace ringtrue::collective {

// One hop: a message of b bytes takes latency + overhead + b / rate, and keeps its port for overhead + b /
// rate.
struct HopCost {
  Seconds latency;
  BytesPerSecond rate;  // one way
  Seconds overhead;     // of each message, at the sender
};

struct Costs {
  HopCost intra;               // inside a node; rate per rank
  HopCost inter;               // between nodes; rate per node
  bool shared_memory = false;  // all ranks reach each other's memory
  // Threads that play all ranks of a node in turn, so that messages which cross nothing but memory take their
  // overhead one after the other; 0: every rank has a core of its own.
  int players = 0;
};

struct Prediction {
  AlgorithmId algorithm;
  Seconds time;
};

struct Choice {
  const Algorithm* algorithm = nullptr;
  std::string reason;                   // one sentence
  std::vector<Prediction> predictions;  // applicable algorithms, shortest time first
};

// Never fails: ring and others apply everywhere. Rates must be above zero.
Choice choose(const Layout& layout, const Call& call, const Costs& costs);

}  // namespace ringtrue::collective
