// A small model of nodes on a switch for these tests: every node's port sends and receives at a rate of its
// own, some pairs have a slower path, readings are disturbed by chance, and time is counted instead of spent.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/phase.h"
#include "diagnosis/check.h"
#include "report/text/wording.h"

namespace ringtrue::diagnosis {

using Names = std::vector<std::string>;

class Wires : public Measurer {
 public:
  static constexpr double full = 62.5e6 * 1448 / 1514;  // payload on a 500 Mbit/s link

  explicit Wires(int nodes, std::uint64_t seed = 1)
      : sends(std::size_t(nodes), full), receives(std::size_t(nodes), full), random(seed) {}

  std::vector<double> sends, receives;          // bytes per second
  std::map<std::pair<int, int>, double> paths;  // slower ones
  double disturbed = 0;                         // share of readings that are lowered
  double disturbance = 0.1;                     // by up to this much
  double burst = 128 * 1024;                    // bytes that a shaper lets through at once
  double overhead = 0.08;                       // seconds an experiment takes besides
  int warmup = 0;                               // further transfers that are not timed
  bool acknowledgements = false;  // queue behind the data of a very slow port and slow its other direction
  bool one_at_a_time = true;      // can use one direction at a time
  double tick = 0;                // seconds: busy times are counted in whole ones, give or take one
  double cpu_busy = 0;
  int ranks = most_ranks_a_node;  // that a node allows
  int fails_at = 0;               // experiment that fails, from 1
  std::map<int, int> dies_at{};   // by node: the experiment from which on it does not answer
  Cause dies_of = Cause::peer_lost;
  std::function<void(Observation&)> tamper;

  double clock = 0;
  std::vector<Experiment> asked;
  int asked_of_dead = 0;
  std::mt19937_64 random;

  int nodes() const override { return int(sends.size()); }
  int ranks_a_node() const override { return ranks; }
  bool outlives_failures() const override { return fails_at == 0; }
  std::string name(int node) const override { return "node" + std::to_string(node); }

  double wire(int x, int y) const {
    double rate = std::min(sends[std::size_t(x)], receives[std::size_t(y)]);
    const auto path = paths.find({x, y});
    return path == paths.end() ? rate : std::min(rate, path->second);
  }

  Result<Observation> measure(const Experiment& e) override {
    asked.push_back(e);
    if (int(asked.size()) == fails_at) {
      clock += 5;
      return fail(Cause::peer_lost, "connection reset by node2", Subject("node2", Phase::run));
    }
    if (auto dead = dead_among(e)) return tl::unexpected(std::move(*dead));
    Observation o;
    o.experiment = e;
    o.cpu_busy = cpu_busy;
    const int n = int(e.order.size());
    const double bytes = e.algorithm == collective::AlgorithmId::ring
                             ? 2.0 * (n - 1) / n * double(e.bytes.value)
                             : double(e.bytes.value);
    double slowest = 1e300, longest = 0, sum = 0;
    for (int r = 0; r < n; ++r)
      slowest = std::min(slowest, wire(e.order[size(r)], e.order[size((r + 1) % n)]));
    for (int r = 0; r < n; ++r) {
      HopReading hop;
      hop.source = e.order[size(r)];
      hop.destination =
          e.order[size((r + (e.algorithm == collective::AlgorithmId::pairwise ? e.shift : 1)) % n)];
      const double total = bytes * e.iterations;
      double rate = wire(hop.source, hop.destination);
      // In a ring the fast hops are paced by the slow one: they read anything about their rate.
      if (e.algorithm == collective::AlgorithmId::ring && rate > slowest * 1.1) rate *= uniform(0.78, 1.25);
      if (acknowledgements && (e.algorithm != collective::AlgorithmId::naive || !one_at_a_time)) {
        rate *= queueing(sends[size(hop.destination)]);
        rate *= queueing(receives[size(hop.source)]);
      }
      if (uniform(0, 1) < disturbed) rate *= uniform(1 - disturbance, 1);
      hop.bytes = Bytes(std::uint64_t(total));
      hop.busy = Seconds(std::max(total - burst, total * 0.1) / rate);
      const double truly = hop.busy.value;
      if (tick > 0) hop.busy = Seconds(tick * std::max(1.0, std::floor(truly / tick + uniform(-0.5, 1.5))));
      longest = std::max(longest, truly), sum += truly;
      o.hops.push_back(hop);
    }
    double time = e.algorithm == collective::AlgorithmId::ring
                      ? std::max(longest, bytes * e.iterations / slowest)
                      : longest;
    if (e.algorithm == collective::AlgorithmId::naive && one_at_a_time) time = sum;
    o.time = Seconds(time / e.iterations);
    clock += overhead + time + warmup * time / e.iterations;
    if (tamper) tamper(o);
    return o;
  }

  // Why an experiment over such a node fails.
  std::optional<Error> dead_among(const Experiment& e) {
    for (const auto& [node, at] : dies_at) {
      if (int(asked.size()) < at || std::find(e.order.begin(), e.order.end(), node) == e.order.end())
        continue;
      clock += asked_of_dead++ == 0 ? 4 : 0;  // once, then it is known
      return Error{dies_of, "no answer for 4.0 s", Subject(name(node), Phase::run), ""};
    }
    return std::nullopt;
  }

  Options options(bool link_rate = true) {
    Options options;
    if (link_rate) options.link_rate = BytesPerSecond(62.5e6);
    options.clock = [this] { return Seconds(clock); };
    return options;
  }

  Diagnosis check(bool link_rate = true) {
    Diagnosis diagnosis = run_check(*this, options(link_rate));
    return diagnosis;
  }

 private:
  static std::size_t size(int i) { return std::size_t(i); }
  double queueing(double port) {
    if (port > 0.95 * full) return 1;
    return port < 0.3 * full   ? uniform(0.15, 0.7)
           : port < 0.6 * full ? uniform(0.4, 0.9)
                               : uniform(0.6, 0.95);
  }
  double uniform(double low, double high) { return low + (high - low) * (double(random() >> 11) * 0x1p-53); }
};

// "sender node3", "path node1 -> node2": warnings and worse, sorted.
inline std::vector<std::string> scopes_of(const Diagnosis& d) {
  std::vector<std::string> out;
  for (const Finding& f : d.findings) {
    if (f.severity == Severity::info) continue;
    std::string text(key_of(f.scope.type));
    if (!f.scope.subject.node.empty()) text += " " + f.scope.subject.node;
    if (!f.scope.peer_name.empty()) text += " -> " + f.scope.peer_name;
    out.push_back(text);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Everything of a diagnosis in a few lines, for a failed test.
inline std::string explain(const Diagnosis& d) {
  std::string out = std::string(key_of(d.verdict)) + ", " + std::to_string(d.cost.runs) + " runs, " +
                    to_text(d.cost.seconds) + "\n";
  for (const Finding& f : d.findings) {
    out += "  " + std::string(key_of(f.severity)) + " " + key_of(f.kind) + " " + f.scope.text() + " ratio " +
           std::to_string(f.ratio.value_or(-1)) + " confidence " + std::to_string(f.confidence) + "\n";
    for (const auto& line : report::sentences(f.evidence)) out += "    " + line + "\n";
    out += "    " + report::sentence(f.impact) + "\n    " + report::sentence(f.next) + "\n";
  }
  for (const NotChecked& n : d.not_checked)
    out += "  not checked: " + report::not_checked(n).what + ": " + report::not_checked(n).why + "\n";
  for (const RunRecord& r : d.runs) {
    out += "  " + std::string(key_of(r.stage)) + " " + std::string(key_of(r.experiment.algorithm)) + " " +
           to_text(r.experiment.bytes) + " " + to_text(r.time) + "\n";
  }
  return out;
}

}  // namespace ringtrue::diagnosis
