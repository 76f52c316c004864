// How writes of the scripted provider are delivered, and what completes.
#include <algorithm>
#include <cstring>

#include "tests/support/fake_verbs_world.h"

namespace ringtrue::transport::verbs {

using namespace fake;

// --- completions and events

void FakeFabric::World::raise(Context& context, const Event& event) {
  context.events.push_back(event);
  context.bell.ring();
}
void FakeFabric::World::raise(const Card& card, const Event& event) {
  for (const auto& weak : contexts)
    if (const auto context = weak.lock(); context && context->card == &card && context->open)
      raise(*context, event);
}

void FakeFabric::World::complete(const PairPtr& pair, Completion completion, std::uint64_t posted) {
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

void FakeFabric::World::break_pair(const PairPtr& pair) {
  if (pair->state == Pair::State::error || pair->state == Pair::State::gone) return;
  pair->state = Pair::State::error;
  flush(pair);
}
void FakeFabric::World::flush(const PairPtr& pair) {
  for (; !pair->waiting.empty(); pair->waiting.pop_front())
    complete(pair, {.work = pair->waiting.front().write.work, .status = flushed},
             pair->waiting.front().number);
  Receives& receives = *pair->receives;
  if (receives.shared) return;
  for (; receives.posted > 0; --receives.posted) complete(pair, {.status = flushed, .received = true}, 0);
}

// --- delivery

const Gid* FakeFabric::World::gid_of(const Pair& pair) const {
  for (const Gid& gid : pair.context->card->is.ports[std::size_t(pair.port - 1)].gids)
    if (gid.index == pair.path.gid_index) return &gid;
  return nullptr;
}
const FakePort& FakeFabric::World::port_of(const Pair& pair) {
  return pair.context->card->is.ports[std::size_t(pair.port - 1)];
}
bool FakeFabric::World::leads_to(const Path& path, const Pair& pair) {
  const FakePort& port = port_of(pair);
  if (path.layer != port.state.layer) return false;
  if (!path.gid) return path.lid != 0 && path.lid == port.state.lid;
  return std::any_of(port.gids.begin(), port.gids.end(),
                     [&](const Gid& gid) { return gid.raw == *path.gid; });
}

const Mapping* FakeFabric::World::region(const ContextPtr& context, std::uint32_t key, std::uint64_t at,
                                         std::uint64_t bytes) const {
  const auto found = regions.find(key);
  if (found == regions.end() || found->second.context != context) return nullptr;
  const auto begin = std::uint64_t(reinterpret_cast<std::uintptr_t>(found->second.is.at));
  const bool inside =
      at >= begin && bytes <= found->second.is.bytes && at - begin <= found->second.is.bytes - bytes;
  return inside ? &found->second : nullptr;
}

std::optional<int> FakeFabric::World::try_write(const PairPtr& pair, const Pair::Posted& posted,
                                                PairPtr& peer) {
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
    return pair->limits.rnr_retry == 7 ? std::nullopt : std::optional<int>(rnr);
  return success;
}

bool FakeFabric::World::deliver_head(const PairPtr& pair) {
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
    raise(*peer->context,
          {Event::Kind::bad_request, 0, peer->number, "local access violation work queue error"});
    break_pair(peer);
  }
  return true;
}

void FakeFabric::World::carry_out(const Pair::Posted& posted, const PairPtr& peer) {
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

FakeFabric::World::PairPtr FakeFabric::World::next_pair() {
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
bool FakeFabric::World::waits_for_receive(const Pair& pair) const {
  const auto peer = pairs.find(pair.path.queue_pair);
  return pair.limits.rnr_retry == 7 && pair.waiting.front().write.immediate && peer != pairs.end() &&
         peer->second->receives->posted == 0 &&
         (peer->second->state == Pair::State::ready_to_receive ||
          peer->second->state == Pair::State::ready_to_send);
}
std::size_t FakeFabric::World::deliver(std::size_t most) {
  std::size_t count = 0;
  for (PairPtr pair; count < most && (pair = next_pair()); ++count)
    if (!deliver_head(pair)) break;
  return count;
}
void FakeFabric::World::go_on() {
  if (!holding && !shuffling) deliver(std::size_t(-1));
}

}  // namespace ringtrue::transport::verbs
