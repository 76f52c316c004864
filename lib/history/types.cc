#include "history/types.h"

namespace ringtrue::history {

std::string SubjectKey::text() const {
  const std::string where = device.empty() ? "" : (node.empty() ? device : " " + device);
  switch (type) {
    case SubjectType::fleet:
      return "the fleet";
    case SubjectType::node:
      return node;
    case SubjectType::sender:
      return node + "'s sending side";
    case SubjectType::receiver:
      return node + "'s receiving side";
    case SubjectType::path:
      return "the path " + node + " -> " + peer;
    default:
      return std::string(key_of(type)) + " " + node + where;
  }
}

}  // namespace ringtrue::history
