// Which kind of a node's ports carries its data. The one rule for what the transport takes
// (transport/verbs/rails.h) and for what a node's ideal and its inspection count (topology/rails.h).
#pragma once

#include <span>
#include <string>

namespace ringtrue::run {

struct PortForData {
  std::string kind;  // what the ports of one purchase have in common: link layer, model
  double rate = 0;   // bytes per second; 0: unknown
  bool active = true;
};

// The kind whose active ports carry most in all; where no rate is known, the one that has most of them. Where
// none is active, the same of all ports. Of equals the last by name: InfiniBand before Ethernet. "": no
// ports.
std::string kind_for_data(std::span<const PortForData> ports);
// The kind that would carry most if all ports were active, where none of its own is: its ports are down, and
// what is in use stands in for them. "": there is none.
std::string kind_that_is_down(std::span<const PortForData> ports);

}  // namespace ringtrue::run
