// From suspects to findings, what could not be told, and the verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/evidence.h"
#include "diagnosis/findings/report.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/late.h"

namespace ringtrue::diagnosis {

// What findings are drawn from.
struct Measured {
  const Evidence& seen;
  const Readings& readings;  // Evidence::readings as those of `inference` are
  const Inference& inference;
  const Thresholds& thresholds;
  const Structure& structure;
  std::vector<Late> late{};
};

// Adds findings, not_checked and rates to `diagnosis`, whose nodes, rails, expected and ring_busbw are filled
// in, and sets its verdict.
void conclude(const Measured& m, Diagnosis& diagnosis);

}  // namespace ringtrue::diagnosis
