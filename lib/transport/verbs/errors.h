// What a failed completion or an event of a device means, in words for the operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "run/rdma.h"
#include "transport/transport.h"
#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {

// What a queue pair connects.
struct Ends {
  Hop hop;
  run::RdmaPort port;
  std::string peer_port;  // as the peer names it, "mlx5_3:1"; empty: it has told none
};

// "rank 2 on node2 lost rank 3 on node3, from mlx5_0:1 to node3's mlx5_3:1: transport retry counter exceeded
// (vendor error 0x81)", where: the peer's node; next: the usual cause. `node`: this one.
Error completion_error(const std::string& node, const Ends& ends, const Completion& completion);

// "port 1 of mlx5_0 went down during the run", where: `node`. nullopt: harmless. `ends`: of the queue pair
// that it is about.
std::optional<Error> event_error(const std::string& node, const std::string& device, const Event& event,
                                 const std::optional<Ends>& ends = {});

// "cannot pin 512 MiB of memory on mlx5_0: the limit of locked memory is 64 KiB" (refused), and how to raise
// it.
Error cannot_pin(const std::string& device, std::uint64_t bytes, std::uint64_t limit);

}  // namespace ringtrue::transport::verbs
