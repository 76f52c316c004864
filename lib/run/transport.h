// How bytes travel between ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/keys.h"

namespace ringtrue::run {

enum class Transport : std::uint8_t {
  // Shared memory inside a node; between nodes verbs where both ends have them, else tcp. Between the GPUs of
  // one node cuda wherever it can.
  automatic,
  cuda,  // between the GPUs of one node; all others stage device memory through the host
  shm,   // inside a node
  tcp,
  udp,    // of omnireduce alone
  verbs,  // RDMA for every hop, those inside a node as well
};

// "shm+tcp"
std::string to_text(const std::vector<Transport>& transports);

}  // namespace ringtrue::run

namespace ringtrue {

template <>
inline constexpr const char* keys_of<run::Transport>[] = {"auto", "cuda", "shm", "tcp", "udp", "verbs"};

}  // namespace ringtrue
