// Findings about trunks, cables and switches, where routes tell them apart.
#pragma once

#include "diagnosis/findings/report.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/trunks.h"

namespace ringtrue::diagnosis {

struct MeasuredTrunks {
  const Crossings& crossings;
  const TrunkInference& inference;
  double reference = 0;  // bytes per second of a hop
  int unmet = 0;         // trunks that no hop has crossed
};

// Adds them to what was concluded of the nodes, with what could not be told, and to its verdict.
void add_trunks(const MeasuredTrunks& m, const Thresholds& thresholds, Diagnosis& diagnosis);

}  // namespace ringtrue::diagnosis
