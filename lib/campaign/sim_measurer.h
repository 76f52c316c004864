// A fleet on a modelled fabric: what a check asks, it answers as live nodes would, in virtual time. Readings
// are what senders see, with noise and others' traffic; nothing else of the model is told, but for how the
// nodes hang together. It tells no fact that live nodes do not: tests/unit/operator/facts_told_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/keys.h"
#include "campaign/flows.h"
#include "diagnosis/measurer.h"
#include "sim/fabric.h"

namespace ringtrue::campaign {

// What the diagnosis is told of how the nodes hang together.
enum class Told : std::uint8_t {
  nothing,  // as a live check without --leaves
  leaves,   // the leaf that each node hangs below
  fabric,   // and how many spines there are, and the oversubscription
  routes    // the tables by which switches forward, which are by destination then
};

struct World {
  sim::Fabric fabric;  // one rank a node, with what is wrong with it
  Noise noise;
  // Share of the nodes that send to another one for themselves, at up to half of what their NICs carry:
  // in each run others, and the same ones throughout.
  double disturbed = 0, lasting = 0;
  // The faults are away for the last share `away` of every period; 0: they are always there.
  double away = 0;
  Seconds period;
  double intermittent = 0;  // and in this share of the runs, each by a draw of its own
  // By node, where its NICs are of another generation: their rate over the others', which their drivers tell.
  std::map<int, double> generations;
  double generation(int node) const {
    const auto at = generations.find(node);
    return at == generations.end() ? 1 : at->second;
  }
  // RDMA tells rails apart, and no round trips; TCP these, and no rails.
  bool rdma = false;
  Told told = Told::fabric;
  double stale = 0;  // of the rows of told tables: the share that is not in use any more
  std::uint64_t seed = 1;
};

class SimMeasurer final : public diagnosis::Measurer {
 public:
  explicit SimMeasurer(World world) : world_(std::move(world)) {}

  int nodes() const override { return world_.fabric.nodes; }
  std::string name(int node) const override { return "node" + std::to_string(node); }
  diagnosis::Structure structure() const override;
  // A run of ring, pairwise, or naive over two nodes; each draws anew what is drawn. Errors: unreachable,
  // with the node's name as `where`, for a node that is dead; cancelled once `stopped` says so; bad_input for
  // others.
  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) override;

  void stop_when(std::function<bool()> stopped) { stopped_ = std::move(stopped); }

  // In how many of the runs so far the faults were there.
  int runs_with_faults() const { return runs_with_faults_; }

  // The virtual clock: what the runs so far would have taken on live nodes, setting up included.
  Seconds now() const { return now_; }

 private:
  bool faults_are_away() const;
  sim::Fabric fabric_now(std::uint64_t seed) const;
  diagnosis::Observation play(const diagnosis::Experiment& experiment, std::span<const Flow> flows, int turns,
                              std::uint64_t seed, std::uint64_t others) const;

  World world_;
  std::function<bool()> stopped_;
  Seconds now_;
  std::uint64_t runs_ = 0;
  int runs_with_faults_ = 0;
};

}  // namespace ringtrue::campaign

namespace ringtrue {

template <>
inline constexpr const char* keys_of<campaign::Told>[] = {"nothing", "leaves", "fabric", "routes"};

}  // namespace ringtrue
