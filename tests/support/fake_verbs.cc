#include "tests/support/fake_verbs.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>

#include "transport/verbs/errors.h"

namespace ringtrue::transport::verbs {
namespace {

// Of ibv_wc_status.
enum Status {
  success,
  local_length = 1,
  local_protection = 4,
  flushed = 5,
  remote_access = 10,
  retries = 12,
  rnr = 13
};

class Eventfd {
 public:
  ~Eventfd() { ::close(fd_); }
  int fd() const { return fd_; }
  void ring() const { (void)!::write(fd_, &one, sizeof one); }
  std::uint64_t take() const {
    std::uint64_t count = 0;
    return ::read(fd_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  static constexpr std::uint64_t one = 1;
  int fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

struct Card {  // a device of a node, opened or not
  int node = 0;
  FakeDevice is;
  std::uint64_t pinned = 0;
};

struct Context {  // an opened device
  Card* card = nullptr;
  Eventfd bell;
  std::deque<Event> events;
  int objects = 0;
  bool open = true;
};
using ContextPtr = std::shared_ptr<Context>;

struct Mapping {
  ContextPtr context;
  FakeFabric::LiveRegion is;
  std::uint64_t pinned = 0;  // of the host's memory
};

struct Pair;

struct Queue {
  struct Entry {
    Completion completion;
    std::shared_ptr<Pair> pair;
    std::uint64_t posted = 0;  // number of the pair's write that it completes; 0: of a receive
  };
  ContextPtr context;
  std::size_t capacity = 0;
  std::deque<Entry> entries;
  Eventfd bell;
  bool armed = false, broken = false, open = true;
  int users = 0;
};

struct Receives {  // of one queue pair, or shared
  ContextPtr context;
  int capacity = 0, posted = 0, unpolled = 0, users = 0;
  bool shared = false, open = true;
};

struct Pair {
  enum class State { init, ready_to_receive, ready_to_send, error, gone };
  struct Posted {
    Write write;
    std::vector<std::byte> inlined = {};
    std::uint64_t number = 0, order = 0;  // of this pair, of the fabric
  };
  std::uint32_t number = 0;
  ContextPtr context;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Receives> receives;
  int port = 1, sends = 0, most_inline = 0;
  State state = State::init;
  Path path;
  Patience patience;
  std::uint32_t packet_sequence = 0;
  std::deque<Posted> waiting;
  std::uint64_t posted = 0, freed = 0;
};
using PairPtr = std::shared_ptr<Pair>;

tl::unexpected<Error> refuse(std::string what) {
  return fail(Cause::unavailable, std::move(what));
}

}  // namespace

struct FakeFabric::World {
  mutable std::mutex mutex;
  std::deque<Card> cards;
  std::vector<std::weak_ptr<Context>> contexts;
  std::map<std::uint32_t, PairPtr> pairs;
  std::map<std::uint32_t, Mapping> regions;
  std::vector<std::pair<const std::byte*, std::uint64_t>> gpu;
  std::vector<std::string> complaints;
  Live live;
  Totals totals;
  std::uint32_t next_number = 0x100, next_key = 0x1000;
  std::uint64_t next_order = 0, delivered = 0;
  bool holding = false, shuffling = false;
  std::minstd_rand random;
  struct Failure {
    std::uint64_t in = 0;  // 0: none is wanted
    int status = 0;
    std::uint32_t vendor_error = 0;
    bool now() { return in != 0 && --in == 0; }
  } write_failure, completion_failure;
  std::function<std::int64_t()> clock;

  template <class... Values>
  void complain(fmt::format_string<Values...> text, Values&&... values) {
    complaints.push_back(fmt::format(text, std::forward<Values>(values)...));
  }
  std::string name(const Context& context) const {
    return fmt::format("{} of node {}", context.card->is.name, context.card->node);
  }

  // --- completions and events

  void raise(Context& context, const Event& event) {
    context.events.push_back(event);
    context.bell.ring();
  }
  void raise(const Card& card, const Event& event) {
    for (const auto& weak : contexts)
      if (const auto context = weak.lock(); context && context->card == &card && context->open)
        raise(*context, event);
  }

  void complete(const PairPtr& pair, Completion completion, std::uint64_t posted) {
    completion.queue_pair = pair->number;
    ++totals.completions;
    bool breaks = false;
    if (completion_failure.now()) {
      completion.status = completion_failure.status;
      completion.vendor_error = completion_failure.vendor_error;
      breaks = true;
    }
    if (pair->context->card->is.limits.timestamp_hertz > 0)
      completion.time_ns = clock ? clock() : std::int64_t(delivered) * 1000;
    Queue& queue = *pair->queue;
    if (queue.entries.size() >= queue.capacity) {
      complain("a completion queue of {} overflows on {}", queue.capacity, name(*queue.context));
      queue.broken = true;
      raise(*queue.context, {Event::Kind::queue_broken, 0, 0, "CQ error"});
      return;
    }
    queue.entries.push_back({completion, pair, posted});
    if (queue.armed) {
      queue.armed = false;
      ++totals.events;
      queue.bell.ring();
    }
    if (breaks) break_pair(pair);
  }

  // All that is outstanding is flushed, receives as well unless they are shared.
  void break_pair(const PairPtr& pair) {
    if (pair->state == Pair::State::error || pair->state == Pair::State::gone) return;
    pair->state = Pair::State::error;
    flush(pair);
  }
  void flush(const PairPtr& pair) {
    for (; !pair->waiting.empty(); pair->waiting.pop_front())
      complete(pair, {.work = pair->waiting.front().write.work, .status = flushed},
               pair->waiting.front().number);
    Receives& receives = *pair->receives;
    if (receives.shared) return;
    for (; receives.posted > 0; --receives.posted) complete(pair, {.status = flushed, .received = true}, 0);
  }

  // --- delivery

  const Gid* gid_of(const Pair& pair) const {
    for (const Gid& gid : pair.context->card->is.ports[std::size_t(pair.port - 1)].gids)
      if (gid.index == pair.path.gid_index) return &gid;
    return nullptr;
  }
  static const FakePort& port_of(const Pair& pair) {
    return pair.context->card->is.ports[std::size_t(pair.port - 1)];
  }
  // Whether `path` leads to the port on which `pair` is.
  static bool leads_to(const Path& path, const Pair& pair) {
    const FakePort& port = port_of(pair);
    if (path.layer != port.state.layer) return false;
    if (!path.gid) return path.lid != 0 && path.lid == port.state.lid;
    return std::any_of(port.gids.begin(), port.gids.end(),
                       [&](const Gid& gid) { return gid.raw == *path.gid; });
  }

  const Mapping* region(const ContextPtr& context, std::uint32_t key, std::uint64_t at,
                        std::uint64_t bytes) const {
    const auto found = regions.find(key);
    if (found == regions.end() || found->second.context != context) return nullptr;
    const auto begin = std::uint64_t(reinterpret_cast<std::uintptr_t>(found->second.is.at));
    const bool inside =
        at >= begin && bytes <= found->second.is.bytes && at - begin <= found->second.is.bytes - bytes;
    return inside ? &found->second : nullptr;
  }

  // The status with which the head of `pair` completes; nullopt: it has to wait for a receive.
  std::optional<int> try_write(const PairPtr& pair, const Pair::Posted& posted, PairPtr& peer) {
    const Write& write = posted.write;
    std::uint64_t bytes = 0;
    for (int i = 0; i < write.part_count; ++i) {
      const Part& part = write.parts[std::size_t(i)];
      bytes += part.bytes;
      const auto at = std::uint64_t(reinterpret_cast<std::uintptr_t>(part.from));
      if (!write.inlined && part.bytes > 0 && !region(pair->context, part.local_key, at, part.bytes))
        return local_protection;
    }
    const auto found = pairs.find(pair->path.queue_pair);
    if (found == pairs.end() || !leads_to(pair->path, *found->second)) return retries;
    peer = found->second;
    if (!port_of(*pair).state.active || !port_of(*peer).state.active) return retries;
    if (peer->state == Pair::State::init) {
      complain("queue pair {:#x} writes before {:#x} can receive", pair->number, peer->number);
      return retries;
    }
    if (peer->state == Pair::State::error) return retries;
    if (peer->path.queue_pair != pair->number || !leads_to(peer->path, *pair) ||
        peer->path.gid.has_value() != pair->path.gid.has_value()) {
      complain("queue pair {:#x} writes to {:#x}, which is connected to another", pair->number, peer->number);
      return retries;
    }
    if (peer->path.packet_sequence != pair->packet_sequence) {
      complain("queue pair {:#x} counts packets from {:#x}, and {:#x} expects {:#x}", pair->number,
               pair->packet_sequence, peer->number, peer->path.packet_sequence);
      return retries;
    }
    if (pair->path.mtu > peer->path.mtu) {
      complain("queue pair {:#x} sends packets of {}, and {:#x} takes {}", pair->number, pair->path.mtu,
               peer->number, peer->path.mtu);
      return local_length;
    }
    if (bytes > 0) {
      const auto* target = region(peer->context, write.remote_key, write.remote_address, bytes);
      if (!target || !target->is.access.remote_write) return remote_access;
    }
    if (write.immediate && peer->receives->posted == 0)
      return pair->patience.rnr_retry == 7 ? std::nullopt : std::optional<int>(rnr);
    return success;
  }

  // Delivers the first write that waits at `pair`. False: it cannot go on.
  bool deliver_head(const PairPtr& pair) {
    if (pair->waiting.empty() || pair->state != Pair::State::ready_to_send) return false;
    PairPtr peer;
    const auto status = try_write(pair, pair->waiting.front(), peer);
    if (!status) return false;
    const Pair::Posted posted = std::move(pair->waiting.front());
    pair->waiting.pop_front();
    ++delivered;
    Completion done{.work = posted.write.work, .status = *status};
    if (write_failure.now()) {
      done.status = write_failure.status;
      done.vendor_error = write_failure.vendor_error;
    }
    if (done.status == success) {
      carry_out(posted, peer);
      if (posted.write.signaled) complete(pair, done, posted.number);
      return true;
    }
    if (done.vendor_error == 0) done.vendor_error = 0x80u + unsigned(done.status);
    complete(pair, done, posted.number);
    break_pair(pair);
    if (*status == remote_access) {
      raise(*peer->context, {Event::Kind::queue_broken, 0, peer->number, "local access violation work queue error"});
      break_pair(peer);
    }
    return true;
  }

  void carry_out(const Pair::Posted& posted, const PairPtr& peer) {
    const Write& write = posted.write;
    auto* into = reinterpret_cast<std::byte*>(std::uintptr_t(write.remote_address));
    std::uint32_t bytes = 0;
    for (int i = 0; i < write.part_count; ++i) {
      const Part& part = write.parts[std::size_t(i)];
      const std::byte* from = write.inlined ? posted.inlined.data() + bytes : part.from;
      if (part.bytes > 0) std::memmove(into + bytes, from, part.bytes);
      bytes += part.bytes;
    }
    totals.bytes += bytes;
    if (!write.immediate) return;
    --peer->receives->posted;
    ++peer->receives->unpolled;
    complete(peer, {.received = true, .bytes = bytes, .immediate = *write.immediate}, 0);
  }

  PairPtr next_pair() {
    std::vector<PairPtr> ready;
    for (const auto& [number, pair] : pairs) {
      if (!pair->waiting.empty() && pair->state == Pair::State::ready_to_send) ready.push_back(pair);
    }
    std::erase_if(ready, [&](const PairPtr& pair) { return waits_for_receive(*pair); });
    if (ready.empty()) return nullptr;
    if (shuffling) return ready[random() % ready.size()];
    return *std::min_element(ready.begin(), ready.end(), [](const PairPtr& a, const PairPtr& b) {
      return a->waiting.front().order < b->waiting.front().order;
    });
  }
  bool waits_for_receive(const Pair& pair) const {
    const auto peer = pairs.find(pair.path.queue_pair);
    return pair.patience.rnr_retry == 7 && pair.waiting.front().write.immediate && peer != pairs.end() &&
           peer->second->receives->posted == 0 &&
           (peer->second->state == Pair::State::ready_to_receive ||
            peer->second->state == Pair::State::ready_to_send);
  }
  std::size_t deliver(std::size_t most) {
    std::size_t count = 0;
    for (PairPtr pair; count < most && (pair = next_pair()); ++count)
      if (!deliver_head(pair)) break;
    return count;
  }
  void go_on() {
    if (!holding && !shuffling) deliver(std::size_t(-1));
  }
};

namespace {

using World = FakeFabric::World;
using Lock = std::lock_guard<std::mutex>;

class RegionEnd : public Region {
 public:
  RegionEnd(World& world, std::uint32_t key) : world_(world), key_(key) {}
  ~RegionEnd() override {
    const Lock lock(world_.mutex);
    const auto found = world_.regions.find(key_);
    for (const auto& [number, pair] : world_.pairs)
      for (const auto& posted : pair->waiting)
        for (int i = 0; i < posted.write.part_count && !posted.write.inlined; ++i)
          if (posted.write.parts[std::size_t(i)].local_key == key_)
            world_.complain("memory is deregistered while queue pair {:#x} still sends it", number);
    Context& context = *found->second.context;
    if (!context.open) world_.complain("a region outlives {}", world_.name(context));
    --context.objects;
    --world_.live.regions;
    world_.live.pinned -= found->second.pinned;
    context.card->pinned -= found->second.pinned;
    world_.regions.erase(found);
  }
  std::uint32_t local_key() const override { return key_; }
  std::uint32_t remote_key() const override { return key_; }

 private:
  World& world_;
  std::uint32_t key_;
};

class QueueEnd : public CompletionQueue {
 public:
  QueueEnd(World& world, std::shared_ptr<Queue> queue) : world_(world), queue_(std::move(queue)) {}
  ~QueueEnd() override {
    const Lock lock(world_.mutex);
    if (queue_->users > 0) world_.complain("a completion queue is destroyed before its queue pairs");
    if (!queue_->context->open)
      world_.complain("a completion queue outlives {}", world_.name(*queue_->context));
    queue_->open = false;
    --queue_->context->objects;
    --world_.live.completion_queues;
  }
  int descriptor() const override { return queue_->bell.fd(); }
  Result<void> arm() override {
    const Lock lock(world_.mutex);
    queue_->armed = true;
    if (world_.shuffling && !world_.holding) world_.deliver(std::size_t(-1));
    return {};
  }
  void take_events() override { queue_->bell.take(); }
  int poll(std::span<Completion> into) override {
    const Lock lock(world_.mutex);
    if (world_.shuffling && !world_.holding) world_.deliver(1);
    if (queue_->broken) return -1;
    std::size_t count = 0;
    for (; count < into.size() && !queue_->entries.empty(); ++count) {
      const Queue::Entry entry = std::move(queue_->entries.front());
      queue_->entries.pop_front();
      into[count] = entry.completion;
      // As drivers do it: a completion gives back its own place and those of the writes before it.
      if (entry.posted > 0)
        entry.pair->freed = std::max(entry.pair->freed, entry.posted);
      else if (entry.completion.status != flushed)
        --entry.pair->receives->unpolled;
    }
    return int(count);
  }
  const std::shared_ptr<Queue>& queue() const { return queue_; }

 private:
  World& world_;
  std::shared_ptr<Queue> queue_;
};

Result<void> add_receives(World& world, Receives& receives, int count) {
  if (count < 0 || receives.posted + receives.unpolled + count > receives.capacity) {
    world.complain("{} receives more than a queue of {} holds",
                   receives.posted + receives.unpolled + count - receives.capacity, receives.capacity);
    return refuse("a receive queue is full");
  }
  receives.posted += count;
  world.go_on();
  return {};
}

class SharedEnd : public SharedReceiveQueue {
 public:
  SharedEnd(World& world, std::shared_ptr<Receives> receives)
      : world_(world), receives_(std::move(receives)) {}
  ~SharedEnd() override {
    const Lock lock(world_.mutex);
    if (receives_->users > 0) world_.complain("a shared receive queue is destroyed before its queue pairs");
    if (!receives_->context->open)
      world_.complain("a shared receive queue outlives {}", world_.name(*receives_->context));
    receives_->open = false;
    --receives_->context->objects;
    --world_.live.shared_queues;
  }
  Result<void> post(int count) override {
    const Lock lock(world_.mutex);
    return add_receives(world_, *receives_, count);
  }
  const std::shared_ptr<Receives>& receives() const { return receives_; }

 private:
  World& world_;
  std::shared_ptr<Receives> receives_;
};

class PairEnd : public QueuePair {
 public:
  PairEnd(World& world, PairPtr pair) : world_(world), pair_(std::move(pair)) {}
  ~PairEnd() override {
    const Lock lock(world_.mutex);
    if (!pair_->context->open) world_.complain("a queue pair outlives {}", world_.name(*pair_->context));
    pair_->state = Pair::State::gone;
    // Its completions go with it.
    auto& entries = pair_->queue->entries;
    for (const Queue::Entry& entry : entries)
      if (entry.pair == pair_ && entry.posted == 0 && entry.completion.status != flushed)
        --pair_->receives->unpolled;
    std::erase_if(entries, [&](const Queue::Entry& entry) { return entry.pair == pair_; });
    --pair_->queue->users;
    --pair_->receives->users;
    --pair_->context->objects;
    --world_.live.queue_pairs;
    world_.pairs.erase(pair_->number);
    world_.go_on();  // its peer notices
  }
  std::uint32_t number() const override { return pair_->number; }
  int most_inline() const override { return pair_->most_inline; }

  Result<void> to_ready_to_receive(const Path& path) override {
    const Lock lock(world_.mutex);
    const FakePort& port = World::port_of(*pair_);
    if (pair_->state != Pair::State::init) return wrong("made ready to receive, and is not in INIT");
    if (path.port != pair_->port) return wrong("sent through another port than it was made for");
    if (path.layer != port.state.layer) return wrong("sent to another link layer");
    if (path.layer == LinkLayer::ethernet && !path.gid) return wrong("without a GID on Ethernet");
    if (path.mtu < 256 || path.mtu > 4096 || (path.mtu & (path.mtu - 1)) != 0 || path.mtu > port.state.mtu)
      return wrong(fmt::format("of MTU {} on a port of {}", path.mtu, port.state.mtu));
    if ((path.queue_pair | path.packet_sequence) >> 24 != 0)
      return wrong("given numbers of more than 24 bits");
    pair_->path = path;
    if (path.gid && !world_.gid_of(*pair_))
      return wrong(fmt::format("without a GID at index {}", path.gid_index));
    pair_->state = Pair::State::ready_to_receive;
    return {};
  }
  Result<void> to_ready_to_send(const Patience& patience, std::uint32_t packet_sequence) override {
    const Lock lock(world_.mutex);
    if (pair_->state != Pair::State::ready_to_receive) return wrong("made ready to send, and is not in RTR");
    if (packet_sequence >> 24 != 0) return wrong("given a packet sequence of more than 24 bits");
    pair_->patience = patience;
    pair_->packet_sequence = packet_sequence;
    pair_->state = Pair::State::ready_to_send;
    return {};
  }
  Result<void> post(std::span<const Write> writes) override {
    const Lock lock(world_.mutex);
    if (pair_->state == Pair::State::init || pair_->state == Pair::State::ready_to_receive)
      return wrong("given writes before it can send");
    if (pair_->posted - pair_->freed + writes.size() > std::size_t(pair_->sends))
      return wrong(fmt::format("given more writes than the {} that it was made for", pair_->sends));
    std::vector<Pair::Posted> all;
    for (const Write& write : writes) {
      if (write.part_count < 0 || write.part_count > int(write.parts.size()))
        return wrong("given too many parts");
      Pair::Posted posted{.write = write};
      for (int i = 0; i < write.part_count && write.inlined; ++i) {
        const Part& part = write.parts[std::size_t(i)];
        posted.inlined.insert(posted.inlined.end(), part.from, part.from + part.bytes);
      }
      if (posted.inlined.size() > std::size_t(pair_->most_inline))
        return wrong(fmt::format("given {} bytes to send inline", posted.inlined.size()));
      all.push_back(std::move(posted));
    }
    for (Pair::Posted& posted : all) {
      posted.number = ++pair_->posted;
      posted.order = ++world_.next_order;
      ++world_.totals.writes;
      world_.totals.immediates += posted.write.immediate.has_value();
      world_.totals.inlined += posted.write.inlined;
      world_.totals.signaled += posted.write.signaled;
      pair_->waiting.push_back(std::move(posted));
    }
    if (pair_->state == Pair::State::error) world_.flush(pair_);
    world_.go_on();
    return {};
  }
  Result<void> post_receives(int count) override {
    const Lock lock(world_.mutex);
    if (pair_->receives->shared) return wrong("given receives, and has a shared receive queue");
    const auto added = add_receives(world_, *pair_->receives, count);
    if (added && pair_->state == Pair::State::error) world_.flush(pair_);
    return added;
  }
  void to_error() override {
    const Lock lock(world_.mutex);
    world_.break_pair(pair_);
    world_.go_on();
  }

 private:
  Result<void> wrong(const std::string& how) {
    world_.complain("queue pair {:#x} is {}", pair_->number, how);
    return refuse(fmt::format("queue pair {:#x} is {}", pair_->number, how));
  }
  World& world_;
  PairPtr pair_;
};

class DeviceEnd : public Device {
 public:
  DeviceEnd(World& world, ContextPtr context)
      : world_(world), context_(std::move(context)), is_(context_->card->is) {}
  ~DeviceEnd() override {
    const Lock lock(world_.mutex);
    if (context_->objects > 0)
      world_.complain("{} is closed with {} objects left", world_.name(*context_), context_->objects);
    context_->open = false;
    --world_.live.devices;
  }
  const std::string& name() const override { return is_.name; }
  const DeviceLimits& limits() const override { return is_.limits; }
  Result<PortState> port(int number) const override {
    const Lock lock(world_.mutex);
    if (number < 1 || std::size_t(number) > is_.ports.size())
      return refuse(fmt::format("{} has no port {}", is_.name, number));
    return is_.ports[std::size_t(number - 1)].state;
  }
  std::vector<Gid> gids(int number) const override {
    const Lock lock(world_.mutex);
    if (number < 1 || std::size_t(number) > is_.ports.size()) return {};
    return is_.ports[std::size_t(number - 1)].gids;
  }

  Result<std::unique_ptr<Region>> register_memory(std::byte* at, std::uint64_t bytes,
                                                  Access access) override {
    const Lock lock(world_.mutex);
    const bool gpu = std::any_of(world_.gpu.begin(), world_.gpu.end(), [&](const auto& piece) {
      return at < piece.first + piece.second && at + bytes > piece.first;
    });
    if (gpu && !is_.peermem)
      return refuse(fmt::format("cannot register memory on {}: bad address", is_.name));
    return add({is_.name, at, bytes, access, false}, gpu);
  }
  Result<std::unique_ptr<Region>> register_dmabuf(int descriptor, std::uint64_t, std::uint64_t bytes,
                                                  const std::byte* at, Access access) override {
    const Lock lock(world_.mutex);
    if (!is_.dmabuf || descriptor < 0)
      return refuse(fmt::format("{} takes no dma-buf: operation not supported", is_.name));
    return add({is_.name, at, bytes, access, true}, true);
  }
  Result<std::unique_ptr<CompletionQueue>> make_completion_queue(int completions) override {
    const Lock lock(world_.mutex);
    if (completions < 1 || completions > is_.limits.completions)
      return refuse(fmt::format("{} has no completion queue of {}", is_.name, completions));
    auto queue = std::make_shared<Queue>();
    queue->context = context_;
    queue->capacity = std::size_t(completions);
    ++context_->objects;
    ++world_.live.completion_queues;
    return std::make_unique<QueueEnd>(world_, std::move(queue));
  }
  Result<std::unique_ptr<SharedReceiveQueue>> make_shared_receive_queue(int receives) override {
    const Lock lock(world_.mutex);
    if (is_.limits.shared_queues == 0 || receives < 1 || receives > is_.limits.shared_work_requests)
      return refuse(fmt::format("{} has no shared receive queue of {}", is_.name, receives));
    auto made =
        std::make_shared<Receives>(Receives{.context = context_, .capacity = receives, .shared = true});
    ++context_->objects;
    ++world_.live.shared_queues;
    return std::make_unique<SharedEnd>(world_, std::move(made));
  }
  Result<std::unique_ptr<QueuePair>> make_queue_pair(CompletionQueue& queue, SharedReceiveQueue* shared,
                                                     int port, int sends, int receives,
                                                     int inline_bytes) override {
    const Lock lock(world_.mutex);
    if (port < 1 || std::size_t(port) > is_.ports.size())
      return refuse(fmt::format("{} has no port {}", is_.name, port));
    const int most = is_.limits.work_requests;
    if (sends < 1 || sends > most || receives > most ||
        int(world_.live.queue_pairs) >= is_.limits.queue_pairs)
      return refuse(
          fmt::format("{} has no queue pair for {} sends and {} receives", is_.name, sends, receives));
    auto pair = std::make_shared<Pair>();
    pair->number = world_.next_number++;
    pair->context = context_;
    pair->queue = static_cast<QueueEnd&>(queue).queue();
    pair->receives = shared ? static_cast<SharedEnd*>(shared)->receives()
                            : std::make_shared<Receives>(Receives{.context = context_, .capacity = receives});
    if (pair->queue->context != context_ || pair->receives->context != context_) {
      world_.complain("a queue pair of {} is made with queues of another device", world_.name(*context_));
      return refuse("queues of another device");
    }
    pair->port = port;
    pair->sends = sends;
    pair->most_inline = std::min(inline_bytes, is_.most_inline);
    ++pair->queue->users;
    ++pair->receives->users;
    ++context_->objects;
    ++world_.live.queue_pairs;
    world_.pairs.emplace(pair->number, pair);
    return std::make_unique<PairEnd>(world_, pair);
  }

  int event_descriptor() const override { return context_->bell.fd(); }
  std::optional<Event> next_event() override {
    const Lock lock(world_.mutex);
    if (context_->events.empty()) {
      context_->bell.take();
      return std::nullopt;
    }
    Event event = std::move(context_->events.front());
    context_->events.pop_front();
    if (context_->events.empty()) context_->bell.take();
    return event;
  }

 private:
  Result<std::unique_ptr<Region>> add(FakeFabric::LiveRegion region, bool gpu) {
    Card& card = *context_->card;
    if (!region.at || region.bytes == 0)
      return refuse(fmt::format("cannot register no memory on {}", is_.name));
    if (!gpu && region.bytes > is_.most_pinned - std::min(card.pinned, is_.most_pinned))
      return tl::unexpected(cannot_pin(is_.name, region.bytes, is_.most_pinned));
    if (region.access.relaxed_ordering && !is_.limits.relaxed_ordering)
      world_.complain("{} is asked for relaxed ordering, which it does not know", world_.name(*context_));
    const std::uint32_t key = world_.next_key++;
    const std::uint64_t pinned = gpu ? 0 : region.bytes;
    card.pinned += pinned;
    world_.live.pinned += pinned;
    ++world_.live.regions;
    ++world_.totals.registrations;
    ++context_->objects;
    world_.regions[key] = {context_, std::move(region), pinned};
    return std::make_unique<RegionEnd>(world_, key);
  }

  World& world_;
  ContextPtr context_;
  const FakeDevice& is_;
};

}  // namespace

FakeFabric::FakeFabric() : world_(std::make_unique<World>()) {}
FakeFabric::~FakeFabric() = default;

FakeLibrary& FakeFabric::add_node(std::vector<FakeDevice> devices) {
  const Lock lock(world_->mutex);
  const int node = int(nodes_.size()) + 1;
  for (FakeDevice& device : devices) {
    device.limits.ports = int(device.ports.size());
    world_->cards.push_back({node, std::move(device)});
  }
  nodes_.push_back(std::unique_ptr<FakeLibrary>(new FakeLibrary(*this, node)));
  return *nodes_.back();
}

void FakeFabric::hold() {
  const Lock lock(world_->mutex);
  world_->holding = true;
}
void FakeFabric::release() {
  const Lock lock(world_->mutex);
  world_->holding = false;
  world_->go_on();
}
std::size_t FakeFabric::held() const {
  const Lock lock(world_->mutex);
  std::size_t count = 0;
  for (const auto& [number, pair] : world_->pairs) count += pair->waiting.size();
  return count;
}
std::size_t FakeFabric::deliver(std::size_t count) {
  const Lock lock(world_->mutex);
  return world_->deliver(count);
}
std::size_t FakeFabric::deliver_from(std::uint32_t queue_pair, std::size_t count) {
  const Lock lock(world_->mutex);
  const auto found = world_->pairs.find(queue_pair);
  if (found == world_->pairs.end()) return 0;
  const PairPtr pair = found->second;
  std::size_t done = 0;
  while (done < count && world_->deliver_head(pair)) ++done;
  return done;
}
void FakeFabric::shuffle(std::uint32_t seed) {
  const Lock lock(world_->mutex);
  world_->shuffling = true;
  world_->random.seed(seed);
}

void FakeFabric::fail_write(std::uint64_t count, int status, std::uint32_t vendor_error) {
  const Lock lock(world_->mutex);
  world_->write_failure = {count, status, vendor_error};
}
void FakeFabric::fail_completion(std::uint64_t count, int status, std::uint32_t vendor_error) {
  const Lock lock(world_->mutex);
  world_->completion_failure = {count, status, vendor_error};
}
void FakeFabric::mark_gpu(const std::byte* at, std::uint64_t bytes) {
  const Lock lock(world_->mutex);
  world_->gpu.emplace_back(at, bytes);
}
void FakeFabric::set_clock(std::function<std::int64_t()> clock) {
  const Lock lock(world_->mutex);
  world_->clock = std::move(clock);
}

FakeFabric::Live FakeFabric::live() const {
  const Lock lock(world_->mutex);
  return world_->live;
}
FakeFabric::Totals FakeFabric::totals() const {
  const Lock lock(world_->mutex);
  return world_->totals;
}
std::vector<FakeFabric::LiveRegion> FakeFabric::regions() const {
  const Lock lock(world_->mutex);
  std::vector<LiveRegion> all;
  for (const auto& [key, mapping] : world_->regions) all.push_back(mapping.is);
  return all;
}
std::vector<std::uint32_t> FakeFabric::queue_pairs() const {
  const Lock lock(world_->mutex);
  std::vector<std::uint32_t> all;
  for (const auto& [number, pair] : world_->pairs) all.push_back(number);
  return all;
}
std::vector<std::string> FakeFabric::complaints() const {
  const Lock lock(world_->mutex);
  return world_->complaints;
}

Result<std::vector<std::string>> FakeLibrary::devices() {
  World& world = *fabric_.world_;
  const Lock lock(world.mutex);
  std::vector<std::string> names;
  for (const Card& card : world.cards)
    if (card.node == node_) names.push_back(card.is.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<Device>> FakeLibrary::open(const std::string& name) {
  World& world = *fabric_.world_;
  const Lock lock(world.mutex);
  for (Card& card : world.cards) {
    if (card.node != node_ || card.is.name != name) continue;
    if (!card.is.cannot_open.empty()) return refuse(card.is.cannot_open);
    auto context = std::make_shared<Context>();
    context->card = &card;
    world.contexts.push_back(context);
    ++world.live.devices;
    return std::make_unique<DeviceEnd>(world, std::move(context));
  }
  return refuse(fmt::format("no RDMA device {}", name));
}

void FakeLibrary::set_active(const std::string& device, int port, bool active) {
  World& world = *fabric_.world_;
  const Lock lock(world.mutex);
  for (Card& card : world.cards) {
    if (card.node != node_ || card.is.name != device) continue;
    PortState& state = card.is.ports.at(std::size_t(port - 1)).state;
    state.active = active;
    state.state = active ? "active" : "down";
    world.raise(card, {active ? Event::Kind::port_up : Event::Kind::port_down, port, 0,
                       active ? "port active" : "port error"});
  }
  world.go_on();
}

void FakeLibrary::raise(const std::string& device, const Event& event) {
  World& world = *fabric_.world_;
  const Lock lock(world.mutex);
  for (Card& card : world.cards)
    if (card.node == node_ && card.is.name == device) world.raise(card, event);
}

Gid fake_gid(const std::string& address, int index, Gid::Type type) {
  Gid gid{.index = index, .type = type};
  if (::inet_pton(AF_INET6, address.c_str(), gid.raw.data()) == 1) return gid;
  gid.raw[10] = gid.raw[11] = std::byte(0xff);
  if (::inet_pton(AF_INET, address.c_str(), gid.raw.data() + 12) != 1) std::abort();
  return gid;
}

namespace {

FakeDevice fake_device(std::string name, PortState state, std::vector<Gid> gids) {
  state.active = true;
  state.state = "active";
  state.rate = BytesPerSecond(12.5e9);
  FakeDevice device;
  device.name = std::move(name);
  device.ports = {{state, std::move(gids)}};
  device.limits = {.queue_pairs = 1024,
                   .work_requests = 8192,
                   .completions = 65536,
                   .shared_queues = 64,
                   .shared_work_requests = 8192};
  return device;
}

}  // namespace

FakeDevice fake_infiniband(std::string name, std::uint16_t lid) {
  return fake_device(std::move(name), {.layer = LinkLayer::infiniband, .lid = lid, .mtu = 4096},
                     {fake_gid(fmt::format("fe80::2:c903:0:{:x}", lid), 0, Gid::Type::infiniband)});
}

FakeDevice fake_roce(std::string name, const std::string& address) {
  return fake_device(std::move(name), {.layer = LinkLayer::ethernet, .mtu = 1024},
                     {fake_gid(address, 0, Gid::Type::roce_v1), fake_gid(address, 1, Gid::Type::roce_v2)});
}

}  // namespace ringtrue::transport::verbs
