#include "sim/calibrate.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ringtrue::sim {

namespace {

constexpr double coarse = 4, fine = 1.002;  // factors between neighbours in the search
constexpr double far_off = 1e18;

class Search {
 public:
  Search(const std::vector<Sample>& samples, Fabric fabric) : samples_(samples), fabric_(std::move(fabric)) {}

  HopCost& cost() { return fabric_.nodes > 1 ? fabric_.inter : fabric_.intra; }

  // What the simulator makes of the samples; nullopt where it cannot.
  std::optional<std::vector<Seconds>> play() const {
    std::vector<Seconds> out;
    SimOptions options;
    for (const Sample& sample : samples_) {
      // The short cut for rings gives the same times.
      options.method = sample.algorithm->name == "ring" ? Method::recurrence : Method::events;
      auto report = simulate(*sample.algorithm, sample.call, fabric_, options);
      if (!report && options.method == Method::recurrence) {
        options.method = Method::events;
        report = simulate(*sample.algorithm, sample.call, fabric_, options);
      }
      if (!report || report->error) return std::nullopt;
      out.push_back(report->time);
    }
    return out;
  }

  double distance() const {
    const auto played = play();
    if (!played) return far_off;
    double sum = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const double off = (*played)[i] / samples_[i].time - 1;
      sum += off * off;
    }
    return sum;
  }

  void run() {
    double best = distance();
    for (double step = coarse; step > fine; step = std::sqrt(step)) {
      for (bool better = true; better;) {
        better = false;
        for (double* value : {&cost().rate.value, &cost().latency.value, &cost().overhead.value}) {
          for (const double factor : {step, 1 / step}) {
            const double before = *value;
            *value *= factor;
            const double now = distance();
            if (now < best * (1 - 1e-9)) {
              best = now;
              better = true;
            } else {
              *value = before;
            }
          }
        }
      }
    }
  }

 private:
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

  Search search(samples, fabric);
  // Where it begins: a ring's bytes over the longest call, its steps over the shortest.
  const double ranks = std::max(2.0, double(fabric.layout().ranks()));
  search.cost() = {least->time / (2 * (ranks - 1)),
                   BytesPerSecond(2 * (ranks - 1) / ranks * double(most->call.bytes()) / most->time.value),
                   Seconds(1e-6)};
  search.run();
  const auto played = search.play();
  if (!played) return refuse("the run cannot be played");
  Calibration out;
  out.cost = search.cost();
  out.simulated = *played;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    out.worst = std::max(out.worst, std::abs((*played)[i] / samples[i].time - 1));
  }
  return out;
}

}  // namespace ringtrue::sim
