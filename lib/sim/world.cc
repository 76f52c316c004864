#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "base/splitmix64.h"
#include "run/trace.h"

namespace ringtrue::sim {

namespace {

std::uint64_t key(Rank from, Rank to) {
  return std::uint64_t(std::uint32_t(from)) << 24 | std::uint32_t(to);
}

std::int64_t ns(double seconds) {
  return std::int64_t(seconds * 1e9 + 0.5);
}

}  // namespace

double noise_of(std::uint64_t seed, Rank from, Rank to, Lane lane, std::uint64_t nth, double most) {
  if (most <= 0) return 1;
  const std::uint64_t drawn = splitmix64(splitmix64(splitmix64(seed) ^ (key(from, to) << 16 | lane)) ^ nth);
  return 1 + most * double(drawn >> 11) * 0x1p-53;
}

World::World(const Fabric& fabric, const SimOptions& options, Discipline discipline)
    : fabric_(fabric),
      options_(options),
      fair_(discipline == Discipline::fair),
      network_(fabric, options.seed, options.run_noise) {
  const std::size_t ranks = std::size_t(layout().ranks());
  report_.discipline = discipline;
  receiving_.resize(ranks);
  receiving_until_ = receiving_;
  processor_.resize(ranks);
  for (const collective::Fault& fault : options_.faults) reliable_ = reliable_ && !fault.unreliable();
  for (const FabricFault& fault : fabric.faults)
    reliable_ = reliable_ && fault.kind != FabricFault::Kind::lossy;
  for (Rank r = 0; r < layout().ranks(); ++r) players_.push_back(std::make_unique<Player>(*this, r));
  if (!fair_) return;
  for (const Network::Background& traffic : network_.background()) {
    add_new_links();
    sharing_.start(traffic.links, Sharing::never, none, 0);
  }
}

World::Hop& World::hop_of(Rank from, Rank to) {
  const std::uint32_t number = hop_numbers_.find_or_add(key(from, to), hops_.size());
  if (number < hops_.size()) return hops_[number];
  Hop& hop = hops_.add();
  hop.source = from;
  hop.destination = to;
  if (network_.rails(from, to) > 1) hop.more().rail_busy.resize(std::size_t(fabric_.rails));
  for (const int node : {network_.node(from), network_.node(to)}) {
    if (network_.dead(node)) hop.more().why = fmt::format("node {} is dead", node);
  }
  double rate = 0;
  for (const collective::Fault& fault : options_.faults) {
    if (!fault.concerns(from, to)) continue;
    if (fault.kind == collective::Fault::Kind::delay) {
      hop.delay += fault.time.value;
    } else if (fault.kind == collective::Fault::Kind::throttle) {
      rate = rate > 0 ? std::min(rate, fault.rate.value) : fault.rate.value;
    } else {
      hop.more().faults.push_back(&fault);
    }
  }
  if (rate > 0) hop.more().limit = network_.add_private(rate);
  return hop;
}

World::Connection& World::connection(Wire& wire, Rank from, Rank to, Lane lane, std::uint64_t nth) {
  if (wire.connections == none) {
    wire.connections = connections_.size();
    for (int rail = 0; rail < network_.rails(from, to); ++rail) connections_.add();
  }
  const int rail = network_.rail(from, to, lane, nth);
  Connection& way = connections_[wire.connections + std::uint32_t(rail)];
  if (way.hop) return way;
  way.hop = &hop_of(from, to);
  way.rail = std::uint8_t(rail);
  way.route = network_.route(from, to, lane, rail);
  for (const std::uint32_t number : way.route.crossed()) {
    const Link& link = network_.link(number);
    way.lost = 1 - (1 - way.lost) * (1 - link.lost);
    way.patience = std::max(way.patience, link.patience);
  }
  if (way.hop->limit() != none) {
    way.route.rate = std::min(way.route.rate, network_.link(way.hop->limit()).rate);
  }
  if (fair_) add_new_links();
  return way;
}

World::Wire& World::wire(Rank from, Rank to, Lane lane) {
  const std::uint32_t number = wire_numbers_.find_or_add(key(from, to) << 16 | lane, wires_.size());
  return number < wires_.size() ? wires_[number] : wires_.add();
}

void World::post(bool receive, Rank from, Rank to, Lane lane, std::uint64_t bytes, std::uint32_t token,
                 bool adds) {
  if (report_.error) return;
  Wire& wire = this->wire(from, to, lane);
  const Posted posted{bytes, token, now_, adds};
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
  match(wire, from, to, lane, receive ? other : posted, receive ? posted : other);
}

void World::match(Wire& wire, Rank from, Rank to, Lane lane, const Posted& send, const Posted& receive) {
  const std::uint32_t sequence = wire.sequence++;
  Connection& way = connection(wire, from, to, lane, sequence);
  if (send.bytes != receive.bytes) {
    return fail_on(*way.hop, Cause::internal,
                   fmt::format("{} bytes are sent where {} are expected", send.bytes, receive.bytes));
  }
  Message message;
  message.way = &way;
  message.from = from;
  message.to = to;
  message.lane = lane;
  message.sequence = sequence;
  message.bytes = send.bytes;
  message.load = double(send.bytes) * noise_of(options_.seed, from, to, lane, sequence, options_.noise);
  message.send_token = send.token;
  message.receive_token = receive.token;
  message.adds = receive.adds;
  message.posted = send.at;
  message.matched = now_;
  if (!admit(message)) return;
  const std::uint32_t index = store(std::move(message));
  fair_ ? enqueue(index) : launch(index);
}

std::uint32_t World::store(Message message) {
  if (unused_.empty()) {
    messages_.add() = std::move(message);
    return messages_.size() - 1;
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  messages_[index] = std::move(message);
  return index;
}

// Counts the message, and lets the scripted faults have their way with it. False if it never moves.
bool World::admit(Message& message) {
  Hop& hop = *message.way->hop;
  using Fault = collective::Fault;
  const std::uint64_t nth = hop.messages + 1;
  const bool blocked = hop.rare && !hop.rare->why.empty();
  if (!blocked && !network_.fits(hop.source, hop.destination, message.bytes))
    hop.more().why = fmt::format("messages of more than the fabric's MTU of {} get lost", fabric_.mtu);
  if (hop.rare && !hop.rare->why.empty()) {
    hop.rare->stuck = true;
    return false;
  }
  for (std::size_t i = 0; hop.rare && i < hop.rare->faults.size(); ++i) {
    const Fault* fault = hop.rare->faults[i];
    const bool over = hop.bytes + message.bytes > fault->after.value;
    if (fault->kind == Fault::Kind::cut && over) {
      fail_on(hop, Cause::peer_lost, fmt::format("the connection broke after {}", plural(hop.bytes, "byte")));
      return false;
    }
    if (fault->kind == Fault::Kind::stall && (over || hop.rare->stuck)) {
      hop.rare->stuck = true;
      return false;
    }
    if (fault->kind == Fault::Kind::drop && nth == fault->nth) message.vanishes = hop.rare->stuck = true;
    if (fault->kind == Fault::Kind::corrupt_frame && nth == fault->nth) message.breaks = true;
    if (fault->kind == Fault::Kind::corrupt_value && nth == fault->nth && message.bytes) ++report_.corrupted;
  }
  hop.messages = nth;
  hop.bytes += message.bytes;
  ++report_.messages;
  report_.bytes_sent += message.bytes;
  return true;
}

void World::finish(Rank rank, std::uint32_t token) {
  const auto waiter = players_[std::size_t(rank)]->count_down(token);
  if (waiter) ready_.push_back({rank, waiter});
}

void World::handle(const Event& event) {
  switch (event.kind) {
    case Kind::wake:
      return wake(event.index);
    case Kind::arrive:
      return arrive(event.index);
    case Kind::enter:
      return enter(event.index);
    case Kind::leave:
      return left(event.index);
    case Kind::deliver:
      return messages_[event.index].packet ? deliver_packet(event.index) : deliver(event.index);
    case Kind::received: {
      const Message message = std::move(messages_[event.index]);
      unused_.push_back(event.index);
      return finish(message.to, message.receive_token);
    }
    case Kind::sent:
      return sent(event.index);
    case Kind::timer:
      return finish(timers_[event.index].first, timers_[event.index].second);
    case Kind::mail:
      return deliver_mail(Rank(event.index));
    case Kind::release:
      return release_late(event.index);
    case Kind::flap:
      return flap(event.index);
  }
}

void World::sent(std::uint32_t index) {
  const Message& message = messages_[index];
  if (message.copy) return;
  if (message.lost) unused_.push_back(index);
  if (options_.events) {
    report_.trace.events.push_back({message.from, message.to, message.lane, message.sequence, message.bytes,
                                    ns(message.posted), ns(message.moved), ns(now_)});
  }
  finish(message.from, message.send_token);
}

void World::deliver(std::uint32_t index) {
  Message& message = messages_[index];
  const Hop& hop = *message.way->hop;
  if (message.vanishes) return unused_.push_back(index);
  if (message.breaks) return fail_on(hop, Cause::corrupted, "a frame arrived broken");
  const double rate = network_.reduce_rate(hop.destination);
  double work_left = message.way->route.inter ? fabric_.receive_overhead.value : 0;
  if (message.adds && rate > 0) work_left += double(message.bytes) / rate;
  if (work_left > 0) return at(work(hop.destination, work_left), Kind::received, index);
  unused_.push_back(index);
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
  for (std::uint32_t i = 0; i < hops_.size(); ++i) {
    const Hop& hop = hops_[i];
    if (!hop.stuck()) continue;
    if (!culprit || key(hop.source, hop.destination) < key(culprit->source, culprit->destination))
      culprit = &hop;
  }
  const int waiting = layout().ranks() - finished_;
  const std::string wait = plural(waiting, "rank waits", "ranks wait");
  if (culprit && culprit->rare && !culprit->rare->why.empty()) {
    return fail_on(*culprit, Cause::deadline, fmt::format("{}; {}", culprit->rare->why, wait));
  }
  if (culprit) {
    return fail_on(
        *culprit, Cause::deadline,
        fmt::format("nothing arrives any more after {}; {}", plural(culprit->bytes, "byte"), wait));
  }
  report_.error = Error{late ? Cause::deadline : Cause::internal,
                        late ? plural(waiting, "rank was", "ranks were") + " not done in time"
                             : wait + " for messages that no rank sends",
                        "simulation", late ? "allow more time" : ""};
}

// When something happens next; `never` where nothing does any more.
double World::next_time() {
  if (sharing_.unsettled() && (agenda_.empty() || agenda_.next_time() > now_)) sharing_.settle(now_);
  const double flow = sharing_.next();
  // A link that goes up and down moves nothing by itself.
  const bool only_flaps = agenda_.size() == pending_flaps_ && moving_ == 0;
  if (agenda_.empty() || only_flaps) return flow;
  return std::min(flow, agenda_.next_time());
}

// What happens now: flows end before all else.
void World::advance() {
  if (sharing_.next() <= now_) {
    ended_.clear();
    sharing_.finish(now_, ended_);
    for (const std::uint32_t index : ended_) leave_link(index);
  } else {
    handle(agenda_.pop());
  }
  resume_all();
}

SimReport World::play(const collective::Algorithm& algorithm, const collective::Call& call) {
  for (auto& player : players_) {
    if (algorithm.uses_packets()) player->set_data(call, options_);
    player->program = algorithm.program(*player, call);
    player->program.start();
    note_finished(player->rank());
  }
  const double deadline = options_.deadline.value;
  bool late = false;
  resume_all();
  while (!report_.error && finished_ < layout().ranks()) {
    const double next = next_time();
    if (next == Sharing::never) break;
    late = deadline > 0 && next > deadline;
    if (late) break;
    now_ = next;
    advance();
  }
  if (!report_.error && finished_ < layout().ranks()) explain_standstill(late);
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
  hops.reserve(hops_.size());
  for (std::uint32_t i = 0; i < hops_.size(); ++i) hops.push_back(&hops_[i]);
  std::sort(hops.begin(), hops.end(), [](const Hop* a, const Hop* b) {
    return key(a->source, a->destination) < key(b->source, b->destination);
  });
  report_.trace.hops.reserve(hops.size());
  report_.waited.reserve(hops.size());
  for (const Hop* hop : hops) {
    double busy = hop->busy;  // of several rails, the one that was busy longest
    if (hop->rare) {
      for (const double rail : hop->rare->rail_busy) busy = std::max(busy, rail);
    }
    run::Hop seen;
    seen.source = hop->source;
    seen.destination = hop->destination;
    seen.messages = hop->messages;
    seen.bytes = Bytes(hop->bytes);
    seen.busy = Seconds(busy);
    report_.trace.hops.push_back(seen);
    report_.waited.push_back(Seconds(hop->waited));
  }
}

}  // namespace ringtrue::sim
