#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "report/simulated.h"

namespace ringtrue::report {

std::string text(const Simulated& model, const std::string& algorithm, std::uint64_t bytes) {
  std::string out;
  if (!model.method.empty()) out += fmt::format("played by {}; links: {}\n", model.method, model.sharing);
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
      return t ? to_text(Seconds(*t)) : std::string("never done");
    };
    out += fmt::format("without {}: {} -> {}", fmt::join(f->faults, "; "), time(f->time_s),
                       time(f->fixed_time_s));
    if (f->gain) out += fmt::format(", {:.1f} % faster", *f->gain * 100);
    out += "\n";
  }
  return out;
}

}  // namespace ringtrue::report
