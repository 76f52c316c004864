#include "diagnosis/infer/reference.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace ringtrue::diagnosis {

namespace {

// A declared rate may be wrong by a tenth: what is above this share of it is what the fleet does. Of few
// nodes, most sides may have differed downwards besides, where none reaches the declared rate.
constexpr double declared_from = 0.88, declared_from_of_few = 0.83;
constexpr double reaches = 0.95;
constexpr double kept_short_from = 1.1;  // of the majority

}  // namespace

Limits::Limits(int nodes)
    : rate(std::size_t(nodes)),
      brief(std::size_t(nodes), true),
      steady(std::size_t(nodes)),
      settled(std::size_t(nodes)),
      rough(std::size_t(nodes)),
      shown(std::size_t(nodes)) {}

void Limits::meet(int node, const std::optional<double>& best, bool is_brief) {
  const auto i = std::size_t(node);
  if (best) shown[i] = std::max(shown[i], *best);
  if (!best || (is_brief && !brief[i])) return;  // longer readings are there
  if ((brief[i] && !is_brief) || !rate[i] || *best > *rate[i]) rate[i] = best;
  brief[i] = is_brief;
}

void Limits::note(int node, const Reading& reading) {
  Reading r = reading;
  r.rate = reading.carried_by(node == reading.source ? Direction::sends : Direction::receives);
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

void Limits::hold_to(double most) {
  for (auto* rates : {&steady, &settled, &rough, &shown})
    for (double& r : *rates) r = std::min(r, most);
  for (auto& r : rate)
    if (r) r = std::min(*r, most);
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
  std::vector<double> shown = sends.shown;
  shown.insert(shown.end(), receives.shown.begin(), receives.shown.end());
  out.kept_short = upper_median(std::move(shown)) > kept_short_from * majority;
  out.rate = majority;
  out.momentary = 2 * momentary >= limits.size();
  const bool mostly_settled = 2 * settled.size() > limits.size();
  if (!attainable) return out;
  out.share = majority / *attainable;
  const bool few_below = int(sends.rate.size()) <= few_nodes && most < *attainable * reaches;
  if (nominal && mostly_settled && upper_median(settled) > *nominal * 1.1) {
    out.above_declared = true;
  } else if (out.share >= (few_below ? declared_from_of_few : declared_from)) {
    out.few_alike = out.share < declared_from;
    // Measuring costs a little everywhere: nobody is suspected of what most do.
    out.majority = out.share < 1;
    out.rate = std::min(majority, *attainable);
  } else if (out.momentary || most >= *attainable * reaches || sends.rate.size() == 2) {
    out.majority = false;
    out.shown_by_few = true;
    out.rate = *attainable;  // it can be reached: those who do not are slow, however many they are
  } else {
    out.fleet_slow = true;
  }
  return out;
}

namespace {

// Slower than that is no scatter.
constexpr double healthy_from = 0.8;
// Of two nodes, both sides of a slow direction are half of all.
constexpr std::size_t fewest_nodes = 3;
// What ports differ by where nobody has seen it, and how many sides' word that is worth.
constexpr double usual_scatter = 0.015, usual_weight = 16;
// Of a normal distribution, five deviations below are one in three million: 2,048 sides in a thousand fleets.
// Of few sides the deviation itself is known badly.
constexpr double deviations = 5, more_of_few = 12, more_of_two_nodes = 6;
// The middle distance of n sides may be larger by that over their root; of few nodes what is usual counts for
// more than they do.
constexpr double badly_known = 1;
constexpr std::size_t enough_for_a_tenth = 48;  // sides: it is no matter of a few slow ones
// Of fewer: all but a node's two sides, which may be slow. What is left of a normal distribution scatters
// less, and it is known badly.
constexpr std::size_t enough_without_a_node = 8;  // sides
constexpr double without_its_lowest = 1.5;
constexpr double apart_from = 4 * usual_scatter;  // of the reference
constexpr double most_apart = 0.4;                // of the sides
// Of fewer, where chance leaves wider gaps.
constexpr std::size_t enough_for_a_gap = 10;  // sides
constexpr double far_apart_from = 0.1;        // and of half of them at most
constexpr double brief_limit = 0.85;          // bursts raise what was measured briefly, and most sides were
constexpr double most_scatter = 0.035;        // beyond, it is no matter of ports that differ

std::vector<double> healthy_sides(const Limits& sends, const Limits& receives, double reference) {
  std::vector<double> out;
  for (const Limits* limits : {&sends, &receives})
    for (std::size_t i = 0; i < limits->rate.size(); ++i)
      if (limits->rate[i] && *limits->rate[i] >= healthy_from * reference) out.push_back(*limits->rate[i]);
  return out;
}

}  // namespace

namespace {

// Sides that are slow alike, apart from all others by more than those differ, do not scatter: they are slow.
void drop_those_apart(std::vector<double>& rates, double reference) {
  std::sort(rates.begin(), rates.end());
  const double middle = rates[rates.size() / 2];
  std::size_t first = 0;
  const bool many = rates.size() >= enough_for_a_tenth;
  double widest = (many ? apart_from : far_apart_from) * reference;
  const auto end = many ? std::size_t(double(rates.size()) * most_apart) : rates.size() / 2 + 1;
  for (std::size_t i = 1; i < end; ++i)
    if (rates[i] - rates[i - 1] >= widest) widest = rates[i] - rates[i - 1], first = i;
  if (2 * (middle - rates[first]) <= widest)
    rates.erase(rates.begin(), rates.begin() + std::ptrdiff_t(first));
}

// The standard deviation of all but the two lowest: the sides of one node that may be slow.
double deviation_without_lowest(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  rates.erase(rates.begin(), rates.begin() + 2);
  double sum = 0, squares = 0;
  for (const double rate : rates) sum += rate, squares += rate * rate;
  const double n = double(rates.size());
  return std::sqrt(std::max(0.0, squares - sum * sum / n) / (n - 1));
}

}  // namespace

double scatter_of(const Limits& sends, const Limits& receives, double reference) {
  if (!(reference > 0)) return 0;
  std::vector<double> rates = healthy_sides(sends, receives, reference);
  if (sends.rate.size() < fewest_nodes) return usual_scatter;
  if (rates.size() >= enough_for_a_gap) drop_those_apart(rates, reference);
  const double n = double(rates.size()), middle = upper_median(rates);
  const bool few = int(sends.rate.size()) <= few_nodes;
  // What a side shows is the better of several partners', which draws most sides together and not the
  // slowest. Of a normal distribution a tenth lies 1.2816 deviations below the middle and lower.
  double of_slowest = 0;
  if (rates.size() >= enough_for_a_tenth) {
    const auto tenth = rates.begin() + std::ptrdiff_t(rates.size() / 10);
    std::nth_element(rates.begin(), tenth, rates.end());
    of_slowest = (middle - *tenth) / 1.2816;
  } else if (rates.size() >= enough_without_a_node) {
    of_slowest = without_its_lowest * deviation_without_lowest(rates);
  }
  for (double& rate : rates) rate = std::abs(rate - middle);
  const double known_by = few ? 1 : 1 + badly_known / std::sqrt(std::max(1.0, n));
  const double seen = std::max(known_by * 1.4826 * upper_median(std::move(rates)), of_slowest) / reference;
  return std::min(most_scatter, std::sqrt((n * seen * seen + usual_weight * usual_scatter * usual_scatter) /
                                          (n + usual_weight)));
}

Thresholds no_closer_than(const Reference& reference, const Limits& sends, const Limits& receives,
                          const Thresholds& wanted) {
  const double sides = double(std::max<std::size_t>(2, sends.rate.size() + receives.rate.size()));
  const double more = sends.rate.size() < fewest_nodes ? more_of_two_nodes : more_of_few;
  double limit = 1 - (deviations + more / sides) * reference.scatter;
  const auto brief = std::count(sends.brief.begin(), sends.brief.end(), true) +
                     std::count(receives.brief.begin(), receives.brief.end(), true);
  if (2 * double(brief) > sides) limit = std::min(limit, brief_limit);
  // What measuring costs everybody is not known then, and a declaration may be as wrong.
  if (reference.shown_by_few) limit = std::min(limit, declared_from);
  Thresholds out = wanted;
  out.warning = std::min(out.warning, limit);
  out.path = std::min(out.path, limit);
  out.critical = std::min(out.critical, out.warning);
  return out;
}

}  // namespace ringtrue::diagnosis
