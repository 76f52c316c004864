// What only a model can say of a run. Plain values in SI units; unknown is nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ringtrue::ops {

// The last size by another algorithm.
struct Comparison {
  std::string algorithm;
  double time_s = 0;
  double ratio = 0;                 // of the result's time over it
  std::optional<double> published;  // the largest that NCCL's makers saw between a ring and a double tree
};

// The last size without the faults at a place.
struct Fix {
  std::string place;
  std::vector<std::string> faults;             // that were there
  std::optional<double> time_s, fixed_time_s;  // unknown where it does not end
  std::optional<double> gain;                  // time over fixed time, less 1
};

// What the fabric's cost was taken from.
struct Calibrated {
  struct Sample {
    std::string algorithm;
    std::uint64_t bytes = 0;
    double measured_s = 0, simulated_s = 0;
  };
  std::string file;
  bool of_model = false;                               // simulate printed the file: nothing was measured
  double latency_s = 0, rate_Bps = 0, overhead_s = 0;  // of a hop; overhead: of a slice
  std::uint64_t bucket_bytes = 0;                      // of a shaper; 0: none
  double worst = 0;                                    // largest deviation, as a share of what was measured
  std::vector<Sample> samples;
};

struct Simulated {
  std::string method, sharing;      // how it was played, and how messages shared links; empty: not at all
  std::vector<std::string> faults;  // as their script
  std::optional<Comparison> comparison;
  std::optional<Fix> fix;
  std::optional<Calibrated> calibration;
};

}  // namespace ringtrue::ops
