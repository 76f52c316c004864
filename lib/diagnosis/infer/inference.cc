#include "diagnosis/infer/inference.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "diagnosis/infer/at_times.h"
#include "diagnosis/infer/generations.h"
#include "diagnosis/infer/groups.h"
#include "diagnosis/infer/reference.h"
#include "diagnosis/infer/significance.h"
#include "diagnosis/infer/suspects.h"
#include "diagnosis/infer/unsteady.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {
namespace {

// Where nobody told how the nodes hang together, what a side has shown in any company holds: it is never
// less. What most of them have shown may be too little all the same, where links are shared by many; what few
// hops at once show is nearer to the truth then.
Reference take_shown(const Readings& readings, const Reference& counted, std::optional<double> attainable,
                     std::optional<double> nominal, Limits& sends, Limits& receives) {
  const Shown shown(readings);
  for (std::size_t i = 0; i < sends.rate.size(); ++i) {
    if (shown.sends[i] > sends.rate[i].value_or(0)) sends.rate[i] = shown.sends[i], sends.brief[i] = false;
    if (shown.receives[i] > receives.rate[i].value_or(0))
      receives.rate[i] = shown.receives[i], receives.brief[i] = false;
  }
  Reference out = reference_of(sends, receives, attainable, nominal);
  if (counted.rate > out.rate * 1.05) out = counted;
  // Of a fleet that shares links few may have shown what all can do; measuring costs them a little as well.
  const double best = std::max(*std::max_element(shown.sends.begin(), shown.sends.end()),
                               *std::max_element(shown.receives.begin(), shown.receives.end()));
  if (attainable && !out.majority && best >= 0.9 * *attainable)
    out.rate = std::min(*attainable, best), out.majority = out.shown_by_few = true;
  return out;
}

void note_lasting_others(const Readings& readings, const Structure& structure, Inference& inference) {
  const auto& lasting = inference.lasting = readings.lasting_others();
  for (const OthersTraffic& traffic : lasting)
    inference.lasting_others = std::max({inference.lasting_others, traffic.sends, traffic.receives});
  const double reference = inference.reference.rate, good = inference.thresholds.warning * reference;
  inference.beside_sends = others_beside(Direction::sends, readings, lasting, reference, good, structure);
  inference.beside_receives =
      others_beside(Direction::receives, readings, lasting, reference, good, structure);
}

// They explain paths that read low at them.
void add_unsteady(const Readings& readings, const Readings& alone, const Structure& structure,
                  Inference& inference) {
  for (Suspect& s : unsteady_sides(readings, alone, inference, structure)) {
    if (s.confirmed)
      std::erase_if(inference.suspects, [&](const Suspect& path) {
        return path.type == ScopeType::path && s.explains(path.node, path.peer) && path.ratio > 0.9 * s.ratio;
      });
    inference.suspects.push_back(std::move(s));
  }
}

// What nodes share makes each of them read low at times. What is not proven of it may be that, too.
void fold_into_groups(Inference& inference) {
  const double critical = inference.thresholds.critical * inference.reference.rate;
  const auto explains = [](const SlowGroup& group, const Suspect& s) {
    return s.unsteady && std::ranges::count_if(s.readings, [&](const Reading& r) {
                           return !group.explains(r.source, r.destination);
                         }) < at_times::fewest_low;
  };
  for (const SlowGroup& group : inference.groups) {
    if (group.confirmed) {
      std::erase_if(inference.suspects, [&](const Suspect& s) { return explains(group, s); });
    } else if (!group.readings.empty() && group.readings.front().rate < critical) {
      for (Suspect& s : inference.suspects)
        if (s.confirmed && explains(group, s))
          s.confirmed = false, s.missing = "it may be what its neighbours share with it";
    }
  }
}

}  // namespace

Inference infer(const Readings& measured, const Readings& measured_alone, std::optional<double> attainable,
                std::optional<double> nominal, const Thresholds& thresholds, const Structure& structure) {
  Inference inference;
  inference.generations = generations(measured, structure.port_rates);
  std::optional<Readings> evened_alone;
  if (!inference.generations.empty()) {
    inference.held_to = held_to(inference.generations);
    inference.evened =
        std::make_shared<const Readings>(measured.evened(inference.generations, inference.held_to));
    evened_alone = measured_alone.evened(inference.generations, inference.held_to);
  }
  const Readings& readings = inference.rated(measured);
  const Readings& alone = evened_alone ? *evened_alone : measured_alone;
  const int n = readings.nodes();
  Limits sends(n), receives(n);
  double most = 0;
  readings.each_pair([&](int x, int y) {
    for (const Reading& r : readings.of(x, y)) {
      sends.note(x, r), receives.note(y, r);
      most = std::max(most, r.rate);
    }
    sends.meet(x, readings.best_of(Direction::sends, x, y), readings.only_brief(x, y));
    receives.meet(y, readings.best_of(Direction::receives, x, y), readings.only_brief(x, y));
  });
  for (Limits* limits : {&sends, &receives}) {
    limits->settle();
    // Two nodes are measured in turns, and others may have had a port in the meantime: their rate and the
    // hop's may make more than the port's.
    if (n == 2 && most > 0) limits->hold_to(most);
  }
  inference.reference = reference_of(sends, receives, attainable, nominal);
  if (structure.leaf.empty() && between_neighbours(structure, n))
    inference.reference = take_shown(readings, inference.reference, attainable, nominal, sends, receives);
  inference.reference.scatter = scatter_of(sends, receives, inference.reference.rate);
  inference.thresholds = no_closer_than(inference.reference, sends, receives, thresholds);
  inference.sends = std::move(sends.rate);
  inference.receives = std::move(receives.rate);
  note_lasting_others(readings, structure, inference);
  if (inference.reference.rate > 0) add_suspects(readings, alone, structure, inference);
  add_unsteady(readings, alone, structure, inference);
  if (n > 2 && structure.leaf.empty() && !structure.one_machine)
    inference.groups = slow_groups(readings, alone, inference);
  fold_into_groups(inference);
  return inference;
}

bool SlowGroup::explains(int source, int destination) const {
  const bool from = std::binary_search(members.begin(), members.end(), source);
  const bool to = std::binary_search(members.begin(), members.end(), destination);
  return from != to && (from ? sends : receives);
}

const Suspect* Inference::find(ScopeType type, int node) const {
  for (const Suspect& s : suspects) {
    if (s.type == type && s.node == node) return &s;
  }
  return nullptr;
}

bool Inference::is_waiting(int node) const {
  return std::ranges::find(waiting, node, &Side::node) != waiting.end();
}

bool Inference::is_overshadowed(Side side) const {
  return std::find(overshadowed.begin(), overshadowed.end(), side) != overshadowed.end();
}

std::optional<double> Inference::fine_alone_at(Side side) const {
  for (const FineAlone& c : fine_alone) {
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

std::vector<std::pair<int, int>> pairs_of(const Readings& readings, Side side) {
  std::vector<std::pair<int, int>> out;
  if (side.direction == Direction::sends) {
    for (const int y : readings.receivers_of(side.node)) out.emplace_back(side.node, y);
  } else {
    for (const int x : readings.senders_to(side.node)) out.emplace_back(x, side.node);
  }
  return out;
}

bool Inference::may_be_at_times(const Suspect& path) const {
  return path.type == ScopeType::path && std::ranges::any_of(suspects, [&](const Suspect& s) {
           return s.unsteady && !s.alone && s.type != ScopeType::path && s.explains(path.node, path.peer) &&
                  s.chance_of_it < at_times::by_chance;
         });
}

bool Inference::end_may_be_as_slow(const Suspect& path) const {
  return path.type == ScopeType::path && std::ranges::any_of(suspects, [&](const Suspect& s) {
           return s.unsteady && s.type != ScopeType::path && s.explains(path.node, path.peer) &&
                  s.ratio < 1.1 * path.ratio;
         });
}

std::vector<std::pair<int, int>> inconclusive_pairs(const Readings& readings, const Inference& inference,
                                                    const Thresholds& thresholds) {
  std::vector<std::pair<int, int>> out;
  if (inference.crowded) return out;
  const double n = readings.nodes(), critical = thresholds.critical * inference.reference.rate;
  const BaseRate common(readings, [](int, int) { return 0.0; });
  readings.each_pair([&](int x, int y) {
    const auto best = readings.best(x, y);
    if (!best || *best >= critical || readings.only_momentary(x, y)) return;
    // One node that is slow makes all its pairs low.
    const double as_low = common.share_as_low(*best, false, [&](int a, int b) {
      return a == x || b == y || (n > few_nodes && (a == y || b == x));
    });
    if (as_low > common_share) return;
    const double chance = chance_of(as_low, int(readings.counting(x, y).size()));
    if (as_low > 0 && may_be_chance(chance, n * (n + 1))) return;
    out.emplace_back(x, y);
  });
  return out;
}

namespace {

std::vector<double> rates_of(const Suspect& s) {
  std::vector<double> rates;
  for (const Reading& r : s.readings) rates.push_back(r.rate);
  return rates;
}

double spread(double best, std::vector<double> rates) {
  return best > 0 ? std::max(0.0, 1 - upper_median(std::move(rates)) / best) : 0;
}

}  // namespace

double spread(const Suspect& s) {
  return spread(s.best, rates_of(s));
}

double prominence(const Suspect& s) {
  const std::vector<double> rates = rates_of(s);
  const auto agreeing =
      std::count_if(rates.begin(), rates.end(), [&](double rate) { return rate >= s.best * 0.95; });
  const double gap = std::max(0.0, 1 - s.ratio);
  return (1 - std::ldexp(1.0, -int(agreeing))) * gap / (gap + spread(s.best, rates) + 0.02);
}

}  // namespace ringtrue::diagnosis
