// The daemons that are watched, asked what they are: few at a time, so that neither they nor this machine
// feel it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/fleet.h"
#include "operator/setup.h"
#include "operator/stop.h"

namespace ringtrue::tui {

// Of one thread.
class Asking {
 public:
  static constexpr std::size_t at_once = 32;

  // `ended`: from then on nothing is waited for.
  Asking(const ops::Setup& setup, ops::Stop& stop, std::function<bool()> ended)
      : setup_(setup), stop_(stop), ended_(std::move(ended)) {}

  // Of `at_once` nodes from `first` on, as --hosts has them. Errors: names or certificates that cannot be
  // read.
  Result<std::vector<fleet::NodeState>> ask(std::size_t first);
  // What is to be said of all that has been answered: versions, certificates that expire.
  std::vector<std::string> notes() const;
  // Names and certificates are looked up before the next question.
  void look_up_again() { again_ = {}; }

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> look_up();

  const ops::Setup& setup_;
  ops::Stop& stop_;
  const std::function<bool()> ended_;
  std::vector<fleet::Target> targets_;
  std::shared_ptr<fleet::Dialer> dialer_;
  std::vector<fleet::NodeState> states_;
  Clock::time_point again_{};
};

}  // namespace ringtrue::tui
