// A process that takes part in the runs of a lease, and where its peers find it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"

namespace ringtrue::transport::verbs {
class Library;
}
namespace ringtrue::transport::cuda {
class Driver;
}

namespace ringtrue::run {

// This process, as its node's daemon (or the command itself, for --local) started it.
struct Member {
  int node = 0;
  int process = 0;
  int processes = 1;           // on this node
  int threads = 0;             // 0: as many as there are cores, divided by `processes`, at least 1
  std::string secret;          // of the lease: data connections prove that they know it
  std::string data_address;    // of the data interface that was asked for: to listen on
  std::string listen_address;  // to listen on where there is no such; empty: all
  std::string node_address;    // where the node is reached, which picks its RDMA port; may be empty
  // Networks that peers' RDMA addresses have to lie in, as the daemon holds their hosts to them; an empty
  // list holds nobody. nullopt: any address, where no daemon answers for this process.
  std::optional<std::vector<IpNetwork>> peers;
  int port_low = 0, port_high = 0;  // range to listen in; 0: any
  // With processes > 1: a memfd shared by the node's processes, and one eventfd per process, in order.
  // -1 and empty otherwise. The session does not close them.
  int shared_memory = -1;
  std::vector<int> doorbells;
  transport::verbs::Library* verbs = nullptr;  // nullptr: libibverbs
  transport::cuda::Driver* cuda = nullptr;     // nullptr: the CUDA module, opened for a job on device memory
  std::string nccl = "libnccl.so.2";           // the library that Job::reference asks for
  std::optional<bool>
      own_numbers;  // see transport::shm::has_own_numbers(), which is asked if nothing is said
};

struct Address {
  std::string host;  // as the operator reaches the node
  int port = 0;
};

}  // namespace ringtrue::run
