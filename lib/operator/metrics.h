// What monitoring is told, from a check and the history.
#pragma once

#include <optional>
#include <string>

#include "operator/documents/check.h"
#include "operator/documents/metrics.h"
#include "operator/history.h"

namespace ringtrue::ops {

inline constexpr std::size_t most_finding_infos = 200;
inline constexpr std::size_t most_nodes_with_path_metrics = 32;

struct MetricsRequest {
  std::string fleet, version;
  std::optional<HistoryPlace> place;  // nullopt: nothing is recorded
  std::optional<Seconds> interval;
  bool paths = false;  // a series a path; of fleets that are small enough
  bool rails = false;  // series of each port that RDMA went through
};

// `document`: nullptr: the check had nothing to show, at `now_us`. A history that cannot be read leaves out
// what is in it.
MetricsDocument metrics_of(const MetricsRequest& request, const CheckDocument* document, std::int64_t now_us);

// The same of the last check that is recorded of the fleet, as far as the history keeps it: who was silent
// and what could not be told is unknown. Errors: of the history, and bad_input where it has no check of the
// fleet.
Result<MetricsDocument> metrics_recorded(const MetricsRequest& request);
// That this program speaks with daemons.
std::uint32_t protocol();

}  // namespace ringtrue::ops
