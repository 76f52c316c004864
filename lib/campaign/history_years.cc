#include "campaign/history_years.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/splitmix64.h"
#include "base/statistics.h"
#include "history/rule.h"

namespace ringtrue::campaign {
namespace {

using history::Reads;
using history::State;

constexpr int days = 365, settling = 20;
constexpr std::int64_t day_us = 86'400'000'000;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : draw_(splitmix64(seed)) {}
  double unit() { return double(draw_() >> 11) / 9007199254740992.0; }
  double between(double low, double high) { return low + (high - low) * unit(); }
  bool one_in(double share) { return unit() < share; }
  int below(int n) { return int(unit() * n); }
  double bell() { return std::sqrt(-2 * std::log(1 - unit())) * std::cos(6.283185307179586 * unit()); }

 private:
  SplitMix64 draw_;
};

enum class Fault { none, step, drift };

// A fleet over a year. Sides 2 k and 2 k + 1 are node k's.
class Year {
 public:
  Year(const HistoryYears& years, std::uint64_t number)
      : dice_(years.seed * 1'000'003 + number),
        nodes_(
            int(std::lround(std::exp(dice_.between(std::log(years.min_nodes), std::log(years.max_nodes)))))) {
    partners_ = nodes_ <= 16 ? nodes_ - 1 : 3;
    for (int side = 0; side < 2 * nodes_; ++side) base_[side] = dice_.between(0.98, 1.02);
    fault_ = number % 4 == 1 || number % 4 == 2 ? Fault::step : number % 4 == 3 ? Fault::drift : Fault::none;
    faulty_ = dice_.below(2 * nodes_);
    depth_ = dice_.between(0.06, 0.3);
    begins_ = fault_ == Fault::drift ? 40 + dice_.below(60) : 60 + dice_.below(180);
    repaired_ = fault_ == Fault::step ? begins_ + 40 : days;
    if (dice_.one_in(0.5)) firmware_ = 40 + dice_.below(280);
    firmware_depth_ = dice_.between(0.01, 0.1);
    clock_jumps_ = 30 + dice_.below(300);
    for (int i = 0; i < 3; ++i) moves_.insert(30 + dice_.below(320));
  }

  void play(HistoryScore& out) {
    for (int day = 0; day < days; ++day) {
      if (moves_.contains(day)) move_nodes();
      const history::Values session = check(day);
      ++out.checks;
      if (day == settling) set_baselines();
      if (day < settling) {
        past_.push_back(session);
        continue;
      }
      follow(session, day, out);
    }
    settle(out);
  }

 private:
  // Some leave, as many come that nobody knows.
  void move_nodes() {
    const int many = std::max(1, nodes_ / 10);
    for (int i = 0; i < many; ++i) {
      auto node = base_.begin();
      std::advance(node, 2 * dice_.below(int(base_.size() / 2)));
      if (node->first / 2 == faulty_ / 2) continue;
      base_.erase(node->first + 1);
      base_.erase(node);
      const int fresh = 2 * next_++;
      for (const int side : {fresh, fresh + 1}) base_[side] = dice_.between(0.97, 1.03);
    }
  }

  double share(int side, int day) const {
    double share = 1;
    if (side == faulty_ && day >= begins_ && day < repaired_) {
      if (fault_ == Fault::step) share -= depth_;
      if (fault_ == Fault::drift) share -= std::min(0.3, 0.001 * (day - begins_));
    }
    if (day >= firmware_ && (side / 2) % 2 == 0 && side < 2 * nodes_) share *= 1 - firmware_depth_;
    return share;
  }

  // The noise of the campaigns of checks: a run, and a slice of it, are slower by up to 5 % each; and what
  // years have.
  history::Values check(int day) {
    double all = 1 + 0.015 * dice_.bell();
    if (dice_.one_in(0.02)) all -= dice_.between(0.05, 0.15);
    history::Values out;
    std::vector<double> rates;
    for (const auto& [side, rate] : base_) {
      if (dice_.one_in(0.001)) continue;  // not read
      rates.clear();
      for (int partner = 0; partner < partners_; ++partner) {
        double one =
            rate * share(side, day) * all * (1 - 0.05 * dice_.unit() / 2) * (1 - 0.05 * dice_.unit() / 2);
        if (dice_.one_in(0.01)) one *= 1 - dice_.between(0.03, 0.25);
        rates.push_back(one);
      }
      // What disturbs a node for the time of a check.
      const double disturbed = dice_.one_in(0.001) ? 1 - dice_.between(0.03, 0.25) : 1;
      out[side] = {100 * middle_mean(rates) * disturbed, partners_};
    }
    return out;
  }

  void set_baselines() {
    const history::NewNorms norms = history::norms_of(past_);
    sides_ = norms.sides;
    level_ = norms.level;
    past_.clear();
  }

  std::int64_t clock(int day) const { return (day < clock_jumps_ ? day : day - 2) * day_us; }

  void follow(const history::Values& session, int day, HistoryScore& out) {
    const history::Judged judged = history::judge(session, sides_, level_);
    const auto advance = [&](std::optional<history::Track>& track, Reads reads, double ratio, bool fleet,
                             bool held) {
      track = history::advance(track, reads, {clock(day), ratio, false, fleet, held});
      return track ? std::optional(track->state) : std::nullopt;
    };
    if (judged.together && day >= firmware_) firmware_seen_ = true;
    for (const history::SideReads& side : judged.sides) {
      auto& track = tracks_[int(side.side)];
      const auto before = track && track->open() ? std::optional(track->state) : std::nullopt;
      const auto now = advance(track, side.reads, side.ratio, false, judged.together && !side.apart);
      if (now == before) continue;
      const bool guilty =
          side.side == faulty_ && fault_ != Fault::none && day >= begins_ && day < repaired_ + 4;
      if (now == State::suspected && !guilty) ++out.false_suspected;
      if (now == State::confirmed && !guilty) ++false_;
      if (now == State::confirmed && guilty && confirmed_ < 0) confirmed_ = day;
      if (now == State::recovered && guilty && recovered_ < 0) recovered_ = day;
    }
    const auto before = fleet_ && fleet_->open() ? std::optional(fleet_->state) : std::nullopt;
    const auto now = advance(fleet_, judged.fleet, judged.fleet_ratio, true, false);
    if (now == State::confirmed && before != State::confirmed && day < firmware_) ++out.false_fleet;
    // The fleet is told as changed: somebody sets its baselines anew, when there are enough checks.
    if (firmware_seen_ && now == State::confirmed) {
      past_.push_back(session);
      if (int(past_.size()) == settling) {
        set_baselines(), fleet_.reset(), tracks_.clear();
        drifted_away_ = drifted_away_ || (fault_ == Fault::drift && day > begins_ && confirmed_ < 0);
      }
    }
  }

  void settle(HistoryScore& out) const {
    ++out.years;
    out.false_confirmed += false_;
    out.years_with_false += false_ > 0;
    if (fault_ == Fault::step) {
      auto& step = out.steps[depth_ < 0.08 ? 0 : depth_ < 0.12 ? 1 : 2];
      ++step.of;
      step.second += confirmed_ >= 0 && confirmed_ <= begins_ + 1;
      step.ever += confirmed_ >= 0 && confirmed_ < begins_ + 30;
      if (confirmed_ >= 0 && confirmed_ < repaired_) ++out.recoveries, out.recovered += recovered_ >= 0;
    }
    if (fault_ == Fault::drift && drifted_away_) ++out.drifts_hidden;
    if (fault_ == Fault::drift && !drifted_away_) {
      ++out.drifts;
      out.drifts_found += confirmed_ >= 0 && confirmed_ < begins_ + 70;
    }
    if (firmware_ < days && firmware_depth_ >= 0.1 && firmware_ + 3 < days)
      ++out.firmware, out.firmware_told += firmware_seen_;
  }

  Dice dice_;
  int nodes_, partners_ = 3;
  std::map<int, double> base_;
  int next_ = 100'000;
  Fault fault_ = Fault::none;
  int faulty_ = 0, begins_ = days, repaired_ = days, firmware_ = days, clock_jumps_ = days;
  double depth_ = 0, firmware_depth_ = 0;
  std::set<int> moves_;
  std::vector<history::Values> past_;
  history::Norms sides_;
  std::optional<history::Norm> level_;
  std::map<int, std::optional<history::Track>> tracks_;
  std::optional<history::Track> fleet_;
  long false_ = 0;
  int confirmed_ = -1, recovered_ = -1;
  bool firmware_seen_ = false;
  bool drifted_away_ = false;  // its baseline was set anew meanwhile
};

void add(HistoryScore& to, const HistoryScore& from) {
  to.years += from.years;
  to.checks += from.checks;
  to.false_confirmed += from.false_confirmed;
  to.years_with_false += from.years_with_false;
  to.false_suspected += from.false_suspected;
  to.false_fleet += from.false_fleet;
  for (int i = 0; i < 3; ++i) {
    to.steps[i].of += from.steps[i].of;
    to.steps[i].second += from.steps[i].second;
    to.steps[i].ever += from.steps[i].ever;
  }
  to.drifts += from.drifts;
  to.drifts_hidden += from.drifts_hidden;
  to.drifts_found += from.drifts_found;
  to.firmware += from.firmware;
  to.firmware_told += from.firmware_told;
  to.recoveries += from.recoveries;
  to.recovered += from.recovered;
}

}  // namespace

HistoryScore play_years(const HistoryYears& years, const std::function<bool()>& stopped) {
  const int threads =
      years.threads > 0 ? years.threads : std::max(1, int(std::thread::hardware_concurrency()));
  std::atomic<long> next = 0;
  std::vector<HistoryScore> scores(static_cast<std::size_t>(threads));
  std::vector<std::thread> team;
  for (int who = 0; who < threads; ++who)
    team.emplace_back([&, who] {
      for (long number; (number = next++) < years.years;) {
        if (stopped && stopped()) {
          scores[std::size_t(who)].stopped = true;
          return;
        }
        Year(years, std::uint64_t(number)).play(scores[std::size_t(who)]);
      }
    });
  HistoryScore out;
  for (int who = 0; who < threads; ++who) {
    team[std::size_t(who)].join();
    add(out, scores[std::size_t(who)]);
    out.stopped = out.stopped || scores[std::size_t(who)].stopped;
  }
  return out;
}

}  // namespace ringtrue::campaign
