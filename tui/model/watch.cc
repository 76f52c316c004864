#include "tui/model/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ringtrue::tui {
namespace {

constexpr std::size_t log_lines = 20;

}  // namespace

Watch::Watch(std::string what, Maybe expected) : expected_(expected) {
  run_.state = Run::State::running;
  run_.what = std::move(what);
}

struct Watch::Taker {
  Watch& watch;
  Run& run;

  void operator()(const ops::progress::Phase& e) const {
    run.phase = key_of(e.phase);
    run.answered = e.answered;
    run.of = e.nodes;
  }
  void operator()(const ops::progress::Step& e) const { run.step = e.what; }
  void operator()(const ops::progress::Part& e) const {
    run.step = fmt::format("{} {} of {}", e.what, e.number, e.of);
  }
  void operator()(const ops::progress::Call& e) const {
    run.step = fmt::format("{} of {} bytes", key_of(e.algorithm), e.bytes);
  }
  void operator()(const ops::progress::Experiment& e) const {
    run.phase = key_of(e.stage);
    run.step = e.what;
    run.answered = run.of = 0;
    if (run.budget_s) run.used_s = *run.budget_s * e.budget_used;
    run.log.push_back(fmt::format("{}: {}", run.phase, run.step));
    if (run.log.size() > log_lines) run.log.erase(run.log.begin());
  }
  void operator()(const ops::progress::Budget& e) const { run.budget_s = e.budget.value; }
  void operator()(const ops::progress::Reading& e) const {
    run.runs = int(e.runs);
    run.bytes = double(e.bytes);
    const std::size_t n = e.nodes.size();
    if (watch.nodes_ != e.nodes) {
      watch.nodes_ = e.nodes;
      watch.rates_.assign(n * n, std::numeric_limits<float>::quiet_NaN());
    }
    for (const diagnosis::HopReading& hop : e.observation.hops) {
      const auto rate = hop.rate();
      if (!rate || hop.source < 0 || hop.destination < 0 || std::size_t(hop.source) >= n ||
          std::size_t(hop.destination) >= n)
        continue;
      float& best = watch.rates_[std::size_t(hop.source) * n + std::size_t(hop.destination)];
      if (!(best >= float(*rate))) best = float(*rate);
    }
  }
  void operator()(const ops::progress::Suspects& e) const {
    run.suspects.clear();
    for (const diagnosis::Candidate& c : e.suspects)
      run.suspects.push_back({c.scope.text(), c.confidence, c.confirmed});
  }
};

void Watch::take(const ops::progress::Event& event) {
  const std::lock_guard lock(mutex_);
  std::visit(Taker{*this, run_}, event);
}

void Watch::take(const Run& rows) {
  const std::lock_guard lock(mutex_);
  run_.sizes = rows.sizes;
  run_.runs = rows.runs;
  run_.bytes = rows.bytes;
}

Run Watch::run() const {
  const std::lock_guard lock(mutex_);
  Run out = run_;
  if (nodes_.empty()) return out;
  auto matrix = std::make_shared<Matrix>();
  matrix->names = nodes_;
  matrix->layers = {{"all", rates_}};
  matrix->expected = expected_;
  if (!matrix->expected) {
    float most = 0;
    for (const float rate : rates_)
      if (rate > most) most = rate;
    if (most > 0) matrix->expected = double(most);
  }
  out.matrix = std::move(matrix);
  return out;
}

void end_with_verdict(Run& run, const Moment& found) {
  run.verdict = found.verdict + ": " + found.text;
  run.level = found.level;
  if (found.matrix) run.matrix = found.matrix;
  if (found.level != Level::unknown)
    std::erase_if(run.suspects, [](const Suspect& suspect) { return !suspect.confirmed; });
}

}  // namespace ringtrue::tui
