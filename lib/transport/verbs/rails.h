// Which ports and addresses of a node its data goes through.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/rdma.h"
#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {

// A port in use: one rail of the node.
struct Rail {
  run::RdmaPort name;
  PortState port;
  Gid gid;  // InfiniBand: one that routers take (with a FLID), or index 0
  bool global =
      false;  // reached by GID alone: on Ethernet, where the port needs it, by a GID index that is set
};

// Nodes may see each other's devices: network namespaces in a lab, containers on one host.
struct Addresses {
  std::string own;  // that this node's data goes from; empty: none in particular
  // Numbers of other nodes'; nullopt: not known yet, and there may be some here.
  std::optional<std::vector<std::string>> others = {};
};

// All devices of a node: those that are open, by name, and why the others are not.
struct Devices {
  std::vector<std::unique_ptr<Device>> opened;
  std::map<std::string, Error> closed;
};
Result<Devices> open_devices(Library& library);

// A port, or a device, that no data goes through by itself, and why: "mlx5_2:1 is down".
struct LeftOut {
  std::string why;
  // Of another fabric or far from the rails' rate, which is no fault; unless most of the node's ports are of
  // that fabric, and all of them are down.
  bool other_kind = false;
};

struct Choice {
  std::vector<Rail> rails;
  std::vector<LeftOut> left_out;  // nothing where the settings name the ports
};

// The settings' ports, each of which has to be active; or else, of all active ones, those of one fabric
// and rate that are fastest together (run/rail_rule.h): InfiniBand by LID; Ethernet by its RoCE v2 GID, an
// IPv4 address before IPv6, a routable one before link-local. A port with another node's address is left to
// that node; of equals, where there is such a one, only those with this node's own address are its own.
// Sorted by name. Errors: unavailable, with the reason in one line for the operator: no device, none active,
// no GID.
Result<Choice> choose_rails(const Devices& devices, const run::RdmaSettings& settings,
                            const Addresses& addresses);

// "10.1.0.7", "fe80::1", as people read a GID.
std::string to_text(const Gid& gid);

}  // namespace ringtrue::transport::verbs
