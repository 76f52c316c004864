// What is in the nodes whose GPUs a command plays on, and what their links allow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/player.h"
#include "ideal/ideal.h"
#include "topology/model.h"

namespace ringtrue::cmd {

// The nodes' facts, under the player's names for them. What cannot be read is left out, and noted.
topology::Cluster facts_of_nodes(const Context& context, const Player& player,
                                 std::vector<std::string>& notes);

// Looks at the nodes once, when it is first needed.
class GpuLinks {
 public:
  // Adds what the links between the GPUs of a run on one node allow, and notes how that came about or why
  // there is nothing.
  void add(const Context& context, const Player& player, const engine::RunReport& run, ideal::Inputs& inputs,
           std::vector<std::string>& notes);

 private:
  std::optional<topology::Cluster> facts_;
};

}  // namespace ringtrue::cmd
