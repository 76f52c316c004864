// Cables between switches that are not there, though switches like these have them. Like are switches of one
// level (steps from the hosts) whose cables to another level go to the same switches, but for one in ten.
#pragma once

#include <string>
#include <vector>

#include "topology/model.h"

namespace ringtrue::diagnosis {

// As many as may be unlike the others before that is how it was built.
int few(std::size_t all);

struct MissingCable {
  std::string from, to;   // GUIDs, the lower switch first; `to` empty: nobody tells where it went
  int cables = 0;         // between the two; `to` empty: to the whole level
  int usual = 0;          // of the switches like it
  int alike = 0, of = 0;  // so many of them, itself among them
  bool by_total = false;  // judged by how many cables all switches of its level have to that of `to`
};

// `what`: GUIDs; `why`: a sentence.
struct UnjudgedCables {
  std::vector<std::string> what;
  std::string why;
};

struct MissingCables {
  std::vector<MissingCable> found;
  std::vector<UnjudgedCables> unjudged;
};

MissingCables find_missing_cables(const topology::Fabric& fabric);

}  // namespace ringtrue::diagnosis
