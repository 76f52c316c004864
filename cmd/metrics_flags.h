// --metrics-file and --metrics: results for monitoring, after a check.
#pragma once

#include <optional>
#include <string>

#include "cmd/command.h"
#include "cmd/metrics_page.h"
#include "operator/metrics.h"

namespace ringtrue::cmd {

struct MetricsFlags {
  std::optional<std::string> file;
  bool rails = false, paths = false;
  std::optional<std::string> address, pki;  // of watch alone
};

Flags metrics_flags(MetricsFlags& flags);
Flags metrics_page_flags(MetricsFlags& flags);
Result<void> fits(const MetricsFlags& flags);
// Into the file and onto the page, as far as there are any.
Result<void> write_metrics(const MetricsFlags& flags, ops::MetricsRequest request,
                           const ops::CheckDocument* document, MetricsPage* page = nullptr);

}  // namespace ringtrue::cmd
