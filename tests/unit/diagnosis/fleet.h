// A model of a large fleet for these tests: nodes with rails below leaves, each link a little slower in each
// run by chance, and what a test makes slow, late or dead. Time is counted instead of spent.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "diagnosis/check.h"
#include "wires.h"

namespace ringtrue::diagnosis {

class Fleet : public Measurer {
 public:
  static constexpr double rail_rate = 10e9;  // bytes per second
  static constexpr double round_trip = 10e-6;

  explicit Fleet(int nodes, int leaf_size = 0, int rails = 1, std::uint64_t seed = 1)
      : nodes_(nodes), rails_(rails), random_(seed) {
    if (leaf_size == 0) return;
    for (int i = 0; i < nodes; ++i) hangs.leaf.push_back(i / leaf_size);
    hangs.spines = leaf_size;
  }

  // Factors on what is sent and received by node and rail, on ways between leaves, and on round trips.
  std::function<double(int node, int rail)> sends = [](int, int) { return 1.0; };
  std::function<double(int node, int rail)> receives = [](int, int) { return 1.0; };
  std::function<double(int source, int destination, int rail)> ways = [](int, int, int) { return 1.0; };
  std::function<double(int source, int destination)> trips = [](int, int) { return 1.0; };
  std::set<int> dead, slow_programs;
  double noise = 0.05;
  std::map<int, double> for_others;  // by node: the share of its port that it sends for others throughout
  double disturbed = 0;              // share of the nodes that send for others in each run
  double exchanging = 0;             // and of those that send and receive for others
  double run_seconds = 0.05;         // of each run besides what it moves
  Structure hangs;
  std::vector<Experiment> asked;
  double clock = 0;

  int nodes() const override { return nodes_; }
  std::string name(int node) const override { return "node" + std::to_string(node); }
  Structure structure() const override { return hangs; }

  Result<Observation> measure(const Experiment& e) override {
    asked.push_back(e);
    for (const int node : e.order)
      if (dead.count(node)) return fail(Cause::unreachable, "it does not answer", name(node));
    std::vector<double> out, in;
    for (int i = 0; i < nodes_ * rails_; ++i) {
      const double busy = uniform() < disturbed ? 1 - uniform() / 2 : 1;
      out.push_back(busy / (1 + noise * uniform()));
      in.push_back(1 / (1 + noise * uniform()));
    }
    for (int node = 0; exchanging > 0 && node < nodes_; ++node) {
      if (uniform() >= exchanging) continue;
      for (auto* side : {&out, &in}) {
        const double left = 1 - uniform() / 2;
        for (int k = 0; k < rails_; ++k) (*side)[std::size_t(node * rails_ + k)] *= left;
      }
    }
    Observation seen;
    seen.experiment = e;
    for (const auto& [node, share] : for_others) {
      for (int k = 0; k < rails_; ++k) out[std::size_t(node * rails_ + k)] -= share;
      seen.others[node].sends = share * rails_ * rail_rate;
    }
    const std::size_t n = e.order.size();
    const std::size_t shift = e.algorithm == collective::AlgorithmId::pairwise ? std::size_t(e.shift) : 1;
    for (std::size_t r = 0; r < n; ++r) {
      HopReading hop;
      hop.source = e.order[r], hop.destination = e.order[(r + shift) % n];
      const double bytes =
          double(e.bytes.value) * e.iterations *
          (e.algorithm == collective::AlgorithmId::ring ? 2.0 * double(n - 1) / double(n) : 1);
      hop.bytes = Bytes(std::uint64_t(bytes));
      bool held = false;  // back, by its receiver's program
      for (int k = 0; k < rails_; ++k) {
        const auto from = std::size_t(hop.source * rails_ + k),
                   to = std::size_t(hop.destination * rails_ + k);
        double rate = std::min(sends(hop.source, k) * out[from], receives(hop.destination, k) * in[to]);
        rate = std::min(rate, across(hop) ? ways(hop.source, hop.destination, k) : 1) * rail_rate;
        if (slow_programs.count(hop.destination) && rate > 0.5 * rail_rate)
          rate = 0.5 * rail_rate, held = true;
        const Seconds busy(bytes / rails_ / rate);
        if (rails_ > 1) hop.rails.push_back({k, Bytes(hop.bytes.value / std::uint64_t(rails_)), busy});
        hop.busy = std::max(hop.busy, busy);
      }
      if (held) hop.receiver_limited = hop.busy * 0.9;
      hop.latency = Seconds(round_trip * trips(hop.source, hop.destination) * (1 + 0.01 * uniform()));
      const bool in_turn = e.algorithm == collective::AlgorithmId::naive;  // one direction after the other
      seen.time =
          in_turn ? seen.time + hop.busy / e.iterations : std::max(seen.time, hop.busy / e.iterations);
      seen.hops.push_back(hop);
    }
    clock += run_seconds + seen.time.value * e.iterations;
    return seen;
  }

  Options options() {
    Options options;
    options.clock = [this] { return Seconds(clock); };
    return options;
  }
  Diagnosis check() { return run_check(*this, options()); }

 private:
  bool across(const HopReading& hop) const {
    return hangs.leaf.empty() ||
           hangs.leaf[std::size_t(hop.source)] != hangs.leaf[std::size_t(hop.destination)];
  }
  double uniform() { return double(random_() >> 11) * 0x1p-53; }

  int nodes_, rails_;
  std::mt19937_64 random_;
};

// "slow-nic node3 rail 1": kind, node and device of warnings and worse, sorted.
inline std::vector<std::string> named(const Diagnosis& d) {
  std::vector<std::string> out;
  for (const Finding& f : d.findings) {
    if (f.severity == Severity::info) continue;
    std::string text = key_of(f.kind);
    for (const std::string& part : {f.scope.subject.node, f.scope.peer_name, f.scope.subject.device})
      if (!part.empty()) text += " " + part;
    out.push_back(text);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace ringtrue::diagnosis
