// Which ports and addresses of a node its data goes through.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/verbs/library.h"
#include "transport/verbs/settings.h"

namespace ringtrue::transport::verbs {

// A port in use: one rail of the node.
struct Rail {
  PortName name;
  PortState port;
  Gid gid;              // InfiniBand: index 0
  bool global = false;  // routed by GID: always on Ethernet
};

// The settings' ports, each of which has to be active; or else
//   1. the ports whose GID is the data address, where that is the address of one (RoCE v2);
//   2. all active ports: InfiniBand by LID; Ethernet by its RoCE v2 GID, an IPv4 address before IPv6, a
//      routable one before link-local.
// where InfiniBand and Ethernet are both there, those of the higher total rate. Sorted by name.
// Errors: unavailable, with the reason in one line for the operator: no device, none active, no GID.
Result<std::vector<Rail>> choose_rails(const std::vector<std::unique_ptr<Device>>& devices,
                                       const Settings& settings, const std::string& data_address);

// "10.1.0.7", "fe80::1", as people read a GID.
std::string to_text(const Gid& gid);

}  // namespace ringtrue::transport::verbs
