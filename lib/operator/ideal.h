// The bound and each algorithm's ideal, of rates that are given or probed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "operator/documents/topo.h"
#include "operator/facts.h"
#include "operator/setup.h"

namespace ringtrue::ops {

struct IdealRequest {
  Setup setup;
  bool hosts = false;  // of the configured hosts, where files and rates say nothing
  std::optional<int> nodes, gpus;
  std::optional<int> nvlink_domain;  // nodes
  std::optional<BytesPerSecond> inter, intra;
  std::optional<int> mtu;
  std::optional<collective::AlgorithmId> algorithm;
  std::vector<std::string> nics;
  FactRequest facts;

  // Rates or a node's shape: then this machine is not what is meant.
  bool alone() const { return gpus || inter || intra || setup.link_rate_named(); }
};

Outcome<IdealDocument> ideal(const IdealRequest& request, const Control& control);

}  // namespace ringtrue::ops
