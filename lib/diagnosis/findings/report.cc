#include "diagnosis/findings/report.h"

#include "topology/counters.h"

namespace ringtrue::diagnosis {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return "healthy";
    case Verdict::degraded:
      return "degraded";
    case Verdict::faulty:
      return "faulty";
    case Verdict::unknown:
      break;
  }
  return "unknown";
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return 0;
    case Verdict::degraded:
      return 1;
    case Verdict::faulty:
      return 2;
    case Verdict::unknown:
      break;
  }
  return 3;
}

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::critical:
      return "critical";
    case Severity::warning:
      return "warning";
    case Severity::info:
      break;
  }
  return "info";
}

std::string_view name(ScopeType type) {
  switch (type) {
    case ScopeType::path:
      return "path";
    case ScopeType::sender:
      return "sender";
    case ScopeType::receiver:
      return "receiver";
    case ScopeType::node:
      return "node";
    case ScopeType::rail:
      return "rail";
    case ScopeType::leaf:
      return "leaf";
    case ScopeType::trunk:
      return "trunk";
    case ScopeType::spine:
      return "spine";
    case ScopeType::gpu:
      return "gpu";
    case ScopeType::nic:
      return "nic";
    case ScopeType::port:
      return "port";
    case ScopeType::link:
      return "link";
    case ScopeType::fabric_switch:
      return "switch";
    case ScopeType::counter:
      return "counter";
    case ScopeType::fleet:
      break;
  }
  return "fleet";
}

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
      const std::string part =
          subject.device.empty() ? std::string(name(type)) : topology::device_words(subject.device);
      return subject.node.empty() ? part : subject.node + " " + part;
    }
    case ScopeType::fleet:
      break;
  }
  return "the whole fleet";
}

}  // namespace ringtrue::diagnosis
