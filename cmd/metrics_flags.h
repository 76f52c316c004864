// --metrics-file: results for monitoring, after a check.
#pragma once

#include <optional>
#include <string>

#include "cmd/command.h"
#include "operator/metrics.h"

namespace ringtrue::cmd {

struct MetricsFlags {
  std::optional<std::string> file;
  bool paths = false;
};

Flags metrics_flags(MetricsFlags& flags);
Result<void> fits(const MetricsFlags& flags);
// Does nothing where no file was given.
Result<void> write_metrics(const MetricsFlags& flags, ops::MetricsRequest request,
                           const ops::CheckDocument* document);

}  // namespace ringtrue::cmd
