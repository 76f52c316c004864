// Counters around runs, as evidence for what the runs found.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/findings/report.h"
#include "diagnosis/measurer.h"
#include "run/counter_window.h"

namespace ringtrue::diagnosis {

using Windows = std::map<std::string, run::CounterWindow>;  // by name of the node

// One run's windows behind those before it.
void add(const Windows& windows, Windows& sum);

// Whether a counter's device ("mlx5_0/1") is one of these ports.
bool of_rails(const std::string& device, const std::vector<RdmaPort>& rails);

// The counters of errors that rose, worst first, as "mlx5_0 port 1: 412 symbol errors". Of RDMA ports only
// those of `rails`, where there are any: a node may see others' devices, and has some that carry nothing.
std::vector<std::string> risen(const run::CounterWindow& window, const std::vector<RdmaPort>& rails = {});

// The same of RDMA ports by the kernel's own names, a line a port: "rxe2 port 1: out_of_seq_request +123,
// rcvd_seq_err +4".
std::vector<std::string> risen_by_name(const run::CounterWindow& window, const std::vector<RdmaPort>& rails);

// A line of evidence for each counter of errors that rose on a node that a finding of slowness names:
// "node3 mlx5_0 port 1: 412 symbol errors during the check". Findings about fleets and parts stay as they
// are, and so do ports that the evidence tells of by name already.
void join_counters(const Windows& windows, const std::map<std::string, std::vector<RdmaPort>>& rails,
                   std::string_view when, std::vector<Finding>& findings);

}  // namespace ringtrue::diagnosis
