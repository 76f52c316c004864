// What is asked of an inference, and how sure a suspect is.
#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "diagnosis/infer/significance.h"

namespace ringtrue::diagnosis {

const Suspect* Inference::find(ScopeType type, int node) const {
  for (const Suspect& s : suspects) {
    if (s.type == type && s.node == node) return &s;
  }
  return nullptr;
}

bool Inference::is_overshadowed(Side side) const {
  return std::find(overshadowed.begin(), overshadowed.end(), side) != overshadowed.end();
}

std::optional<double> Inference::cleared_at(Side side) const {
  for (const Cleared& c : cleared) {
    if (c.side == side) return c.rate;
  }
  return std::nullopt;
}

bool Suspect::explains(int source, int destination) const {
  if (type == ScopeType::path) return source == node && destination == peer;
  return type == ScopeType::sender ? source == node : destination == node;
}

bool Inference::explains(int source, int destination) const {
  return std::any_of(suspects.begin(), suspects.end(),
                     [&](const Suspect& s) { return s.explains(source, destination); });
}

std::vector<std::pair<int, int>> inconclusive_pairs(const Readings& readings, const Inference& inference,
                                                    const Thresholds& thresholds) {
  std::vector<std::pair<int, int>> out;
  const double n = readings.nodes(), critical = thresholds.critical * inference.reference.rate;
  const BaseRate common(readings, [](int, int) { return 0.0; });
  readings.each_pair([&](int x, int y) {
    const auto best = readings.best(x, y);
    if (!best || *best >= critical || readings.only_momentary(x, y)) return;
    const double as_low = common.share_as_low(*best, false, [&](int a, int b) { return a == x || b == y; });
    if (as_low > common_share) return;
    const double chance = chance_of(as_low, int(readings.counting(x, y).size()));
    if (as_low > 0 && may_be_chance(chance, n * (n + 1))) return;
    out.emplace_back(x, y);
  });
  return out;
}

double spread(const Suspect& s) {
  std::vector<double> rates;
  for (const Reading& r : s.readings) rates.push_back(r.rate);
  return s.best > 0 ? std::max(0.0, 1 - upper_median(std::move(rates)) / s.best) : 0;
}

double confidence(const Suspect& s) {
  if (s.readings.empty()) return 0;
  int agreeing = 0;
  bool busy = true;
  for (const Reading& r : s.readings) {
    agreeing += r.rate >= s.best * 0.95;
    busy &= r.cpu_busy > 0.9;
  }
  const double gap = std::max(0.0, 1 - s.ratio);
  double value = (1 - std::ldexp(1.0, -agreeing)) * gap / (gap + spread(s) + 0.02);
  if (s.alternative) value *= 0.7;
  if (busy) value *= 0.8;
  return std::clamp(value, 0.0, 1.0);
}

}  // namespace ringtrue::diagnosis
