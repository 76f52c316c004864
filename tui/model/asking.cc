#include "tui/model/asking.h"

#include <algorithm>
#include <utility>

#include "operator/runner.h"

namespace ringtrue::tui {
namespace {

using namespace std::chrono_literals;

constexpr Seconds answers_in{3};
// Of so many nodes no connections are kept: of one machine daemons hold sixteen, which others may need.
constexpr std::size_t few = 100;

}  // namespace

// Names become addresses, and certificates are read, once an hour and when asked to: both may be new then.
Result<void> Asking::look_up() {
  if (dialer_ && Clock::now() < again_) return {};
  auto targets = ops::targets_of(setup_, true);
  if (!targets) return tl::unexpected(std::move(targets.error()));
  auto options = ops::fleet_options(setup_, {}, {}, ops::Control(stop_));
  options.phase_deadline = answers_in;
  auto dialer = fleet::make_dialer(*targets, options);
  if (!dialer) return tl::unexpected(std::move(dialer.error()));
  targets_ = std::move(*targets);
  dialer_ = std::move(*dialer);
  states_.resize(targets_.size());
  const bool all = std::ranges::all_of(targets_, [](const auto& target) { return target.unknown.empty(); });
  again_ = Clock::now() + (all ? 3600s : 60s);
  return {};
}

Result<std::vector<fleet::NodeState>> Asking::ask(std::size_t first) {
  if (auto looked = look_up(); !looked) return tl::unexpected(std::move(looked.error()));
  const std::size_t end = std::min(first + at_once, targets_.size());
  if (first >= end) return std::vector<fleet::NodeState>();
  const std::vector<fleet::Target> some(targets_.begin() + std::ptrdiff_t(first),
                                        targets_.begin() + std::ptrdiff_t(end));
  auto states =
      fleet::describe(*dialer_, some, answers_in, fleet::Gently{at_once, ended_, targets_.size() > few});
  std::ranges::copy(states, states_.begin() + std::ptrdiff_t(first));
  return states;
}

std::vector<std::string> Asking::notes() const {
  return dialer_ ? ops::daemon_notes(setup_, states_) : std::vector<std::string>();
}

}  // namespace ringtrue::tui
