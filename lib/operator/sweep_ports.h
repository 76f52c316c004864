// sweep over RDMA: the rails of nodes that cannot all meet at once, and the ports beside the rails.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/sweep/pair_schedule.h"
#include "operator/measurer.h"

namespace ringtrue::ops {

// Where not all can meet at once, which is `why`, two by two tell what they have; one that meets none of
// three, nothing. `renew` puts a fresh measurer in the place of one that has failed.
Result<Carrier> settle_apart(const Error& why, const std::unique_ptr<RunMeasurer>& measurer,
                             const std::function<Result<void>()>& renew, const Control& control);

struct AllPorts {
  diagnosis::Ports ports;          // by node, as the nodes are given
  std::vector<std::string> notes;  // what is not among them, and why
  std::optional<Trouble> unread;   // nodes of which not all ports are known
};

// All active ports, the rails and those that the transport would not have taken by itself.
AllPorts all_ports(const Setup& setup, const RunnerOptions& options, const Control& control,
                   const Carrier& carrier, const std::vector<std::string>& nodes, diagnosis::Ports rails);

}  // namespace ringtrue::ops
