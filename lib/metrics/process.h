// What every program tells of itself, by the names that Prometheus' own libraries give it.
#pragma once

#include <vector>

#include "metrics/exposition.h"

namespace ringtrue::metrics {

// CPU time, resident memory, open files and start of this process; by /proc, microseconds. What cannot be
// read has no series.
std::vector<Family> process_families();

}  // namespace ringtrue::metrics
