#include "transport/verbs/transport.h"

#include <sys/epoll.h>

#include <algorithm>
#include <random>

namespace ringtrue::transport::verbs {

namespace {

constexpr std::uint64_t max_memory = 512 << 20;  // bytes that a process's hops take from the pool
constexpr int inline_bytes = 220;                // what an mlx5 send entry of four blocks can hold

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
    std::optional<std::size_t> partner = {};  // its index in theirs.rails
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
      const auto ends = transport_.ends_of(device_.name(), event->queue_pair);
      if (event->queue_pair != 0 && !ends) continue;  // of a hop that is gone
      auto error = event_error(transport_.setup_.node, device_.name(), *event, ends);
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
  std::unique_ptr<Transport> made(new Transport(std::move(setup)));
  made->memory_ = std::make_unique<Memory>(std::vector<Device*>{}, made->setup_.settings.relaxed_ordering);
  Result<void> opened = assign(made->devices_, open_devices(library));
  if (opened) opened = made->choose({});
  if (!opened) return tl::unexpected(opened.error());
  if (const auto known = made->device_indices(made->choice_.rails); !known)
    return tl::unexpected(known.error());
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
  for (const auto& device : devices_.opened)
    while (device->next_event()) {  // of the time before the run: what counts of it is in the ports' states
    }
  const auto chosen = choose(run_.others);
  shape_ = shape();
  return chosen;
}

Result<void> Transport::choose(const std::optional<std::vector<std::string>>& others) {
  return assign(choice_, choose_rails(devices_, setup_.settings, {setup_.data_address, others}));
}

Transport::Shape Transport::shape() const {
  const run::RdmaSettings& settings = setup_.settings;
  std::uint64_t slot = std::min(settings.slot_bytes, run_.max_message);
  slot = std::max<std::uint64_t>(slot_unit, (slot + slot_unit - 1) / slot_unit * slot_unit);
  auto slots = std::uint32_t(settings.slots);
  // Enough to copy one while another leaves on each queue pair; a few for what is not in the ranks' memory.
  const auto staging = [&] {
    return memory_->own() ? std::uint32_t(run::min_slots)
                          : std::max(slots, 2 * std::uint32_t(settings.queue_pairs));
  };
  const auto too_much = [&] { return run_.hops * (slots + staging()) * slot_stride(slot) > max_memory; };
  while (too_much() && slot / 2 >= run::min_slot_bytes) slot = slot / 2 / slot_unit * slot_unit;
  while (too_much() && slots / 2 >= run::min_slots) slots /= 2;
  return {slots, std::uint32_t(slot), staging()};
}

// Those that are new are made known to the memory, once for all of them.
Result<std::vector<std::size_t>> Transport::device_indices(const std::vector<Rail>& rails) {
  std::vector<std::size_t> indices;
  const std::size_t before = used_.size();
  Result<void> added;
  for (const Rail& rail : rails) {
    const auto is_it = [&](const auto& device) { return device->name() == rail.name.device; };
    const auto known = std::find_if(used_.begin(), used_.end(), is_it);
    indices.push_back(std::size_t(known - used_.begin()));
    if (known != used_.end()) continue;
    Device& device = **std::find_if(devices_.opened.begin(), devices_.opened.end(), is_it);
    if (added = memory_->add(device); !added) break;
    used_.push_back(&device);
  }
  if (used_.size() > before)
    if (const auto way = use(buffer_); !way && added) added = tl::unexpected(way.error());
  if (!added) return tl::unexpected(added.error());
  return indices;
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
  return assign(queues, Queues::make(on, *run_.loops.at(std::size_t(thread)), shape)).map([&] {
    return queues.get();
  });
}

Result<void> Transport::watch(Device& device) {
  if (events_.contains(device.name())) return {};
  auto events = std::make_unique<Events>(*this, device);
  if (const auto watched = events->watch(*run_.loops.front()); !watched) return watched;
  events_.emplace(device.name(), std::move(events));
  return {};
}

std::optional<Ends> Transport::ends_of(const std::string& device, std::uint32_t queue_pair) const {
  for (const auto& [key, hop] : offered_)
    for (const Offered::End& end : hop->ends) {
      if (end.rail.name.device != device) continue;
      for (const Offered::Pair& pair : end.pairs)
        if (pair.pair->number() == queue_pair)
          return Ends{hop->hop, end.rail.name, end.partner ? hop->theirs.rails[*end.partner].name : ""};
    }
  return std::nullopt;
}

Result<Greeting> Transport::offer(const tcp::ConnectionKey& key, const Hop& hop, int thread,
                                  const std::vector<run::RdmaPort>& ports) {
  if (offered_.size() >= run_.hops) return fail(Cause::internal, "more RDMA hops than were announced");
  std::vector<Rail> rails = choice_.rails;
  if (!ports.empty()) {
    run::RdmaSettings settings = setup_.settings;
    settings.ports = ports;
    auto chosen = choose_rails(devices_, settings, {setup_.data_address});
    if (!chosen) return tl::unexpected(chosen.error());
    rails = std::move(chosen->rails);
  }
  auto made = std::make_unique<Offered>();
  made->hop = hop;
  made->thread = thread;
  const auto devices = device_indices(rails);
  if (!devices) return tl::unexpected(devices.error());
  for (std::size_t r = 0; r < rails.size(); ++r)
    made->ends.push_back({std::move(rails[r]), (*devices)[r], {}});
  const std::uint64_t stride = slot_stride(shape_.slot_bytes);
  const std::size_t lines = made->ends.size() * std::size_t(setup_.settings.queue_pairs);
  const std::uint64_t heads = Channel::heads_bytes(lines, sends_for(shape_.slots));
  Result<void> lent = assign(made->ring, memory_->lend(shape_.slots * stride, true));
  if (lent) lent = assign(made->staging, memory_->lend(shape_.staging * stride + heads));
  if (!lent) return tl::unexpected(lent.error());

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
    const int wanted = setup_.settings.mtu, active = end.rail.port.mtu;
    rail.mtu = std::uint16_t(wanted > 0 ? std::min(wanted, active) : active);
    rail.ring_key = made->ring.registered().remote_key(end.device);
    for (int q = 0; q < setup_.settings.queue_pairs; ++q) {
      auto pair = (*queues)->make_queue_pair(end.rail.name.port, setup_.settings.pkey_index, inline_bytes);
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
  const run::RdmaSettings& settings = setup_.settings;
  for (const auto& [r, t] : pair_rails(end.ours, peer)) {
    end.ends[r].partner = t;
    const Rail& rail = end.ends[r].rail;
    const Greeting::Rail &ours = end.ours.rails[r], &theirs = peer.rails[t];
    const Route way = route(ours, theirs);
    if (!way.global) without_grh_.insert(rail.name);
    for (std::size_t q = 0; q < std::min(ours.queue_pairs.size(), theirs.queue_pairs.size()); ++q) {
      Path path;
      path.port = rail.name.port;
      path.mtu = std::min(ours.mtu, theirs.mtu);
      path.queue_pair = theirs.queue_pairs[q].queue_pair;
      path.packet_sequence = theirs.queue_pairs[q].packet_sequence;
      path.layer = ours.layer;
      path.lid = way.lid;
      if (way.global) path.gid = theirs.gid;
      path.gid_index = rail.gid.index;
      path.traffic_class = settings.traffic_class;
      path.service_level = settings.service_level;
      if (pins(rail, end.ends[r].device)) path.flow_label = flow_label(ours.gid, theirs.gid);
      QueuePair& pair = *end.ends[r].pairs[q].pair;
      if (const auto set = pair.to_ready_to_receive(path); !set) return set;
      const RetryLimits limits{settings.timeout, settings.retry_count, settings.rnr_retry};
      if (const auto set = pair.to_ready_to_send(limits, ours.queue_pairs[q].packet_sequence); !set)
        return set;
    }
  }
  return {};
}

bool Transport::pins(const Rail& rail, std::size_t device) const {
  return pinned_ && rail.port.layer == LinkLayer::ethernet && used_[device]->limits().labels_set_ports;
}

// Queue pairs of one rail have one label; those of several go several ways.
std::optional<Flow> Transport::flow(const tcp::ConnectionKey& key) const {
  const Offered& hop = *offered_.at(key);
  const auto paired = [](const Offered::End& end) { return end.partner.has_value(); };
  const auto end = std::find_if(hop.ends.begin(), hop.ends.end(), paired);
  if (std::count_if(hop.ends.begin(), hop.ends.end(), paired) != 1 || !pins(end->rail, end->device))
    return std::nullopt;
  const Greeting::Rail& theirs = hop.theirs.rails[*end->partner];
  return Flow{end->rail.gid.raw, theirs.gid, theirs.queue_pairs.front().queue_pair};
}

std::vector<run::RdmaPort> Transport::unpaired(const tcp::ConnectionKey& key) const {
  std::vector<run::RdmaPort> ports;
  for (const Offered::End& end : offered_.at(key)->ends)
    if (!end.partner) ports.push_back(end.rail.name);
  return ports;
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
  // Neighbouring slices go over different rails.
  for (std::size_t q = 0; q < std::size_t(setup_.settings.queue_pairs); ++q)
    for (const Offered::End& ours : end.ends) {
      if (!ours.partner) continue;
      const Greeting::Rail& theirs = end.theirs.rails[*ours.partner];
      if (q < theirs.queue_pairs.size())
        setup.lines.push_back({ours.pairs[q].queues, ours.pairs[q].pair.get(), ours.rail.name, theirs.name,
                               ours.device, theirs.ring_key});
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
  setup.ranks = {buffer_.copier, buffer_.at, buffer_.bytes};
  setup.adaptive_routing_threshold = setup_.settings.adaptive_routing_threshold;
  return std::make_unique<Channel>(std::move(setup), *run_.loops.at(std::size_t(end.thread)), owner, reducer,
                                   std::move(script));
}

void Transport::end_run() {
  offered_.clear();
  queues_.clear();
  events_.clear();
  ports_.clear();
  without_grh_.clear();
  failed_ = false;
  run_ = {};
}

}  // namespace ringtrue::transport::verbs
