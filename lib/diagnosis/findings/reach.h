// Nodes that cannot talk to each other at all, or only in short packets: told before anything is measured, so
// that it is not taken for slowness, and so that the others can still be measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "diagnosis/findings/report.h"

namespace ringtrue::diagnosis {

// One ordered pair of nodes that was tried.
struct Tried {
  enum class Call : std::uint8_t {
    answered,
    vanishes,         // no answer, and nothing of it was seen at the other end
    answer_vanishes,  // it came, but the answer did not come back
    rejected
  };
  int source = 0, destination = 0;  // nodes: who calls, and who listens
  Call call = Call::answered;
  std::string why{};       // of one that was rejected, "Connection refused"
  std::string address{};   // that was called, "10.0.0.7:41234"
  bool needed = true;      // runs connect in this direction; the other way round it only might
  bool long_lost = false;  // packets of `packet` bytes of IP went from source to destination and got lost
  int packet = 0;
};

// What a node's data goes over.
struct DataEnd {
  std::string interface, address;
  int mtu = 0;  // bytes of IP; 0: unknown
};

struct Reached {
  std::vector<Finding> findings;  // "blocked-*" and "mtu-*", the gravest first
  std::vector<int> left_out;      // nodes without which all others reach each other
};

// A node that none of those that tried could reach, or that reached none, is named instead of its pairs; if
// that is so of all, the fleet is. Pairs are told in groups of nodes that are alike. Critical where runs need
// that direction, else a warning. `patience`: how long an answer was waited for.
Reached judge_reach(const std::vector<Tried>& tried, const std::map<int, DataEnd>& ends,
                    const std::vector<std::string>& names, Seconds patience);

}  // namespace ringtrue::diagnosis
