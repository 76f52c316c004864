// A provider of verbs for tests: nodes with devices as described, on one fabric, in one process. RDMA WRITEs
// move real bytes between queue pairs and are checked as hardware checks them: keys, bounds, access, states,
// receives, room in queues. What no device forbids but no program should do is in complaints(), which tests
// hold empty.
//
//   FakeFabric fabric;
//   FakeLibrary& node1 = fabric.add_node({fake_roce("mlx5_0", "10.1.0.1")});
//   FakeLibrary& node2 = fabric.add_node({fake_infiniband("mlx5_0", 7), fake_infiniband("mlx5_1", 8)});
//
// A write is delivered as it is posted, unless the test holds deliveries back or shuffles them. May be used
// by several threads. Outlives all that is opened on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {

struct FakePort {
  PortState state;
  std::vector<Gid> gids;
};

struct FakeDevice {
  std::string name;
  std::vector<FakePort> ports;
  DeviceLimits limits;
  int max_inline = 220;
  int pkeys = 1;                                 // in the ports' tables
  bool dmabuf = false;                           // ibv_reg_dmabuf_mr works
  bool peermem = false;                          // GPU memory can be registered by its address
  std::uint64_t max_pinned = std::uint64_t(-1);  // RLIMIT_MEMLOCK
  std::string cannot_open;                       // not empty: why open() fails
};

// One active port each: 100 Gbit/s, MTU 4096 and 1024, room enough, shared receive queues, no timestamps.
FakeDevice fake_infiniband(std::string name, std::uint16_t lid);
FakeDevice fake_roce(std::string name, const std::string& address);
// "10.1.0.1" or "fe80::1".
Gid fake_gid(const std::string& address, int index, Gid::Type type);

class FakeFabric;

class FakeLibrary : public Library {
 public:
  Result<std::vector<std::string>> devices() override;
  Result<std::unique_ptr<Device>> open(const std::string& name) override;

  // The port goes down, or up again: events say so, and nothing goes through it meanwhile.
  void set_active(const std::string& device, int port, bool active);
  void raise(const std::string& device, const Event& event);

 private:
  friend class FakeFabric;
  FakeLibrary(FakeFabric& fabric, int node) : fabric_(fabric), node_(node) {}
  FakeFabric& fabric_;
  int node_;
};

class FakeFabric {
 public:
  FakeFabric();
  ~FakeFabric();
  FakeLibrary& add_node(std::vector<FakeDevice> devices);

  // Writes wait until they are delivered or released.
  void hold();
  void release();
  std::size_t held() const;
  // So many of the held writes, the oldest first; each queue pair's own in their order. How many it were.
  std::size_t deliver(std::size_t count = std::size_t(-1));
  std::size_t deliver_from(std::uint32_t queue_pair, std::size_t count = 1);
  // Delivers in an order that the seed gives, never changing it within a queue pair: one write as a queue is
  // polled, all as one is armed; with hold(), as deliver() is called.
  void shuffle(std::uint32_t seed);

  // The count-th write (1: the next) from now on fails with this status, and is not delivered.
  void fail_write(std::uint64_t count, int status, std::uint32_t vendor_error = 0);
  // The count-th completion from now on, of a send or of a receive, comes with this status.
  void fail_completion(std::uint64_t count, int status, std::uint32_t vendor_error = 0);
  void break_queues();  // of completions, all that have queue pairs
  // This memory is a GPU's from now on: see FakeDevice::peermem.
  void mark_gpu(const std::byte* at, std::uint64_t bytes);
  // Of completions, nanoseconds; otherwise it counts deliveries in microseconds.
  void set_clock(std::function<std::int64_t()> clock);

  struct Live {
    int devices = 0, regions = 0, completion_queues = 0, shared_queues = 0, queue_pairs = 0;
    std::uint64_t pinned = 0;  // bytes
    bool operator==(const Live&) const = default;
  };
  Live live() const;
  // Since the beginning.
  struct Totals {
    std::uint64_t writes = 0, immediates = 0, inlined = 0, signaled = 0, bytes = 0;
    std::uint64_t completions = 0, events = 0;  // of completion queues
    std::uint64_t registrations = 0;
  };
  Totals totals() const;
  struct LiveRegion {
    std::string device;
    const std::byte* at = nullptr;
    std::uint64_t bytes = 0;
    Access access;
    bool dmabuf = false;
  };
  std::vector<LiveRegion> regions() const;
  std::vector<std::uint32_t> queue_pairs() const;  // numbers, in order of their making
  std::vector<std::string> complaints() const;

  struct World;  // fake_verbs_world.h

 private:
  friend class FakeLibrary;
  std::unique_ptr<World> world_;
  std::vector<std::unique_ptr<FakeLibrary>> nodes_;
};

}  // namespace ringtrue::transport::verbs
