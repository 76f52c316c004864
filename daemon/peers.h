// Whom this node's workers may connect to: a client that may run chooses addresses, and must not make of this
// daemon a way to what it cannot reach itself.
#pragma once

#include <string>
#include <vector>

#include "base/ip.h"
#include "base/result.h"

namespace ringtrue::daemon {

class Peers {
 public:
  // By configuration; none: the networks of this machine's interfaces, as they are when somebody asks.
  explicit Peers(std::vector<IpNetwork> configured = {}) : configured_(std::move(configured)) {}

  // Whether a node may be at `host`, which has to be an address: a name could mean another one tomorrow.
  // `local`: the operator is on this machine, and so may be all of the run.
  Result<void> allow(const std::string& node, const std::string& host, bool local) const;
  // The same as networks, for workers to hold addresses to that peers tell each other.
  std::vector<IpNetwork> networks(bool local) const;

 private:
  std::vector<IpNetwork> configured_;
};

// Networks of the interfaces that are up, without loopback's and link-local ones. Empty where they cannot be
// listed.
std::vector<IpNetwork> own_networks();

}  // namespace ringtrue::daemon
