#include "sim/calibrate.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ringtrue::sim {

namespace {

constexpr double coarse = 4, fine = 1.002;  // factors between neighbours in the search
constexpr double far_off = 1e18;
constexpr double near_enough = 0.05;                     // of a sample
constexpr Bytes usual_bucket{std::uint64_t(128) << 10};  // where the search for one begins

class Search {
 public:
  Search(const std::vector<Sample>& samples, Fabric fabric) : samples_(samples), fabric_(std::move(fabric)) {}

  HopCost& cost() { return fabric_.nodes > 1 ? fabric_.inter : fabric_.intra; }

  Bytes& bucket() { return fabric_.bucket; }

  // What the simulator makes of the samples.
  Calibration result() const {
    Calibration out{fabric_.nodes > 1 ? fabric_.inter : fabric_.intra, fabric_.bucket, {}, 0};
    for (const Sample& sample : samples_) {
      out.simulated.push_back(play(sample).value_or(Seconds(0)));
      out.worst = std::max(out.worst, std::abs(out.simulated.back() / sample.time - 1));
    }
    return out;
  }

  // The sum of squares; for more than `enough`, any number above it.
  double distance(double enough) const {
    double sum = 0;
    for (const Sample& sample : samples_) {
      const auto played = play(sample);
      if (!played) return far_off;
      const double off = *played / sample.time - 1;
      sum += off * off;
      if (sum > enough) break;
    }
    return sum;
  }

  // What is left of it.
  double run(bool with_bucket) {
    double best = distance(far_off), bucket = double(fabric_.bucket.value);
    std::vector<double*> values{&cost().rate.value, &cost().latency.value, &cost().overhead.value};
    if (with_bucket) values.push_back(&bucket);
    for (double step = coarse; step > fine; step = std::sqrt(step)) {
      for (bool better = true; better;) {
        better = false;
        for (double* value : values) {
          for (const double factor : {step, 1 / step}) {
            const double before = *value;
            *value *= factor;
            fabric_.bucket = Bytes(std::uint64_t(bucket));
            const double now = distance(best);
            if (now < best * (1 - 1e-9)) {
              best = now;
              better = true;
            } else {
              *value = before;
              fabric_.bucket = Bytes(std::uint64_t(bucket));
            }
          }
        }
      }
    }
    return best;
  }

 private:
  static std::optional<Seconds> time_of(const Result<SimReport>& report) {
    return report && !report->error ? std::optional(report->time) : std::nullopt;
  }

  // nullopt where the simulator cannot.
  std::optional<Seconds> play(const Sample& sample) const {
    SimOptions options;
    if (sample.algorithm->name == "ring") {  // the short cut gives the same time
      options.method = Method::recurrence;
      if (auto time = time_of(simulate(*sample.algorithm, sample.call, fabric_, options))) return time;
    }
    options.method = Method::events;
    return time_of(simulate(*sample.algorithm, sample.call, fabric_, options));
  }

  const std::vector<Sample>& samples_;
  Fabric fabric_;
};

}  // namespace

Result<Calibration> calibrate(const std::vector<Sample>& samples, const Fabric& fabric) {
  const auto refuse = [](const char* what) {
    return fail(Cause::bad_input, what, "calibration",
                "give a run of several sizes, like --from 64K --to 256M");
  };
  const Sample *least = nullptr, *most = nullptr;
  for (const Sample& sample : samples) {
    if (!(sample.time.value > 0) || !std::isfinite(sample.time.value)) return refuse("a sample has no time");
    if (sample.algorithm->uses_packets()) return refuse("packets are not calibrated with");
    if (sample.call.elements == 0) return refuse("a sample has no bytes");
    if (!least || sample.call.bytes() < least->call.bytes()) least = &sample;
    if (!most || sample.call.bytes() > most->call.bytes()) most = &sample;
  }
  if (!least || least->call.bytes() == most->call.bytes()) return refuse("there are no two sizes");

  // Where it begins: a ring's bytes over the longest call, its steps over the shortest.
  const double ranks = std::max(2.0, double(fabric.layout().ranks()));
  const HopCost start{least->time / (2 * (ranks - 1)),
                      BytesPerSecond(2 * (ranks - 1) / ranks * double(most->call.bytes()) / most->time.value),
                      Seconds(1e-6)};
  Search plain(samples, fabric);
  plain.cost() = start;
  const double left = plain.run(false);
  if (left >= far_off) return refuse("the run cannot be played");
  Calibration out = plain.result();
  if (out.worst <= near_enough || fabric.bucket.value > 0 || fabric.nodes < 2) return out;
  Search shaped(samples, fabric);
  shaped.cost() = start;
  shaped.bucket() = usual_bucket;
  if (shaped.run(true) < left / 4) out = shaped.result();
  return out;
}

}  // namespace ringtrue::sim
