#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mix.h"

namespace ringtrue::sim {

namespace {

std::uint64_t key(Rank from, Rank to) {
  return std::uint64_t(std::uint32_t(from)) << 24 | std::uint32_t(to);
}

template <class Map, class Key>
double factor(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? 1.0 : found->second;
}

std::int64_t ns(double seconds) {
  return std::int64_t(seconds * 1e9 + 0.5);
}

}  // namespace

World::World(const Fabric& fabric, const SimOptions& options)
    : fabric_(fabric), options_(options), layout_(fabric.layout()), random_(options.seed) {
  for (const int node : layout_.node_of_rank) nodes_ = std::max(nodes_, std::size_t(node) + 1);
  ports_.resize(2 * nodes_ + 2 * std::size_t(layout_.ranks()));
  for (std::size_t node = 0; node < nodes_; ++node) {
    ports_[2 * node].rate = fabric.inter.rate.value * factor(fabric.egress, int(node));
    ports_[2 * node + 1].rate = fabric.inter.rate.value * factor(fabric.ingress, int(node));
  }
  for (std::size_t p = 2 * nodes_; p < ports_.size(); ++p) ports_[p].rate = fabric.intra.rate.value;
  receiving_.resize(std::size_t(layout_.ranks()));
  receiving_until_ = receiving_;
  for (const collective::Fault& fault : options_.faults) reliable_ = reliable_ && !fault.unreliable();
  for (Rank r = 0; r < layout_.ranks(); ++r) players_.push_back(std::make_unique<Player>(*this, r));
}

std::size_t World::egress_of(const Hop& hop) const {
  if (!hop.inter) return 2 * nodes_ + 2 * std::size_t(hop.source);
  return 2 * std::size_t(layout_.node_of_rank[std::size_t(hop.source)]);
}

std::size_t World::ingress_of(const Hop& hop) const {
  if (!hop.inter) return 2 * nodes_ + 2 * std::size_t(hop.destination) + 1;
  return 2 * std::size_t(layout_.node_of_rank[std::size_t(hop.destination)]) + 1;
}

World::Hop& World::hop_of(Rank from, Rank to) {
  const auto [found, fresh] = hops_.try_emplace(key(from, to));
  Hop& hop = found->second;
  if (!fresh) return hop;
  hop.source = from;
  hop.destination = to;
  const int a = layout_.node_of_rank[std::size_t(from)], b = layout_.node_of_rank[std::size_t(to)];
  hop.inter = a != b;
  if (hop.inter && fabric_.path.contains({a, b})) {
    hop.path_rate = fabric_.inter.rate.value * fabric_.path.at({a, b});
  }
  for (const collective::Fault& fault : options_.faults) {
    if (!fault.concerns(from, to)) continue;
    if (fault.kind == collective::Fault::Kind::delay) {
      hop.delay += fault.time.value;
    } else if (fault.kind == collective::Fault::Kind::throttle) {
      hop.path_rate = hop.path_rate > 0 ? std::min(hop.path_rate, fault.rate.value) : fault.rate.value;
    } else {
      hop.faults.push_back(&fault);
    }
  }
  return hop;
}

double World::noise() {
  if (options_.noise <= 0) return 1;
  const std::uint64_t drawn = mixed(random_);
  random_ += mix_step;
  return 1 + options_.noise * double(drawn >> 11) * 0x1p-53;
}

void World::post(bool receive, Rank from, Rank to, Lane lane, std::uint64_t bytes, std::uint32_t token) {
  if (report_.error) return;
  Wire& wire = wires_[key(from, to) << 16 | lane];
  const Posted posted{bytes, token, now_};
  if (wire.first == wire.posts.size() || wire.receives == receive) {
    if (wire.first == wire.posts.size()) {
      wire.posts.clear();
      wire.first = 0;
    }
    wire.receives = receive;
    wire.posts.push_back(posted);
    return;
  }
  const Posted other = wire.posts[wire.first++];
  match(hop_of(from, to), lane, wire.sequence++, receive ? other : posted, receive ? posted : other);
}

void World::match(Hop& hop, Lane lane, std::uint32_t sequence, const Posted& send, const Posted& receive) {
  if (send.bytes != receive.bytes) {
    return fail_on(hop, Cause::internal,
                   fmt::format("{} bytes are sent where {} are expected", send.bytes, receive.bytes));
  }
  Message message;
  message.hop = &hop;
  message.lane = lane;
  message.sequence = sequence;
  message.bytes = send.bytes;
  message.load = double(send.bytes) * noise();
  message.send_token = send.token;
  message.receive_token = receive.token;
  message.posted = send.at;
  message.matched = now_;
  if (admit(message)) launch(store(std::move(message)));
}

std::uint32_t World::store(Message message) {
  if (unused_.empty()) {
    messages_.push_back(std::move(message));
    return std::uint32_t(messages_.size() - 1);
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  messages_[index] = std::move(message);
  return index;
}

// To its sender's port.
void World::launch(std::uint32_t index) {
  const Hop& hop = *messages_[index].hop;
  const std::size_t number = egress_of(hop);
  Port& port = ports_[number];
  if (port.messages.empty() && port.free_at <= now_) return leave(index);
  port.messages.push_back(index);
  if (!port.wakes) {
    port.wakes = true;
    at(port.free_at, Kind::wake, std::uint32_t(number));
  }
}

// Counts the message, and lets the scripted faults have their way with it. False if it never moves.
bool World::admit(Message& message) {
  Hop& hop = *message.hop;
  using Fault = collective::Fault;
  const std::uint64_t nth = hop.messages + 1;
  for (const Fault* fault : hop.faults) {
    const bool over = hop.bytes + message.bytes > fault->after.value;
    if (fault->kind == Fault::Kind::cut && over) {
      fail_on(hop, Cause::peer_lost, fmt::format("the connection broke after {} bytes", hop.bytes));
      return false;
    }
    if (fault->kind == Fault::Kind::stall && (over || hop.stuck)) {
      hop.stuck = true;
      return false;
    }
    if (fault->kind == Fault::Kind::drop && nth == fault->nth) message.vanishes = hop.stuck = true;
    if (fault->kind == Fault::Kind::corrupt_frame && nth == fault->nth) message.breaks = true;
    if (fault->kind == Fault::Kind::corrupt_value && nth == fault->nth && message.bytes) ++report_.corrupted;
  }
  hop.messages = nth;
  hop.bytes += message.bytes;
  ++report_.messages;
  report_.bytes_sent += message.bytes;
  return true;
}

// The egress port takes the message up now.
void World::leave(std::uint32_t index) {
  Message& message = messages_[index];
  Hop& hop = *message.hop;
  Port& port = ports_[egress_of(hop)];
  const HopCost& cost = cost_of(hop);
  message.moved = now_;
  message.service = cost.overhead.value + message.load / port.rate;
  port.free_at = message.path_end = now_ + message.service;
  double begin = now_;
  if (hop.path_rate > 0) {
    const double path = message.load / hop.path_rate;
    begin = std::max(now_, hop.path_free_at);
    hop.path_free_at = begin + path;
    message.path_end = std::max(message.path_end, hop.path_free_at);
    message.service = std::max(message.service, path);
  }
  at(begin + cost.overhead.value + cost.latency.value + hop.delay, Kind::arrive, index);
}

void World::wake(std::size_t number) {
  Port& port = ports_[number];
  const std::uint32_t index = port.messages.front();
  port.messages.pop_front();
  leave(index);
  port.wakes = !port.messages.empty();
  if (port.wakes) at(port.free_at, Kind::wake, std::uint32_t(number));
}

// Its first byte is at the ingress port.
void World::arrive(std::uint32_t index) {
  Message& message = messages_[index];
  Hop& hop = *message.hop;
  if (message.lost) return at(std::max(message.path_end, now_), Kind::sent, index);
  Port& port = ports_[ingress_of(hop)];
  const double on_the_way = cost_of(hop).latency.value + hop.delay;
  const double took = message.load / port.rate;
  port.free_at = std::max(now_, port.free_at) + took;
  message.service = std::max(message.service, took);
  const double end = std::max(message.path_end + on_the_way, port.free_at);

  // What it was carried for, by the sender's clock; before that it stood in a queue.
  const double left = end - on_the_way, began = left - message.service;
  hop.waited += std::max(0.0, began - std::max(message.matched, hop.busy_until));
  hop.busy += std::max(0.0, left - std::max(began, hop.busy_until));
  hop.busy_until = std::max(hop.busy_until, left);

  if (message.packet) {
    double& until = receiving_until_[std::size_t(hop.destination)];
    receiving_[std::size_t(hop.destination)] += std::max(0.0, end - std::max(until, now_));
    until = std::max(until, end);
  }
  at(std::max(left, now_), Kind::sent, index);
  at(end, Kind::deliver, index);
}

void World::finish(Rank rank, std::uint32_t token) {
  const auto waiter = players_[std::size_t(rank)]->count_down(token);
  if (waiter) ready_.push_back({rank, waiter});
}

void World::handle(const Event& event) {
  if (event.kind == Kind::wake) return wake(event.index);
  if (event.kind == Kind::arrive) return arrive(event.index);
  if (event.kind == Kind::mail) return deliver_mail(Rank(event.index));
  if (event.kind == Kind::release) return release_late(event.index);
  if (event.kind == Kind::timer) return finish(timers_[event.index].first, timers_[event.index].second);
  if (event.kind == Kind::deliver && messages_[event.index].packet) return deliver_packet(event.index);
  const Message message = messages_[event.index];
  const Hop& hop = *message.hop;
  if (event.kind == Kind::sent) {
    if (message.copy) return;
    if (message.lost) unused_.push_back(event.index);
    if (options_.events) {
      report_.trace.events.push_back({hop.source, hop.destination, message.lane, message.sequence,
                                      message.bytes, ns(message.posted), ns(message.moved), ns(now_)});
    }
    return finish(hop.source, message.send_token);
  }
  unused_.push_back(event.index);
  if (message.vanishes) return;
  if (message.breaks) return fail_on(hop, Cause::corrupted, "a frame arrived broken");
  finish(hop.destination, message.receive_token);
}

void World::resume_all() {
  while (!ready_.empty() && !report_.error) {
    const auto [rank, waiter] = ready_.front();
    ready_.pop_front();
    waiter.resume();
    note_finished(rank);
  }
}

void World::note_finished(Rank rank) {
  Player& player = *players_[std::size_t(rank)];
  if (player.finished || !player.program.finished()) return;
  player.finished = true;
  ++finished_;
  report_.time = Seconds(now_);
}

void World::fail_on(const Hop& hop, Cause cause, std::string what) {
  if (report_.error) return;
  report_.error =
      Error{cause, std::move(what), fmt::format("rank {} > rank {}", hop.source, hop.destination), {}};
}

// Ranks that wait for ever, or for longer than allowed: which hop holds them up?
void World::explain_standstill(bool late) {
  const Hop* culprit = nullptr;
  for (const auto& [_, hop] : hops_) {
    if (!hop.stuck) continue;
    if (!culprit || key(hop.source, hop.destination) < key(culprit->source, culprit->destination))
      culprit = &hop;
  }
  const int waiting = layout_.ranks() - finished_;
  if (culprit) {
    return fail_on(
        *culprit, Cause::deadline,
        fmt::format("nothing arrives any more after {} bytes; {} ranks wait", culprit->bytes, waiting));
  }
  report_.error = Error{late ? Cause::deadline : Cause::internal,
                        late ? fmt::format("{} ranks were not done in time", waiting)
                             : fmt::format("{} ranks wait for messages that nobody sends", waiting),
                        "simulation", late ? "allow more time" : ""};
}

SimReport World::play(const collective::Algorithm& algorithm, const collective::Call& call) {
  const std::uint64_t block = std::max(call.omni.block, 1u);
  const std::uint64_t blocks = (call.elements + block - 1) / block;
  for (auto& player : players_) {
    if (algorithm.uses_packets()) player->set_blocks(blocks, options_.has_block);
    player->program = algorithm.program(*player, call);
    player->program.start();
    note_finished(player->rank());
  }
  const double deadline = options_.deadline.value;
  bool late = false;
  resume_all();
  while (!report_.error && !events_.empty() && !late) {
    const Event event = events_.top();
    events_.pop();
    late = deadline > 0 && event.time > deadline && finished_ < layout_.ranks();
    if (late) break;
    now_ = event.time;
    handle(event);
    resume_all();
  }
  if (!report_.error && finished_ < layout_.ranks()) explain_standstill(late);
  if (report_.error) report_.time = Seconds(late ? deadline : now_);
  if (algorithm.uses_packets()) {
    for (const auto& player : players_) report_.counts.push_back(player->counts());
    for (const double seconds : receiving_) report_.receiving.push_back(Seconds(seconds));
  }
  fill_trace();
  return std::move(report_);
}

void World::fill_trace() {
  std::vector<const Hop*> hops;
  for (const auto& [_, hop] : hops_) hops.push_back(&hop);
  std::sort(hops.begin(), hops.end(), [](const Hop* a, const Hop* b) {
    return key(a->source, a->destination) < key(b->source, b->destination);
  });
  for (const Hop* hop : hops) {
    trace::Hop seen;
    seen.source = hop->source;
    seen.destination = hop->destination;
    seen.messages = hop->messages;
    seen.bytes = Bytes(hop->bytes);
    seen.busy = Seconds(hop->busy);
    report_.trace.hops.push_back(seen);
    report_.waited.push_back(Seconds(hop->waited));
  }
}

}  // namespace ringtrue::sim
