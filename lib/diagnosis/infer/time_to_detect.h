// After how many runs each finding was confirmed for good, apart from what the rest of a check did.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "diagnosis/findings/report.h"

namespace ringtrue::diagnosis {

class TimeToDetect {
 public:
  // What would be suspected now, after so many runs. What no longer is, has to be proven again.
  void note(const std::vector<Finding>& findings, int runs);
  // Tells each finding since when it stands; one that is new stands since the last run.
  void tell(std::vector<Finding>& findings, int runs) const;

 private:
  using Key = std::tuple<FindingKind, int, int, std::string>;  // kind, node, peer, device
  std::map<Key, int> since_;
};

}  // namespace ringtrue::diagnosis
