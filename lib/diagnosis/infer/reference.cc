#include "diagnosis/infer/reference.h"

#include <algorithm>

#include "base/statistics.h"

namespace ringtrue::diagnosis {

Limits::Limits(int nodes)
    : rate(std::size_t(nodes)),
      brief(std::size_t(nodes), true),
      steady(std::size_t(nodes)),
      settled(std::size_t(nodes)),
      rough(std::size_t(nodes)) {}

void Limits::meet(int node, const std::optional<double>& best, bool is_brief) {
  const auto i = std::size_t(node);
  if (!best || (is_brief && !brief[i])) return;  // longer readings are there
  if ((brief[i] && !is_brief) || !rate[i] || *best > *rate[i]) rate[i] = best;
  brief[i] = is_brief;
}

void Limits::note(int node, const Reading& r) {
  const auto i = std::size_t(node);
  if (r.held_back) return;
  if (r.momentary && double(r.bytes) >= brief_below) rough[i] = std::max(rough[i], r.rate);
  if (r.momentary) return;
  steady[i] = std::max(steady[i], r.rate);
  if (r.busy >= settled_from) settled[i] = std::max(settled[i], r.rate);
}

void Limits::settle() {
  constexpr double beyond_ticks = 2.5;  // they may make it wrong by half
  for (std::size_t i = 0; i < rate.size(); ++i) {
    if (!rate[i] || brief[i] || rough[i] < beyond_ticks * *rate[i]) continue;
    rate[i] = rough[i];
    brief[i] = true;
  }
}

Reference reference_of(const Limits& sends, const Limits& receives, std::optional<double> attainable,
                       std::optional<double> nominal) {
  std::vector<double> limits, brief, settled;
  std::size_t momentary = 0;
  for (const Limits* side : {&sends, &receives}) {
    for (std::size_t i = 0; i < side->rate.size(); ++i) {
      if (!side->rate[i]) continue;
      double rate = *side->rate[i];
      if (side->momentary(i)) {
        ++momentary;
        if (attainable) rate = std::min(rate, *attainable);
      }
      const bool carried_much = side->rough[i] >= *side->rate[i] * 0.999;
      (side->brief[i] && !carried_much ? brief : limits).push_back(rate);
      if (side->settled[i] > 0) settled.push_back(side->settled[i]);
    }
  }
  // Sides that were only measured briefly are so because they are very slow, or met such; they still are part
  // of the fleet, as its slow part.
  const double longest = limits.empty() ? 0 : *std::max_element(limits.begin(), limits.end());
  for (const double rate : brief) limits.push_back(longest > 0 ? std::min(rate, longest) : rate);
  Reference out;
  if (limits.empty()) return out;
  const double majority = upper_median(limits);
  const double most = *std::max_element(limits.begin(), limits.end());
  out.majority = true;
  out.rate = majority;
  out.momentary = 2 * momentary >= limits.size();
  const bool mostly_settled = 2 * settled.size() > limits.size();
  if (!attainable) return out;
  out.share = majority / *attainable;
  if (nominal && mostly_settled && upper_median(settled) > *nominal * 1.1) {
    out.above_declared = true;
  } else if (out.share >= 0.9) {
    // Measuring costs a little everywhere: nobody is suspected of what most do.
    out.majority = out.share < 1;
    out.rate = std::min(majority, *attainable);
  } else if (out.momentary || most >= *attainable * 0.95 || sends.rate.size() == 2) {
    out.majority = false;
    out.rate = *attainable;  // it can be reached: those who do not are slow, however many they are
  } else {
    out.fleet_slow = true;
  }
  return out;
}

}  // namespace ringtrue::diagnosis
