// RDMA verbs as the transport needs them, without anybody's headers: libibverbs behind one door (library.cc),
// and in tests a provider that is scripted (tests/support/fake_verbs.h).
//
// The names are those of the verbs; what is not said here is as ibv_*(3) says. Every object is destroyed by
// its destructor, in any order that verbs allow: queue pairs before queues, regions and queues before
// devices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace ringtrue::transport::verbs {

enum class LinkLayer : std::uint8_t { infiniband, ethernet };

struct DeviceLimits {
  int ports = 1;
  int queue_pairs = 0, work_requests = 0;           // per device, per queue pair
  int completions = 0;                              // per completion queue
  int shared_queues = 0, shared_work_requests = 0;  // 0: no shared receive queues
  bool relaxed_ordering = false;                    // may be asked for; no device says whether it obeys
  bool labels_set_ports = false;  // RoCE: the flow label sets UDP's source port (source_port())
  double timestamp_hertz = 0;     // of completion timestamps; 0: none
};

struct PortState {
  bool active = false;
  std::string state = {};  // "down", "init", "armed", "active"
  LinkLayer layer = LinkLayer::infiniband;
  std::uint16_t lid = 0;
  bool needs_grh = false;    // IBV_QPF_GRH_REQUIRED: reached by GID alone
  int mtu = 0;               // active, bytes
  BytesPerSecond rate = {};  // data rate of active speed and width
};

struct Gid {
  enum class Type : std::uint8_t { infiniband, roce_v1, roce_v2 };
  std::array<std::byte, 16> raw{};
  int index = 0;
  Type type = Type::infiniband;
  auto operator<=>(const Gid&) const = default;
};

// As in ibv_wc_status; 0 is success.
struct Completion {
  std::uint64_t work = 0;  // wr_id
  int status = 0;
  std::uint32_t vendor_error = 0;
  bool received = false;    // of a receive, with an immediate; otherwise of a send
  std::uint32_t bytes = 0;  // of a receive
  std::uint32_t immediate = 0;
  std::uint32_t queue_pair = 0;              // its number
  std::optional<std::int64_t> time_ns = {};  // the device's clock, where it stamps completions
};

// A registered piece of memory.
class Region {
 public:
  virtual ~Region() = default;
  virtual std::uint32_t local_key() const = 0;
  virtual std::uint32_t remote_key() const = 0;
};

class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  virtual int descriptor() const = 0;                // readable after an event; non-blocking
  virtual Result<void> arm() = 0;                    // the next completion makes an event
  virtual void take_events() = 0;                    // reads and acknowledges those that there are
  virtual int poll(std::span<Completion> into) = 0;  // how many; -1: the queue is broken
};

// Receives without memory: all payload comes by RDMA WRITE, so that a receive is only a place in a queue.
class SharedReceiveQueue {
 public:
  virtual ~SharedReceiveQueue() = default;
  virtual Result<void> post(int count) = 0;
};

struct Part {
  const std::byte* from = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t local_key = 0;  // ignored where inlined
};

struct Write {
  std::uint64_t work = 0;                       // wr_id of the completion, if there is one; not ~0
  std::optional<std::uint32_t> immediate = {};  // RDMA WRITE WITH IMM; nullopt: RDMA WRITE
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
  std::array<Part, 2> parts;
  int part_count = 0;
  bool signaled = false;  // a failed one completes in any case
  bool inlined = false;   // the memory may be reused at once
};

// Where a reliable connection goes, and how.
struct Path {
  int port = 1;
  int mtu = 1024;                                     // bytes
  std::uint32_t queue_pair = 0, packet_sequence = 0;  // the peer's
  LinkLayer layer = LinkLayer::infiniband;
  std::uint16_t lid = 0;
  std::optional<std::array<std::byte, 16>> gid = {};  // the peer's: a global route; always on Ethernet
  int gid_index = 0;                                  // ours
  int traffic_class = 0, service_level = 0, hop_limit = 64;
  std::uint32_t flow_label = 0;  // 0: the adapter's own
  int min_rnr_timer = 12;
};

// UDP's, of RoCE v2 with that label, where DeviceLimits::labels_set_ports: the label's low 14 bits, folded
// with its high ones, from 49152.
std::uint16_t source_port(std::uint32_t flow_label);

struct RetryLimits {
  int timeout = 18;  // local ACK timeout: 4.096 us x 2^timeout; 0: for ever
  int retry_count = 7, rnr_retry = 7;
};

class QueuePair {
 public:
  virtual ~QueuePair() = default;
  virtual std::uint32_t number() const = 0;
  virtual int max_inline() const = 0;                              // bytes
  virtual Result<void> to_ready_to_receive(const Path& path) = 0;  // from INIT, in which it is made
  virtual Result<void> to_ready_to_send(const RetryLimits& limits, std::uint32_t packet_sequence) = 0;
  virtual Result<void> post(std::span<const Write> writes) = 0;  // all, or none after an error
  virtual Result<void> post_receives(int count) = 0;             // where it has no shared queue
  // Everything outstanding completes with an error, soon.
  virtual void to_error() = 0;
};

// An asynchronous event (ibv_get_async_event).
struct Event {
  // bad_request: the peer of a queue pair asked for what it must not.
  enum class Kind : std::uint8_t { port_down, port_up, device_fatal, queue_broken, bad_request, other };
  Kind kind = Kind::other;
  int port = 0;                  // of port_down, port_up
  std::uint32_t queue_pair = 0;  // of queue_broken, bad_request, where it is about one
  std::string text;              // as rdma-core describes it
};

struct Access {
  bool remote_write = false;
  bool relaxed_ordering = false;
};

// An opened device with one protection domain.
class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;
  virtual const DeviceLimits& limits() const = 0;
  virtual Result<PortState> port(int number) const = 0;
  virtual std::vector<Gid> gids(int port) const = 0;  // without empty ones

  // Of a region that cannot be had the errors tell apart: refused (memlock: `next` says how to raise it),
  // unavailable (all else).
  virtual Result<std::unique_ptr<Region>> register_memory(std::byte* at, std::uint64_t bytes,
                                                          Access access) = 0;
  virtual Result<std::unique_ptr<Region>> register_dmabuf(int descriptor, std::uint64_t offset,
                                                          std::uint64_t bytes, const std::byte* at,
                                                          Access access) = 0;
  virtual Result<std::unique_ptr<CompletionQueue>> make_completion_queue(int completions) = 0;
  virtual Result<std::unique_ptr<SharedReceiveQueue>> make_shared_receive_queue(int receives) = 0;
  // In INIT on `port`, with the P_Key at `pkey_index` of its table. `shared`: nullptr for a receive queue of
  // its own, of `receives`.
  virtual Result<std::unique_ptr<QueuePair>> make_queue_pair(CompletionQueue& queue,
                                                             SharedReceiveQueue* shared, int port, int sends,
                                                             int receives, int inline_bytes,
                                                             int pkey_index = 0) = 0;

  virtual int event_descriptor() const = 0;  // readable after an event; non-blocking
  virtual std::optional<Event> next_event() = 0;
};

// Outlives its devices.
class Library {
 public:
  virtual ~Library() = default;
  // Names, sorted. Empty: the node has none.
  virtual Result<std::vector<std::string>> devices() = 0;
  virtual Result<std::unique_ptr<Device>> open(const std::string& name) = 0;
};

// libibverbs, opened when it is first asked; prints nothing and fails (unavailable) where the node has no
// RDMA device or no libibverbs. Of the process; thread-safe.
Library& system_library();

// "transport retry counter exceeded", as rdma-core says it.
std::string status_text(int status);

}  // namespace ringtrue::transport::verbs
