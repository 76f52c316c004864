// What the daemons answered last, each of them, and when.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fleet/fleet.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

inline constexpr const char* held_by_nobody = "held by nobody";

// From any thread.
class Presence {
 public:
  // Of nodes that have not been asked yet, too.
  explicit Presence(const std::vector<std::string>& nodes = {});

  // Whether anything is new.
  bool take(const std::vector<fleet::NodeState>& nodes, double now);
  // Into the rows of the nodes, with rows for those that have none.
  void touch(std::vector<NodeRow>& rows) const;
  // "node3 is held by alice@login1 (check)", "held by nobody".
  std::string held() const { return holder().value_or(held_by_nobody); }
  std::optional<std::string> holder() const;  // "node3 is held by ..."

 private:
  struct Now {
    bool asked = false, answers = false;
    std::string held_by, why;
    Maybe heard;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Now> now_;
};

}  // namespace ringtrue::tui
