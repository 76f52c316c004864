// One direction at a time, of two nodes alone: which duet tells more, and what came of it.
#include <algorithm>

#include "diagnosis/examination.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t duets_to_agree = 3;  // with what the pairs have shown
constexpr std::size_t most_duets = 6;      // with one partner

}  // namespace

std::optional<Examination::Duet> Examination::node_for_duet(const Inference& inference) const {
  if (overlapped_duets_) return std::nullopt;
  for (const int x : all_) {
    if (!inference.find(ScopeType::sender, x) && !inference.find(ScopeType::receiver, x)) continue;
    if (!undecided_alone(x, inference)) continue;
    Duet pair{x, -1};
    std::size_t fewest = most_duets;         // with one partner; more would say the same
    for (const bool near : {true, false}) {  // one below the same leaf, where there is one
      for (const int y : all_) {
        if (y == x || alone_.of(x, y).size() >= fewest) continue;
        if (near && between_neighbours(structure_, n_) && groups_[std::size_t(x)] != groups_[std::size_t(y)])
          continue;
        if (inference.find(ScopeType::sender, y) || inference.find(ScopeType::receiver, y)) continue;
        pair.partner = y, fewest = alone_.of(x, y).size();
      }
      if (pair.partner >= 0) return pair;
    }
  }
  return std::nullopt;
}

std::optional<Examination::Duet> Examination::path_for_duet(const Inference& inference) const {
  const Suspect* next = nullptr;
  for (const Suspect& s : inference.suspects) {  // slowest first
    if (s.type != ScopeType::path || !s.alone || s.confirmed || overlapped_duets_) continue;
    if (alone_.of(s.node, s.peer).size() >= most_duets) continue;
    // One that was slow alone as well is a trail; most others are innocent, and cleared by a single duet.
    if (!next || (next->readings.empty() && !s.readings.empty())) next = &s;
  }
  if (!next) return std::nullopt;
  return Duet{next->node, next->peer};
}

// Whether both sides of this node look slow, and it has not been told yet which of them are.
bool Examination::undecided_alone(int x, const Inference& inference) const {
  const auto send = inference.sends[std::size_t(x)], receive = inference.receives[std::size_t(x)];
  if (!send || !receive) return false;
  const double most = std::max(*send, *receive), least = std::min(*send, *receive);
  if (most >= thresholds_.warning * inference.reference.rate) return false;
  // A mere disturbance passes by itself, at a lesser price.
  if (least >= thresholds_.gross * inference.reference.rate && confirm_rounds_ < 2) return false;
  std::size_t duets = 0;
  for (const int y : alone_.receivers_of(x)) duets += alone_.of(x, y).size();
  const std::size_t enough = between_neighbours(structure_, n_) ? 1 : duets_to_agree;
  // With one of them cleared, nothing disturbs the other one's readings.
  const bool one_cleared =
      inference.cleared_at({x, Direction::sends}) || inference.cleared_at({x, Direction::receives});
  if (one_cleared) return false;
  for (const Direction d : {Direction::sends, Direction::receives}) {
    const Suspect* s = inference.find(d == Direction::sends ? ScopeType::sender : ScopeType::receiver, x);
    if (inference.is_overshadowed({x, d}) ? !s || !s->confirmed : duets < enough) return true;
  }
  return false;
}

bool Examination::play_duet(const Duet& pair, Bytes hop) {
  const auto observation = measure("duet", out_.nodes[std::size_t(pair.node)] + ", one direction at a time",
                                   duet(pair.partner, pair.node, hop, options_.most_bytes));
  if (!observation) return false;
  double busy = 0;
  for (const HopReading& hop_reading : observation->hops) busy += hop_reading.busy.value;
  if (observation->time.value * observation->experiment.iterations < 0.85 * busy) {
    overlapped_duets_ = true;  // the directions ran side by side after all: it says nothing new
  } else {
    alone_.add(*observation, out_.cost.runs, true);
  }
  return true;
}

}  // namespace ringtrue::diagnosis
