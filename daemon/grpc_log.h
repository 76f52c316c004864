// gRPC's own log as part of ours: a refused TLS handshake is one clear line, what is only gRPC's business is
// dropped.
#pragma once

#include <cstdint>

namespace ringtrue::daemon {

// Before anything else of gRPC is used.
void take_over_grpc_log();
// TLS handshakes that failed since then.
std::uint64_t refused_handshakes();

}  // namespace ringtrue::daemon
