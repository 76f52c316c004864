#include <fmt/format.h>
#include <fmt/ranges.h>
#include "report/text/text.h"

#include "base/units.h"

namespace ringtrue::report {

std::string model_text(const ops::Simulated& model, const std::string& algorithm, std::uint64_t bytes) {
  std::string out;
  if (!model.method.empty()) out += fmt::format("played by {}; links: {}\n", model.method, model.sharing);
  if (const auto& c = model.calibration) {
    out +=
        fmt::format("calibrated by {}{}: {} after {}, {} a slice{}; off by up to {:.1f} %\n", c->file,
                    c->of_model ? " (simulated, nothing measured)" : "", to_text(BytesPerSecond(c->rate_Bps)),
                    to_text(Seconds(c->latency_s)), to_text(Seconds(c->overhead_s)),
                    c->bucket_bytes ? fmt::format(", a bucket of {}", to_text(Bytes(c->bucket_bytes))) : "",
                    c->worst * 100);
    for (const ops::Calibrated::Sample& s : c->samples) {
      out += fmt::format("  {} of {}: {} {}, simulated {}, {:+.1f} %\n", s.algorithm, to_text(Bytes(s.bytes)),
                         c->of_model ? "there" : "measured", to_text(Seconds(s.measured_s)),
                         to_text(Seconds(s.simulated_s)), (s.simulated_s / s.measured_s - 1) * 100);
    }
  }
  for (const std::string& fault : model.faults) out += fmt::format("fault: {}\n", fault);
  if (const auto& c = model.comparison) {
    out += fmt::format("{} takes {} for {} bytes; {} takes {:.3g} times as long", c->algorithm,
                       to_text(Seconds(c->time_s)), bytes, algorithm, c->ratio);
    if (c->published) {
      out += fmt::format(" (published for NCCL's ring against its double tree on 24,576 GPUs: up to {:g}x)",
                         *c->published);
    }
    out += "\n";
  }
  if (const auto& f = model.fix) {
    const auto time = [](const std::optional<double>& t) {
      return t ? to_text(Seconds(*t)) : std::string("never completes");
    };
    out += fmt::format("without {}: {} -> {}", fmt::join(f->faults, "; "), time(f->time_s),
                       time(f->fixed_time_s));
    if (f->gain) out += fmt::format(", {:.1f} % faster", *f->gain * 100);
    out += "\n";
  }
  return out;
}

}  // namespace ringtrue::report
