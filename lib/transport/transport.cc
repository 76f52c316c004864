#include "transport/transport.h"

#include <fmt/format.h>

namespace ringtrue::transport {

Error connection_lost(const Hop& hop, const std::string& why) {
  return {
      Cause::peer_lost,
      fmt::format("rank {} lost its connection to rank {} on {}: {}", hop.self, hop.peer, hop.peer_node, why),
      hop.peer_node, "see the log of ringtrued there"};
}

}  // namespace ringtrue::transport
