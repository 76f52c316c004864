#include "history/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/statistics.h"

namespace ringtrue::history {
namespace {

constexpr double normal = 1.4826;  // of a normal distribution, the deviation over the median deviation
constexpr int fewest_together = 4;
constexpr double share_together = 0.25;

bool are_together(int fell, std::size_t sides) {
  return fell >= fewest_together && fell > share_together * double(sides);
}

std::vector<double> ratios_of(const Values& session, const Norms& norms) {
  std::vector<double> ratios;
  for (const auto& [side, value] : session)
    if (const auto norm = norms.find(side); norm != norms.end() && norm->second.median > 0)
      ratios.push_back(value.value / norm->second.median);
  return ratios;
}

std::optional<double> middle_of(std::vector<double> ratios) {
  if (int(ratios.size()) < fewest_sides) return std::nullopt;
  return median(std::move(ratios));
}

// Where a part of the fleet stands below the rest, the middle of all is neither's level: half a fleet with
// other firmware would make the rest look better than it is, and hide what it loses. Then the level is that
// of the part that did not fall; nullopt: there are no two parts.
std::optional<double> level_of_upper_part(const std::vector<double>& ratios) {
  constexpr double percentile_upper = 75;
  if (ratios.empty()) return std::nullopt;
  const double upper = percentile(ratios, percentile_upper);
  const auto fell = std::count_if(ratios.begin(), ratios.end(),
                                  [&](double ratio) { return ratio < (1 - least_fall) * upper; });
  return are_together(int(fell), ratios.size()) ? std::optional(upper) : std::nullopt;
}

Norm norm_of(const std::vector<double>& values) {
  Norm norm;
  norm.n = int(values.size());
  norm.median = median(values);
  std::vector<double> away;
  for (const double value : values) away.push_back(std::abs(value - norm.median));
  norm.mad = normal * median(away);
  return norm;
}

// The median deviation of 20 values is known to a quarter of itself, no better. So it counts as much as it
// tells beside what sides of this fleet scatter by: one that drew a wide sample shall not lose more than
// others before it is found. What is refused is refused by its own.
void settle_scatter(Norms& sides, const Norms& pinned) {
  constexpr double efficiency = 0.37;  // of a median deviation, beside the deviation of as many values
  constexpr double weight_of_fleet = 20;
  std::vector<double> all;
  for (const Norms* const norms : {static_cast<const Norms*>(&sides), &pinned})
    for (const auto& [side, norm] : *norms)
      if (norm.median > 0) all.push_back(norm.mad / norm.median);
  if (int(all.size()) < fewest_sides) return;
  const double usual = median(std::move(all));
  for (auto& [side, norm] : sides) {
    if (norm.median <= 0) continue;
    const double own = norm.mad / norm.median, weight = efficiency * norm.n;
    norm.mad = norm.median *
               std::sqrt((weight * own * own + weight_of_fleet * usual * usual) / (weight + weight_of_fleet));
  }
}

bool scatters(const Norm& norm) {
  return norm.median <= 0 || norm.mad > most_mad * norm.median;
}

}  // namespace

std::string fingerprint(const Conditions& conditions) {
  const auto high = std::bit_ceil(unsigned(std::max(1, conditions.nodes)));
  const auto low = high / 2 + 1;
  return fmt::format("{} {} {} {} nodes {}", conditions.transport.empty() ? "-" : conditions.transport,
                     conditions.algorithm, conditions.sizes,
                     low >= high ? fmt::format("{}", high) : fmt::format("{}-{}", low, high),
                     conditions.link_rate ? fmt::format("{:.0f} B/s", *conditions.link_rate) : "of any rate");
}

double Norm::threshold() const {
  return median > 0 ? std::max(least_fall, mads * std::max(least_mad, mad / median)) : 1;
}

std::optional<double> level_of(const Values& session, const Norms& norms) {
  return middle_of(ratios_of(session, norms));
}

NewNorms norms_of(const std::vector<Values>& sessions, const Norms& pinned) {
  NewNorms out;
  Norms reference = pinned;
  std::map<std::int64_t, std::vector<double>> values;
  std::vector<double> levels;
  // First as they were read, then at the fleet's level: a side that was seen on slow days alone would count
  // as slow.
  const int rounds = pinned.empty() ? 3 : 2;
  for (int round = 0; round < rounds; ++round) {
    values.clear();
    levels.clear();
    for (const Values& session : sessions) {
      const auto level = level_of(session, reference);
      if (level) levels.push_back(*level);
      for (const auto& [side, value] : session)
        if (value.value > 0) values[side].push_back(value.value / level.value_or(1));
    }
    if (!pinned.empty()) continue;
    reference.clear();
    for (const auto& [side, list] : values)
      if (int(list.size()) >= fewest_sessions) reference[side] = norm_of(list);
  }
  for (const auto& [side, list] : values) {
    if (pinned.contains(side)) continue;
    const Norm norm = norm_of(list);
    if (norm.n < fewest_sessions)
      out.refused[side] = {norm.n, 0};
    else if (scatters(norm))
      out.refused[side] = {norm.n, norm.median > 0 ? norm.mad / norm.median : 1};
    else
      out.sides[side] = norm;
  }
  settle_scatter(out.sides, pinned);
  if (!pinned.empty()) return out;
  if (const Norm level = norm_of(levels); level.n < fewest_sessions || scatters(level))
    out.level_refused = Refused{level.n, level.n < fewest_sessions ? 0 : level.mad / level.median};
  else
    out.level = level;
  return out;
}

Judged judge(const Values& session, const Norms& norms, const std::optional<Norm>& level) {
  constexpr double hysteresis = 0.6;  // of the threshold: what came back that far is good again
  constexpr double percentile_fallen = 10;
  const auto reads = [](double ratio, double threshold) {
    return ratio < 1 - threshold                ? Reads::low
           : ratio < 1 - hysteresis * threshold ? Reads::between
                                                : Reads::good;
  };
  Judged out;
  const std::vector<double> over_baselines = ratios_of(session, norms);
  out.level = middle_of(over_baselines);
  if (!out.level || *out.level <= 0) return out;
  const double middle = *out.level;
  const auto upper = level_of_upper_part(over_baselines);
  if (upper) out.level = upper;
  int fell = 0;
  for (const auto& [side, value] : session) {
    const auto norm = norms.find(side);
    if (norm == norms.end() || norm->second.median <= 0) continue;
    const double threshold = norm->second.threshold();
    SideReads one{side, Reads::unknown, value.value / norm->second.median / *out.level};
    one.reads = reads(one.ratio, threshold);
    one.high = one.ratio > 1 + threshold;
    // With one partner it may be the partner.
    if (value.n < 2 && one.reads != Reads::good) one.reads = Reads::unknown;
    out.low += one.reads == Reads::low;
    fell += one.reads == Reads::low || one.reads == Reads::between;
    out.sides.push_back(one);
  }
  // Those that fell less count as well: of half a fleet with other firmware some are low and some nearly.
  out.together = upper || (out.low > 0 && are_together(fell, out.sides.size()));
  if (out.together) {
    std::vector<double> ratios;
    for (const SideReads& one : out.sides) ratios.push_back(one.ratio);
    const double fallen = percentile(std::move(ratios), percentile_fallen);
    for (SideReads& one : out.sides)
      one.apart = one.reads == Reads::low && one.ratio < (1 - norms.at(one.side).threshold()) * fallen;
  }
  if (level && level->median > 0) {
    out.fleet_ratio = middle / level->median;
    out.fleet = out.together && out.fleet_ratio < 1 ? Reads::low : reads(out.fleet_ratio, level->threshold());
  }
  return out;
}

std::optional<Track> advance(std::optional<Track> before, Reads reads, const Look& look) {
  constexpr double least_depth = 0.03, share_of_depth = 0.15;
  if (before && !before->open()) before.reset();
  if (look.together && reads == Reads::low) reads = Reads::unknown;
  if (!before) {
    if (reads != Reads::low) return std::nullopt;
    return Track{State::suspected, 1, 0, look.at_us, look.ratio};
  }
  Track track = *before;
  switch (reads) {
    case Reads::unknown:
    case Reads::between:
      break;
    case Reads::low: {
      ++track.low;
      track.good = 0;
      const bool later = look.confirming || std::abs(look.at_us - track.first_us) >= confirm_after_us;
      const bool agrees =
          std::abs(look.ratio - track.ratio) <= std::max(least_depth, share_of_depth * (1 - track.ratio));
      const int enough = look.fleet || !agrees ? 3 : 2;
      if (track.state == State::suspected && later && track.low >= enough) track.state = State::confirmed;
      track.ratio = look.ratio;
      break;
    }
    case Reads::good:
      ++track.good;
      if (track.state == State::suspected)
        track.state = State::withdrawn;
      else if (track.good >= 2)
        track.state = State::recovered;
      break;
  }
  return track;
}

std::optional<Since> since_when(const std::vector<Point>& points, const std::optional<Norm>& norm) {
  constexpr std::size_t fewest = 3;
  std::vector<const Point*> known;
  std::vector<double> values;
  for (const Point& point : points)
    if (point.value) known.push_back(&point), values.push_back(*point.value);
  if (known.size() < fewest) return std::nullopt;
  // Without a baseline: what it does on its better days.
  const double usual = norm ? norm->median : percentile(values, 75);
  const double threshold = norm ? norm->threshold() : 2 * least_fall;
  const auto is_low = [&](const Point& p) {
    return *p.value / p.level.value_or(1) < (1 - threshold) * usual;
  };
  Since out;
  out.usual = usual;
  bool was_low = false;
  for (const Point* point : known) {
    const bool low = is_low(*point);
    out.falls += low && !was_low;
    was_low = low;
  }
  auto at = known.rbegin();
  for (; at != known.rend() && is_low(**at); ++at) ++out.low, out.first_low_us = (*at)->started_us;
  std::vector<double> before;
  for (; at != known.rend() && !is_low(**at); ++at) {
    if (before.empty()) out.last_good_us = (*at)->started_us;
    before.push_back(*(*at)->value);
  }
  out.good = int(before.size());
  if (!before.empty()) out.usual = median(std::move(before));
  return out;
}

}  // namespace ringtrue::history
