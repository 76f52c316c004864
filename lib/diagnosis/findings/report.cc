#include "diagnosis/findings/report.h"

#include "topology/counters.h"

namespace ringtrue::diagnosis {

std::string Scope::text() const {
  switch (type) {
    case ScopeType::path:
      return "the path " + subject.node + " -> " + peer_name;
    case ScopeType::sender:
      return subject.node + "'s sending side";
    case ScopeType::receiver:
      return subject.node + "'s receiving side";
    case ScopeType::node:
      return subject.node;
    case ScopeType::rail:
    case ScopeType::leaf:
    case ScopeType::trunk:
    case ScopeType::spine:
    case ScopeType::gpu:
    case ScopeType::nic:
    case ScopeType::port:
    case ScopeType::link:
    case ScopeType::fabric_switch:
    case ScopeType::counter: {
      // "node3 mlx5_0 port 1"; parts of the fabric belong to no node.
      const std::string part = subject.device.empty() ? std::string(key_of(type))
                               : type == ScopeType::fabric_switch
                                   ? subject.device  // a name, which may have a stroke in it
                                   : topology::device_words(subject.device);
      return subject.node.empty() ? part : subject.node + " " + part;
    }
    case ScopeType::fleet:
      break;
  }
  return "the whole fleet";
}

}  // namespace ringtrue::diagnosis
