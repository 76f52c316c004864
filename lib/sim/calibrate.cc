#include "sim/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace ringtrue::sim {

namespace {

constexpr double coarse = 4, fine = 1.002;  // factors between neighbours in the search
constexpr double far_off = 1e18;
constexpr double near_enough = 0.05;                     // of a sample
constexpr double exact = 1e-4;                           // likewise
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
    const HopCost start = cost();
    double best = polish(halve_steps(with_bucket));
    // Where one part of a call hides another, the way to the best has bends: it is looked for from more
    // places.
    HopCost nearest = cost();
    for (const double share : {0.0, 0.25, 0.5, 0.9}) {  // of a step's time, that a slice costs
      if (best < samples_.size() * exact * exact) break;
      cost() = {start.latency * (1 - share), nearest.rate, start.latency * share};
      const double now = polish(distance(far_off));
      if (now < best) best = now, nearest = cost();
    }
    cost() = nearest;
    return polish(halve_steps(with_bucket));
  }

 private:
  // Latency, seconds a byte and overhead: what a call takes is piecewise linear in them.
  using Point = std::array<double, 3>;

  Point point() { return {cost().latency.value, 1 / cost().rate.value, cost().overhead.value}; }

  void go_to(const Point& p) { cost() = {Seconds(p[0]), BytesPerSecond(1 / p[1]), Seconds(p[2])}; }

  double halve_steps(bool with_bucket) {
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

  // Each sample's deviation, as a share; nullopt where one cannot be played.
  std::optional<std::vector<double>> deviations() const {
    std::vector<double> out;
    for (const Sample& sample : samples_) {
      const auto played = play(sample);
      if (!played) return std::nullopt;
      out.push_back(*played / sample.time - 1);
    }
    return out;
  }

  // Gauss-Newton from where the search ended: along the valley where one cost stands in for another, in which
  // steps of one value at a time come to rest.
  double polish(double best) {
    for (int round = 0; round < 20 && best < far_off; ++round) {
      const Point here = point();
      const auto step = step_from(here);
      double now = best;
      for (double share = 1; step && share > 0.1 && !(now < best * (1 - 1e-6)); share /= 2) {
        Point there = here;
        for (int i = 0; i < 3; ++i)
          there[i] = std::max(here[i] + share * (*step)[i], i == 1 ? here[i] / 4 : 0);
        go_to(there);
        now = distance(best);
      }
      if (!(now < best * (1 - 1e-6))) {
        go_to(here);
        break;
      }
      best = now;
    }
    return best;
  }

  // Where the deviations, taken as linear, are least; nullopt where they do not tell.
  std::optional<Point> step_from(const Point& here) {
    const auto at_rest = deviations();
    if (!at_rest) return std::nullopt;
    std::array<std::vector<double>, 3> slopes;
    for (int i = 0; i < 3; ++i) {
      Point aside = here;
      // A time of nothing is moved by a hundredth of what a kilobyte takes.
      const double by = 0.01 * std::max(here[i], i == 1 ? 0 : 1024 * here[1]);
      aside[i] += by;
      go_to(aside);
      const auto moved = deviations();
      go_to(here);
      if (!moved) return std::nullopt;
      for (std::size_t k = 0; k < at_rest->size(); ++k)
        slopes[i].push_back(((*moved)[k] - (*at_rest)[k]) / by);
    }
    return solve(slopes, *at_rest);
  }

  // Least squares of three unknowns by the normal equations, scaled so that their diagonal is 1.
  static std::optional<Point> solve(const std::array<std::vector<double>, 3>& slopes,
                                    const std::vector<double>& at_rest) {
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
      double sum = 0;
      for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
      return sum;
    };
    double rows[3][4], scale[3];
    for (int i = 0; i < 3; ++i) scale[i] = std::sqrt(dot(slopes[i], slopes[i]));
    for (int i = 0; i < 3; ++i) {
      if (!(scale[i] > 0)) return std::nullopt;
      for (int j = 0; j < 3; ++j) rows[i][j] = dot(slopes[i], slopes[j]) / (scale[i] * scale[j]);
      rows[i][i] += 1e-9;  // two that cannot be told apart share what there is to explain
      rows[i][3] = -dot(slopes[i], at_rest) / scale[i];
    }
    for (int i = 0; i < 3; ++i) {  // the matrix is symmetric and positive: no pivots
      for (int below = 0; below < 3; ++below) {
        if (below == i) continue;
        const double factor = rows[below][i] / rows[i][i];
        for (int j = i; j < 4; ++j) rows[below][j] -= factor * rows[i][j];
      }
    }
    Point out;
    for (int i = 0; i < 3; ++i) out[i] = rows[i][3] / rows[i][i] / scale[i];
    return out;
  }

  static std::optional<Seconds> time_of(const Result<SimReport>& report) {
    return report && !report->error ? std::optional(report->time) : std::nullopt;
  }

  // nullopt where the simulator cannot.
  std::optional<Seconds> play(const Sample& sample) const {
    SimOptions options;
    if (sample.algorithm->id == collective::AlgorithmId::ring) {  // the short cut gives the same time
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
  const Sample *smallest = nullptr, *largest = nullptr;
  for (const Sample& sample : samples) {
    if (!(sample.time.value > 0) || !std::isfinite(sample.time.value)) return refuse("a sample has no time");
    if (sample.algorithm->uses_packets()) return refuse("packets are not calibrated with");
    if (sample.call.elements == 0) return refuse("a sample has no bytes");
    if (!smallest || sample.call.bytes() < smallest->call.bytes()) smallest = &sample;
    if (!largest || sample.call.bytes() > largest->call.bytes()) largest = &sample;
  }
  if (!smallest || smallest->call.bytes() == largest->call.bytes()) return refuse("there are no two sizes");

  // Where it begins: a ring's bytes over the longest call, its steps over the shortest.
  const double ranks = std::max(2.0, double(fabric.layout().ranks()));
  const HopCost start{
      smallest->time / (2 * (ranks - 1)),
      BytesPerSecond(2 * (ranks - 1) / ranks * double(largest->call.bytes()) / largest->time.value),
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
