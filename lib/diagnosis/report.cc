#include "diagnosis/report.h"

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
    case ScopeType::fleet:
      break;
  }
  return "fleet";
}

std::string Scope::text() const {
  switch (type) {
    case ScopeType::path:
      return "the path " + node_name + " -> " + peer_name;
    case ScopeType::sender:
      return node_name + "'s sending side";
    case ScopeType::receiver:
      return node_name + "'s receiving side";
    case ScopeType::node:
      return node_name;
    case ScopeType::fleet:
      break;
  }
  return "the whole fleet";
}

}  // namespace ringtrue::diagnosis
