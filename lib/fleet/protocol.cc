#include "fleet/protocol.h"

#include "wire/versions.h"

namespace ringtrue::fleet {

std::uint32_t protocol_spoken() {
  return wire::this_program().protocol;
}

}  // namespace ringtrue::fleet
