// A runner that answers jobs from a small model of a fleet: which bytes a job moves comes from the recorder,
// how fast from the script. Nothing runs and nothing waits.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/phase.h"
#include "collective/algorithm.h"
#include "collective/recorder.h"
#include "fleet/fleet.h"
#include "operator/runner.h"

namespace ringtrue::ops {

struct Fleet {
  int nodes = 4;
  double rate = 100e6;            // bytes per second of every hop
  std::map<int, double> sends{};  // by node: its share of the rate as a sender
  int dead = -1;                  // a node that no run gets over
  int dead_from = 0;              // the number of the run from which on it is
  bool outlives = false;          // such a failure
  int ends_at_play = -1;          // the number of the run that fails, from 0
  Error error{Cause::internal, "the script's error", "", ""};
  std::vector<Failure> failures{};  // behind it, by node
  std::uint64_t wrong = 0;          // elements on rank 0, in every run
  std::function<void()> before{};   // each run
  // Who reaches whom, asked before the runs; nothing: nobody has anything to say.
  std::function<run::RunReport(const run::Job&)> reach{};
  std::vector<run::Job> played{};  // what was asked for
  int runners = 0;                 // that were made
};

class ScriptedFleet final : public Runner {
 public:
  explicit ScriptedFleet(Fleet& fleet) : Runner(place_of(fleet)), fleet_(fleet) { ++fleet.runners; }

  run::Job job() const override {
    run::Job job;
    job.nodes = place().nodes;
    for (int node = 0; node < fleet_.nodes; ++node) job.seats.push_back({node, 0, 0});
    return job;
  }
  void add_aggregators(run::Job&) const override {}

  Outcome<run::RunReport> play(const run::Job& job, Deadline) override {
    if (job.reach) return fleet_.reach ? fleet_.reach(job) : run::RunReport();
    if (fleet_.before) fleet_.before();
    fleet_.played.push_back(job);
    if (int(fleet_.played.size()) - 1 == fleet_.ends_at_play)
      return tl::unexpected(Trouble{fleet_.error, fleet_.failures});
    for (const run::Seat& seat : job.seats) {
      if (seat.node != fleet_.dead || int(fleet_.played.size()) <= fleet_.dead_from) continue;
      const std::string& node = job.nodes[std::size_t(seat.node)];
      if (fleet_.outlives && dead_.empty()) dead_.push_back(failure(node));
      return tl::unexpected(trouble_of(fleet::FleetError{{failure(node)}}));
    }
    return report_of(job);
  }
  bool outlives_failures() const override { return fleet_.outlives && fleet_.nodes - int(dead_.size()) >= 2; }
  std::vector<Failure> dead() const override { return dead_; }

 private:
  Failure failure(const std::string& node) const {
    const Error lost{Cause::peer_lost, "its connections were closed", "", "see that it is up"};
    return {node, Phase::run, lost, true, fleet_.outlives};
  }

  run::RunReport report_of(const run::Job& job) const {
    run::RunReport report;
    report.transports = {run::Transport::tcp};
    const collective::Layout layout = job.layout();
    double longest = 1e-6;
    for (collective::Rank rank = 0; rank < job.ranks(); ++rank) {
      std::map<int, run::Hop> hops;  // by peer
      collective::record(collective::algorithm_of(job.algorithm), layout, rank, job.call,
                         [&](const collective::Step& step) {
                           if (step.kind != collective::Step::Kind::send) return;
                           ++hops[step.peer].messages;
                           hops[step.peer].bytes += Bytes(step.slice.length);
                         });
      for (auto& [peer, hop] : hops) {
        hop.source = rank;
        hop.destination = peer;
        const auto share = fleet_.sends.find(job.seats[std::size_t(rank)].node);
        const double rate = fleet_.rate * (share == fleet_.sends.end() ? 1 : share->second);
        const double busy = double(hop.bytes.value) / rate;
        longest = std::max(longest, busy);
        hop.bytes.value *= std::uint64_t(job.iterations);
        hop.busy = Seconds(busy * job.iterations);
        report.trace.hops.push_back(hop);
      }
    }
    for (int rank = 0; rank < job.ranks(); ++rank) {
      run::RankReport& of = report.ranks.emplace_back();
      of.rank = rank;
      of.time_s.assign(std::size_t(job.iterations), longest);
      of.wrong = rank == 0 ? fleet_.wrong : 0;
    }
    return report;
  }

  static Place place_of(const Fleet& fleet) {
    Place place{.worker_nodes = fleet.nodes, .text = "a script"};
    for (int node = 0; node < fleet.nodes; ++node) place.nodes.push_back(fmt::format("node{}", node));
    return place;
  }

  Fleet& fleet_;
  std::vector<Failure> dead_;
};

// A use case's surroundings: a fleet, who listens, who stops it.
struct Scene {
  Fleet fleet;
  Stop stop;
  std::vector<progress::Event> events;
  Control control{stop, [this](const progress::Event& event) { events.push_back(event); }};

  Setup setup() {
    Setup setup;
    setup.runners = [this](const RunnerOptions&, const Control&) -> Outcome<std::unique_ptr<Runner>> {
      return std::make_unique<ScriptedFleet>(fleet);
    };
    return setup;
  }
  // As an operator who interrupts the run of that number.
  void stop_at(std::size_t number) {
    fleet.before = [this, number] {
      if (fleet.played.size() == number) stop.request();
    };
  }
  template <class T>
  std::vector<T> told() const {
    std::vector<T> out;
    for (const progress::Event& event : events)
      if (const T* one = std::get_if<T>(&event)) out.push_back(*one);
    return out;
  }
};

}  // namespace ringtrue::ops
