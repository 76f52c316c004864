// Whom this node's workers may connect to: a client that may run chooses addresses, and must not make of this
// daemon a way to what it cannot reach itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/result.h"

namespace ringtrue::daemon {

// Networks of the interfaces that are up, without loopback's and link-local ones; an error where interfaces
// cannot be listed, which is not the same as none.
Result<std::vector<IpNetwork>> own_networks();

class Peers {
 public:
  using Interfaces = std::function<Result<std::vector<IpNetwork>>()>;
  // By configuration; none: the networks of this machine's interfaces, as they are when somebody asks.
  explicit Peers(std::vector<IpNetwork> configured = {}, Interfaces interfaces = own_networks)
      : configured_(std::move(configured)), interfaces_(std::move(interfaces)) {}

  // Whether a node may be at `host`, which has to be an address: a name could mean another one tomorrow.
  // `local`: the operator is on this machine, and so may be all of the run.
  Result<void> allow(const std::string& node, const std::string& host, bool local) const;
  // The same as networks, for workers to hold addresses to that peers tell each other.
  Result<std::vector<IpNetwork>> networks(bool local) const;

 private:
  std::vector<IpNetwork> configured_;
  Interfaces interfaces_;
};

}  // namespace ringtrue::daemon
