// The scripted provider's devices, regions, queues and queue pairs, as the transport holds them.
#include <algorithm>

#include "tests/support/fake_verbs_world.h"
#include "transport/verbs/errors.h"

namespace ringtrue::transport::verbs {
namespace fake {
namespace {

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
  int max_inline() const override { return pair_->max_inline; }

  Result<void> to_ready_to_receive(const Path& path) override {
    const Lock lock(world_.mutex);
    const FakePort& port = World::port_of(*pair_);
    if (pair_->state != Pair::State::init) return wrong("made ready to receive, and is not in INIT");
    if (path.port != pair_->port) return wrong("sent through another port than it was made for");
    if (path.layer != port.state.layer) return wrong("sent to another link layer");
    if (path.layer == LinkLayer::ethernet && !path.gid) return wrong("without a GID on Ethernet");
    if (port.state.needs_grh && !path.gid) return wrong("without a GID where the port needs one");
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
  Result<void> to_ready_to_send(const RetryLimits& limits, std::uint32_t packet_sequence) override {
    const Lock lock(world_.mutex);
    if (pair_->state != Pair::State::ready_to_receive) return wrong("made ready to send, and is not in RTR");
    if (packet_sequence >> 24 != 0) return wrong("given a packet sequence of more than 24 bits");
    pair_->limits = limits;
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
      if (posted.inlined.size() > std::size_t(pair_->max_inline))
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
      : world_(world), context_(std::move(context)), card_(context_->card->is) {}
  ~DeviceEnd() override {
    const Lock lock(world_.mutex);
    if (context_->objects > 0)
      world_.complain("{} is closed with {} objects left", world_.name(*context_), context_->objects);
    context_->open = false;
    --world_.live.devices;
  }
  const std::string& name() const override { return card_.name; }
  const DeviceLimits& limits() const override { return card_.limits; }
  Result<PortState> port(int number) const override {
    const Lock lock(world_.mutex);
    if (number < 1 || std::size_t(number) > card_.ports.size())
      return refuse(fmt::format("{} has no port {}", card_.name, number));
    return card_.ports[std::size_t(number - 1)].state;
  }
  std::vector<Gid> gids(int number) const override {
    const Lock lock(world_.mutex);
    if (number < 1 || std::size_t(number) > card_.ports.size()) return {};
    return card_.ports[std::size_t(number - 1)].gids;
  }

  Result<std::unique_ptr<Region>> register_memory(std::byte* at, std::uint64_t bytes,
                                                  Access access) override {
    const Lock lock(world_.mutex);
    const bool gpu = std::any_of(world_.gpu.begin(), world_.gpu.end(), [&](const auto& piece) {
      return at < piece.first + piece.second && at + bytes > piece.first;
    });
    if (gpu && !card_.peermem)
      return refuse(fmt::format("cannot register memory on {}: bad address", card_.name));
    return add({card_.name, at, bytes, access, false}, gpu);
  }
  Result<std::unique_ptr<Region>> register_dmabuf(int descriptor, std::uint64_t, std::uint64_t bytes,
                                                  const std::byte* at, Access access) override {
    const Lock lock(world_.mutex);
    if (!card_.dmabuf || descriptor < 0)
      return refuse(fmt::format("{} takes no dma-buf: operation not supported", card_.name));
    return add({card_.name, at, bytes, access, true}, true);
  }
  Result<std::unique_ptr<CompletionQueue>> make_completion_queue(int completions) override {
    const Lock lock(world_.mutex);
    if (completions < 1 || completions > card_.limits.completions)
      return refuse(fmt::format("{} has no completion queue of {}", card_.name, completions));
    auto queue = std::make_shared<Queue>();
    queue->context = context_;
    queue->capacity = std::size_t(completions);
    ++context_->objects;
    ++world_.live.completion_queues;
    return std::make_unique<QueueEnd>(world_, std::move(queue));
  }
  Result<std::unique_ptr<SharedReceiveQueue>> make_shared_receive_queue(int receives) override {
    const Lock lock(world_.mutex);
    if (card_.limits.shared_queues == 0 || receives < 1 || receives > card_.limits.shared_work_requests)
      return refuse(fmt::format("{} has no shared receive queue of {}", card_.name, receives));
    auto made =
        std::make_shared<Receives>(Receives{.context = context_, .capacity = receives, .shared = true});
    ++context_->objects;
    ++world_.live.shared_queues;
    return std::make_unique<SharedEnd>(world_, std::move(made));
  }
  Result<std::unique_ptr<QueuePair>> make_queue_pair(CompletionQueue& queue, SharedReceiveQueue* shared,
                                                     int port, int sends, int receives, int inline_bytes,
                                                     int pkey_index) override {
    const Lock lock(world_.mutex);
    if (port < 1 || std::size_t(port) > card_.ports.size())
      return refuse(fmt::format("{} has no port {}", card_.name, port));
    const int most = card_.limits.work_requests;
    if (sends < 1 || sends > most || receives > most ||
        int(world_.live.queue_pairs) >= card_.limits.queue_pairs)
      return refuse(
          fmt::format("{} has no queue pair for {} sends and {} receives", card_.name, sends, receives));
    if (pkey_index >= card_.pkeys)
      return refuse(fmt::format("cannot bring a queue pair to INIT with the P_Key at index {} on {}",
                                pkey_index, card_.name));
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
    pair->max_inline = std::min(inline_bytes, card_.max_inline);
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
      return refuse(fmt::format("cannot register no memory on {}", card_.name));
    if (!gpu && region.bytes > card_.max_pinned - std::min(card.pinned, card_.max_pinned))
      return tl::unexpected(cannot_pin(card_.name, region.bytes, card_.max_pinned));
    if (region.access.relaxed_ordering && !card_.limits.relaxed_ordering)
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
  const FakeDevice& card_;
};

}  // namespace

std::unique_ptr<Device> open(World& world, ContextPtr context) {
  return std::make_unique<DeviceEnd>(world, std::move(context));
}

}  // namespace fake
}  // namespace ringtrue::transport::verbs
