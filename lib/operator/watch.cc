#include "operator/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"

namespace ringtrue::ops {
namespace {

constexpr double longest_rest = 86'400;
constexpr Seconds turn_pause{5};  // between two looks whether the other watcher is gone

// How bad; what is unknown is neither.
int rank_of(const std::string& verdict) {
  return verdict == "healthy" ? 0 : verdict == "degraded" ? 1 : verdict == "faulty" ? 2 : -1;
}

std::int64_t micros(Seconds time) {
  return std::int64_t(time.value * 1e6);
}

class Rounds {
 public:
  Rounds(const WatchSettings& settings, WatchWorld& world)
      : settings_(settings), world_(world), memory_(world.remembered()) {}

  // Seconds that are left of the pause in which it was ended. Neither another --every nor a wall clock that
  // was set back makes it longer than a pause is.
  Seconds left_of_pause() const {
    const auto left = [&](std::int64_t until, double most) {
      return std::clamp(double(until - world_.wall_us()) / 1e6, 0.0, most);
    };
    const double rest = left(memory_.rest_until_us, longest_rest);
    return Seconds(settings_.once ? rest : std::max(rest, left(memory_.next_us, settings_.every.value)));
  }

  WatchRound play() {
    WatchRound round;
    round.number = ++number_;
    round.fleet = settings_.fleet;
    round.started_us = world_.wall_us();
    const double began = world_.clock().value;
    next_ = memory_;
    if (const Seconds left = left_of_pause(); settings_.once && left.value > 0)
      round.skipped =
          fmt::format("measuring has had its share of the time (--load); {:.0f} s are left", left.value);
    else
      measure(round);
    tell(round);
    const double used = world_.clock().value - began;
    const bool measured = round.skipped.empty();
    const double rest = measured ? round.seconds / settings_.load : 0;
    const Seconds from_start = measured ? Seconds(std::max(settings_.every.value, rest))
                                        : Seconds(std::min(settings_.every.value, settings_.retry.value));
    if (measured) memory_.rest_until_us = round.started_us + micros(Seconds(rest));
    memory_.next_us = round.started_us + micros(from_start);
    if (!settings_.once) round.next_s = std::max(0.0, from_start.value - used);
    if (const auto kept = world_.remember(memory_); !kept) round.troubles.push_back(kept.error().text());
    return round;
  }

 private:
  void measure(WatchRound& round) {
    const auto looked = world_.look();
    if (!looked) {
      round.skipped = looked.error().text();
      return;
    }
    std::set<std::string> absent, watched;
    for (const WatchedNode& node : *looked) {
      watched.insert(node.node);
      if (node.absent) absent.insert(node.node);
      if (node.why_not.empty())
        round.nodes.push_back(node.node);
      else
        round.left_out.push_back({node.node, node.why_not, node.absent});
    }
    for (const std::string& node : absent)
      if (!memory_.absent.contains(node))
        round.transitions.push_back({WatchedThing::node, node, node, "present", "absent"});
    // One that is not watched any more has not come back.
    for (const std::string& node : memory_.absent)
      if (watched.contains(node) && !absent.contains(node))
        round.transitions.push_back({WatchedThing::node, node, node, "absent", "present"});
    next_.absent = absent;
    if (round.nodes.size() < fewest_watched) {
      round.skipped =
          fmt::format("{} of {} can be measured now", round.nodes.size(), plural(looked->size(), "node"));
      round.nodes.clear();
      return;
    }
    auto check = world_.check(round.nodes, false);
    if (!check) {
      // Another took a node between the look and the lease: that says nothing of the fleet.
      if (check.error().cause == Cause::refused || world_.stopped()) {
        round.skipped = check.error().text();
        round.nodes.clear();
        return;
      }
      check = WatchedCheck{"unknown", 0, 0, {}, {check.error().text()}};
      keep_regressions_ = true;
    } else {
      keep_regressions_ = check->verdict == "unknown";
    }
    round.verdict = check->verdict;
    round.findings = check->findings;
    round.seconds = check->seconds;
    round.troubles = check->troubles;
    if (settings_.confirm && newly_suspected(*check) && !world_.stopped()) {
      if (auto again = world_.check(round.nodes, true)) {
        round.confirmed_again = true;
        round.seconds += again->seconds;
        for (const WatchedRegression& one : again->regressions) replace(check->regressions, one);
        round.troubles.insert(round.troubles.end(), again->troubles.begin(), again->troubles.end());
      } else {
        round.troubles.push_back("what is suspected could not be measured again: " + again.error().text());
      }
    }
    compare_verdict(round);
    compare_regressions(*check, round);
  }

  bool newly_suspected(const WatchedCheck& check) const {
    return std::any_of(check.regressions.begin(), check.regressions.end(), [&](const WatchedRegression& r) {
      return r.open && r.state == "suspected" && !r.node.empty() && !memory_.regressions.contains(r.subject);
    });
  }

  static void replace(std::vector<WatchedRegression>& all, const WatchedRegression& one) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const WatchedRegression& r) { return r.subject == one.subject; });
    if (same != all.end())
      *same = one;
    else
      all.push_back(one);
  }

  void compare_verdict(WatchRound& round) {
    const std::string& now = *round.verdict;
    if (memory_.verdict == now || (!memory_.verdict && now == "healthy")) {
      next_.verdict = now;
      return;
    }
    // What was left out has not been repaired.
    const bool better = memory_.verdict && rank_of(now) >= 0 && rank_of(now) < rank_of(*memory_.verdict);
    if (better && !round.left_out.empty()) return;
    round.transitions.push_back({WatchedThing::verdict, "", "", memory_.verdict, now});
    next_.verdict = now;
  }

  void compare_regressions(const WatchedCheck& check, WatchRound& round) {
    if (keep_regressions_ && check.regressions.empty()) return;  // nothing is known of them
    next_.regressions.clear();
    std::set<std::string> named;
    for (const WatchedRegression& one : check.regressions) {
      named.insert(one.subject);
      const auto before = memory_.regressions.find(one.subject);
      const bool known = before != memory_.regressions.end();
      if (one.open) next_.regressions[one.subject] = one.state;
      if (!known && !one.open) continue;  // it began and ended unseen
      if (known && before->second == one.state) continue;
      round.transitions.push_back({WatchedThing::regression, one.subject, one.node,
                                   known ? std::optional(before->second) : std::nullopt, one.state,
                                   one.ratio});
    }
    for (const auto& [subject, state] : memory_.regressions)
      if (!named.contains(subject))
        round.transitions.push_back({WatchedThing::regression, subject, "", state, "over"});
  }

  // What the hook was not told is told again in the next round.
  void tell(WatchRound& round) {
    if (!round.transitions.empty()) {
      if (const auto told = world_.hook(round); !told) {
        round.troubles.push_back(told.error().text());
        return;
      }
    }
    memory_.verdict = next_.verdict;
    memory_.regressions = next_.regressions;
    memory_.absent = next_.absent;
  }

  const WatchSettings& settings_;
  WatchWorld& world_;
  WatchMemory memory_, next_;
  long number_ = 0;
  bool keep_regressions_ = false;
};

}  // namespace

std::optional<WatchRound> watch(const WatchSettings& settings, WatchWorld& world) {
  bool said = false;
  while (const auto other = world.other_watcher()) {
    if (!said) world.waits_for(*other);
    said = true;
    if (!world.sleep(turn_pause)) return std::nullopt;
  }
  Rounds rounds(settings, world);
  if (settings.once) {
    WatchRound round = rounds.play();
    world.told(round);
    return round;
  }
  world.begins(rounds.left_of_pause());
  for (Seconds pause = rounds.left_of_pause(); world.sleep(pause);) {
    const WatchRound round = rounds.play();
    world.told(round);
    pause = Seconds(round.next_s.value_or(0));
  }
  return std::nullopt;
}

}  // namespace ringtrue::ops
