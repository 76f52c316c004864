// What was chosen and confirmed, as it goes on and ends: a check, which is recorded as the command's are, a
// run or a sweep.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/documents/check.h"
#include "operator/history.h"
#include "operator/stop.h"
#include "tui/model/model.h"
#include "tui/model/order.h"
#include "tui/model/snapshot/snapshot.h"
#include "tui/model/watch.h"

namespace ringtrue::tui {

class Play {
 public:
  struct Told {
    std::function<void(const Run&)> run;                          // as far as it is
    std::function<void(std::shared_ptr<const Moment>)> finished;  // a check with a verdict
  };

  // `hosts`: all, as --hosts has them.
  Play(const LiveRequest& request, const std::vector<std::string>& hosts, const Order& order, Told told);

  // Returns when it is over, and nothing is held any more.
  void go(ops::Stop& stop);

 private:
  ops::Setup setup() const;
  std::optional<ops::HistoryPlace> place(const ops::CheckDocument& document) const;
  void show_verdict(const ops::CheckDocument& document, Run& run) const;
  void check(const ops::Control& control);
  void run(const ops::Control& control);
  void sweep(const ops::Control& control);

  const LiveRequest& request_;
  const std::vector<std::string>& hosts_;
  const Order order_;
  const Told told_;
  Watch watch_;
};

}  // namespace ringtrue::tui
