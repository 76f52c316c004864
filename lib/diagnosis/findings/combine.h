// What inspection and measurement found, as one diagnosis.
#pragma once

#include "diagnosis/findings/report.h"
#include "diagnosis/inspect/inspect.h"

namespace ringtrue::diagnosis {

// The worst of findings: critical makes faulty, a warning degraded, info and none healthy.
Verdict verdict_of(const std::vector<Finding>& findings);

// Adds findings that were made before anything was measured: verdict and order as for those of inspection.
void combine(Diagnosis& diagnosis, std::vector<Finding> before);

// Adds what inspection found to what was measured; worst first, measured ones before others that are as
// grave. The verdict becomes the worse of both; an unknown one stays so unless something is faulty. Nodes of
// the findings are those of the diagnosis, by name.
void combine(Diagnosis& diagnosis, Inspection inspection);

}  // namespace ringtrue::diagnosis
