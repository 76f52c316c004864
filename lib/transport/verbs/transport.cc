#include "transport/verbs/transport.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <random>

#include "transport/verbs/errors.h"

namespace ringtrue::transport::verbs {

namespace {

constexpr std::uint64_t most_memory = 512 << 20;  // bytes that a process's hops take from the pool
constexpr std::uint32_t slot_unit = 64, least_slots = 2;
constexpr std::uint64_t least_slot_bytes = 4096;  // to shrink to
constexpr int inline_bytes = 220;                 // what an mlx5 send entry of four blocks can hold
constexpr std::uint32_t number_bits = 0xffffff;

// Credits come in batches of half a ring: no more than two can be on their way.
int receives_for(std::uint32_t slots) {
  return int(slots) + 4;
}
// Two writes a slice at most, and credits.
int sends_for(std::uint32_t slots) {
  return 2 * int(slots) + 16;
}

}  // namespace

// Queue pairs go before the memory that they write and the queues that they complete in.
struct Transport::Offered {
  struct Pair {
    Queues* queues = nullptr;
    std::unique_ptr<QueuePair> pair;
  };
  struct End {
    Rail rail;
    std::size_t device = 0;
    std::vector<Pair> pairs;
  };
  ~Offered() {
    for (End& end : ends)
      for (Pair& pair : end.pairs) {
        pair.pair->to_error();
        pair.queues->remove(pair.pair->number());
      }
  }

  Hop hop;
  int thread = 0;
  Lent ring, staging;
  std::vector<End> ends;
  Greeting ours;
  Greeting theirs;
};

class Transport::Events final : public Watcher {
 public:
  Events(Transport& transport, Device& device) : transport_(transport), device_(device) {}
  ~Events() override {
    if (loop_) loop_->forget(device_.event_descriptor(), this);
  }
  Result<void> watch(Loop& loop) {
    const auto watched = loop.watch(device_.event_descriptor(), EPOLLIN, this);
    if (watched) loop_ = &loop;
    return watched;
  }
  void ready(std::uint32_t) override {
    while (const auto event = device_.next_event()) {
      if (event->kind == Event::Kind::port_down && !transport_.ports_.contains({device_.name(), event->port}))
        continue;
      auto error = event_error(transport_.setup_.node, device_.name(), *event);
      if (!error || transport_.failed_) continue;
      transport_.failed_ = true;
      transport_.run_.failed(std::move(*error));
    }
  }

 private:
  Transport& transport_;
  Device& device_;
  Loop* loop_ = nullptr;
};

Result<std::unique_ptr<Transport>> Transport::open(Library& library, Setup setup) {
  const auto names = library.devices();
  if (!names) return tl::unexpected(names.error());
  std::unique_ptr<Transport> made(new Transport(std::move(setup)));
  std::optional<Error> closed;
  for (const std::string& name : *names) {
    auto device = library.open(name);
    if (device)
      made->devices_.push_back(std::move(*device));
    else if (!closed)
      closed = device.error();
  }
  if (made->devices_.empty() && closed) return tl::unexpected(*closed);
  auto rails = choose_rails(made->devices_, made->setup_.settings, made->setup_.data_address);
  if (!rails) return tl::unexpected(rails.error());
  made->rails_ = std::move(*rails);
  made->memory_ = std::make_unique<Memory>(std::vector<Device*>{}, made->setup_.settings.relaxed_ordering);
  for (const Rail& rail : made->rails_)
    if (const auto known = made->device_index(rail.name.device); !known) return tl::unexpected(known.error());
  return made;
}

Transport::Transport(Setup setup) : setup_(std::move(setup)) {}

Transport::~Transport() {
  end_run();
}

Result<Way> Transport::use(const Buffer& memory) {
  const auto way = memory_->use(memory, setup_.settings.registration);
  buffer_ = memory;
  way_ = way.value_or(Way::staged);
  return way;
}

Result<void> Transport::begin_run(Run run) {
  end_run();
  run_ = std::move(run);
  for (const auto& device : devices_)
    while (device->next_event()) {  // of the time before the run: what counts of it is in the ports' states
    }
  auto rails = choose_rails(devices_, setup_.settings, setup_.data_address);
  if (!rails) return tl::unexpected(rails.error());
  rails_ = std::move(*rails);
  shape_ = shape();
  return {};
}

Transport::Shape Transport::shape() const {
  const Settings& settings = setup_.settings;
  std::uint64_t slot = std::min(settings.slot_bytes, run_.longest);
  slot = std::max<std::uint64_t>(slot_unit, (slot + slot_unit - 1) / slot_unit * slot_unit);
  auto slots = std::uint32_t(settings.slots);
  // Enough to copy one while another leaves on each queue pair; a few for what is not in the ranks' memory.
  const auto staging = [&] {
    return memory_->own() ? least_slots : std::max(slots, 2 * std::uint32_t(settings.queue_pairs));
  };
  const auto too_much = [&] { return run_.hops * (slots + staging()) * slot_stride(slot) > most_memory; };
  while (too_much() && slot / 2 >= least_slot_bytes) slot = slot / 2 / slot_unit * slot_unit;
  while (too_much() && slots / 2 >= least_slots) slots /= 2;
  return {slots, std::uint32_t(slot), staging()};
}

Result<std::size_t> Transport::device_index(const std::string& name) {
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (used_[i]->name() == name) return i;
  for (const auto& device : devices_) {
    if (device->name() != name) continue;
    if (const auto added = memory_->add(*device); !added) return tl::unexpected(added.error());
    used_.push_back(device.get());
    if (const auto way = use(buffer_); !way) return tl::unexpected(way.error());
    return used_.size() - 1;
  }
  return fail(Cause::internal, fmt::format("no device {}", name));
}

Result<Queues*> Transport::queues_of(std::size_t device, int thread) {
  std::unique_ptr<Queues>& queues = queues_[{device, thread}];
  if (queues) return queues.get();
  Device& on = *used_[device];
  if (const auto watched = watch(on); !watched) return tl::unexpected(watched.error());
  Queues::Shape shape;
  shape.hops = int(run_.hops);
  shape.lines = setup_.settings.queue_pairs * on.limits().ports;
  shape.sends = sends_for(shape_.slots);
  shape.receives = receives_for(shape_.slots);
  auto made = Queues::make(on, *run_.loops.at(std::size_t(thread)), shape);
  if (!made) return tl::unexpected(made.error());
  queues = std::move(*made);
  return queues.get();
}

Result<void> Transport::watch(Device& device) {
  std::unique_ptr<Events>& events = events_[device.name()];
  if (events) return {};
  events = std::make_unique<Events>(*this, device);
  return events->watch(*run_.loops.front());
}

Result<Greeting> Transport::offer(const tcp::ConnectionKey& key, const Hop& hop, int thread,
                                  const std::vector<PortName>& ports) {
  if (offered_.size() >= run_.hops) return fail(Cause::internal, "more RDMA hops than were announced");
  std::vector<Rail> rails = rails_;
  if (!ports.empty()) {
    Settings settings = setup_.settings;
    settings.ports = ports;
    auto chosen = choose_rails(devices_, settings, setup_.data_address);
    if (!chosen) return tl::unexpected(chosen.error());
    rails = std::move(*chosen);
  }
  auto made = std::make_unique<Offered>();
  made->hop = hop;
  made->thread = thread;
  for (Rail& rail : rails) {
    const auto device = device_index(rail.name.device);
    if (!device) return tl::unexpected(device.error());
    made->ends.push_back({std::move(rail), *device, {}});
  }
  const std::uint64_t stride = slot_stride(shape_.slot_bytes);
  auto ring = memory_->lend(shape_.slots * stride);
  if (!ring) return tl::unexpected(ring.error());
  made->ring = std::move(*ring);
  const std::size_t lines = made->ends.size() * std::size_t(setup_.settings.queue_pairs);
  auto staging =
      memory_->lend(shape_.staging * stride + Channel::heads_bytes(lines, sends_for(shape_.slots)));
  if (!staging) return tl::unexpected(staging.error());
  made->staging = std::move(*staging);

  Greeting& ours = made->ours;
  ours.ring_address = std::uint64_t(reinterpret_cast<std::uintptr_t>(made->ring.at()));
  ours.slots = shape_.slots;
  ours.slot_bytes = shape_.slot_bytes;
  std::random_device random;  // first packet's number: none of another run's late packets should fit
  for (Offered::End& end : made->ends) {
    const auto queues = queues_of(end.device, thread);
    if (!queues) return tl::unexpected(queues.error());
    ports_.insert(end.rail.name);
    Greeting::Rail rail;
    rail.name = to_text(end.rail.name);
    rail.layer = end.rail.port.layer;
    rail.lid = end.rail.port.lid;
    rail.global = end.rail.global;
    rail.gid = end.rail.gid.raw;
    rail.mtu = setup_.settings.mtu > 0 ? std::min(setup_.settings.mtu, end.rail.port.mtu) : end.rail.port.mtu;
    rail.ring_key = made->ring.registered().remote_key(end.device);
    for (int q = 0; q < setup_.settings.queue_pairs; ++q) {
      auto pair = (*queues)->make_queue_pair(end.rail.name.port, inline_bytes);
      if (!pair) return tl::unexpected(pair.error());
      (*queues)->add(**pair);
      rail.queue_pairs.push_back({(*pair)->number(), std::uint32_t(random()) & number_bits});
      end.pairs.push_back({*queues, std::move(*pair)});
    }
    ours.rails.push_back(std::move(rail));
  }
  return (offered_[key] = std::move(made))->ours;
}

Result<void> Transport::accept(const tcp::ConnectionKey& key, const Greeting& peer) {
  Offered& end = *offered_.at(key);
  end.theirs = peer;
  const Settings& settings = setup_.settings;
  for (std::size_t r = 0; r < std::min(end.ends.size(), peer.rails.size()); ++r) {
    const Rail& rail = end.ends[r].rail;
    const Greeting::Rail &ours = end.ours.rails[r], &theirs = peer.rails[r];
    for (std::size_t q = 0; q < std::min(ours.queue_pairs.size(), theirs.queue_pairs.size()); ++q) {
      Path path;
      path.port = rail.name.port;
      path.mtu = std::min(ours.mtu, theirs.mtu);
      path.queue_pair = theirs.queue_pairs[q].queue_pair;
      path.packet_sequence = theirs.queue_pairs[q].packet_sequence;
      path.layer = ours.layer;
      path.lid = theirs.lid;
      if (ours.global || theirs.global) path.gid = theirs.gid;
      path.gid_index = rail.gid.index;
      path.traffic_class = settings.traffic_class;
      path.service_level = settings.service_level;
      QueuePair& pair = *end.ends[r].pairs[q].pair;
      if (const auto set = pair.to_ready_to_receive(path); !set) return set;
      const Patience patience{settings.timeout, settings.retry_count, settings.rnr_retry};
      if (const auto set = pair.to_ready_to_send(patience, ours.queue_pairs[q].packet_sequence); !set)
        return set;
    }
  }
  return {};
}

void Transport::withdraw(const tcp::ConnectionKey& key) {
  offered_.erase(key);
}

std::unique_ptr<Channel> Transport::open_channel(const tcp::ConnectionKey& key, int control, Owner& owner,
                                                 const Reducer& reducer, faulty::Script script) {
  const Offered& end = *offered_.at(key);
  Channel::Setup setup;
  setup.node = setup_.node;
  setup.hop = end.hop;
  setup.control = control;
  const std::size_t rails = std::min(end.ours.rails.size(), end.theirs.rails.size());
  // Neighbouring slices go over different rails.
  for (std::size_t q = 0; q < std::size_t(setup_.settings.queue_pairs); ++q)
    for (std::size_t r = 0; r < rails; ++r) {
      const Offered::End& ours = end.ends[r];
      const Greeting::Rail& theirs = end.theirs.rails[r];
      if (q < theirs.queue_pairs.size())
        setup.lines.push_back(
            {ours.pairs[q].queues, ours.pairs[q].pair.get(), ours.rail.name, ours.device, theirs.ring_key});
    }
  setup.slice_bytes = std::min(end.ours.slot_bytes, end.theirs.slot_bytes);
  setup.slots = end.ours.slots;
  setup.slot_bytes = slot_stride(end.ours.slot_bytes);
  setup.ring = end.ring.at();
  setup.peer_slots = end.theirs.slots;
  setup.peer_slot_bytes = slot_stride(end.theirs.slot_bytes);
  setup.peer_ring = end.theirs.ring_address;
  setup.staging = end.staging.at();
  setup.staging_slots = shape_.staging;
  setup.staging_keys = &end.staging.registered();
  setup.own = memory_->own();
  setup.adaptive_routing_threshold = setup_.settings.adaptive_routing_threshold;
  return std::make_unique<Channel>(std::move(setup), *run_.loops.at(std::size_t(end.thread)), owner, reducer,
                                   std::move(script));
}

void Transport::end_run() {
  offered_.clear();
  queues_.clear();
  events_.clear();
  ports_.clear();
  failed_ = false;
  run_ = {};
}

}  // namespace ringtrue::transport::verbs
