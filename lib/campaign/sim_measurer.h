// A fleet on a modelled fabric: what a check asks, it answers as live nodes would, in virtual time. Readings
// are what senders see, with noise and others' traffic; nothing else of the model is told, but for how the
// nodes hang together.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "campaign/flows.h"
#include "diagnosis/measurer.h"
#include "sim/fabric.h"

namespace ringtrue::campaign {

struct World {
  sim::Fabric fabric;  // one rank a node, with what is wrong with it
  Noise noise;
  // Share of the nodes that, in each run, send to another one for themselves, at up to half a NIC's rate.
  double disturbed = 0;
  std::uint64_t seed = 1;
};

class SimMeasurer final : public diagnosis::Measurer {
 public:
  explicit SimMeasurer(World world) : world_(std::move(world)) {}

  int nodes() const override { return world_.fabric.nodes; }
  std::string name(int node) const override { return "node" + std::to_string(node); }
  diagnosis::Structure structure() const override;
  // A run of ring, pairwise, or naive over two nodes; each draws anew what is drawn. Errors: unreachable,
  // with the node's name as `where`, for a node that is dead; bad_input for others.
  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) override;

  // The virtual clock: what the runs so far would have taken on live nodes, setting up included.
  Seconds now() const { return now_; }

 private:
  diagnosis::Observation play(const diagnosis::Experiment& experiment, std::span<const Flow> flows, int turns,
                              std::uint64_t seed) const;

  World world_;
  Seconds now_;
  std::uint64_t runs_ = 0;
};

}  // namespace ringtrue::campaign
