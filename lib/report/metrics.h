// Results for Prometheus: names, units and labels are docs/metrics.md's.
#pragma once

#include <string>

#include "operator/documents/metrics.h"

namespace ringtrue::report {

std::string metrics(const ops::MetricsDocument& document);

}  // namespace ringtrue::report
