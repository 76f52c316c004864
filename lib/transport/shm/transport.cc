#include "transport/shm/transport.h"

#include <algorithm>

namespace ringtrue::transport::shm {

Transport::Transport(Setup setup) : setup_(std::move(setup)) {
  const Plan& plan = *setup_.plan;
  by_notice_.resize(2 * plan.directions.size());
  thread_of_notice_.resize(2 * plan.directions.size());
  for (std::size_t i = 0; i < plan.directions.size(); ++i) {
    thread_of_notice_[2 * i] = plan.thread_of[std::size_t(plan.position(plan.directions[i].source))];
    thread_of_notice_[2 * i + 1] = plan.thread_of[std::size_t(plan.position(plan.directions[i].destination))];
  }
}

Mailbox& Transport::mailbox(int thread) const {
  return *reinterpret_cast<Mailbox*>(setup_.memory + setup_.layout->mailboxes[std::size_t(thread)]);
}

std::atomic<std::uint32_t>* Transport::cells(int thread) const {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(&mailbox(thread) + 1);
}

Direction* Transport::direction(Rank source, Rank destination, Lane lane, std::uint32_t& index) const {
  const auto& all = setup_.plan->directions;
  const DirectionKey key{source, destination, lane};
  const auto at = std::lower_bound(all.begin(), all.end(), key);
  if (at == all.end() || *at != key) return nullptr;
  index = std::uint32_t(at - all.begin());
  return reinterpret_cast<Direction*>(setup_.memory + setup_.layout->directions[index]);
}

Channel& Transport::open(const Hop& hop, Owner& owner, const Reducer& reducer, faulty::Script script) {
  channels_.push_back(std::make_unique<Channel>(*this, hop, owner, reducer, std::move(script)));
  Channel& channel = *channels_.back();
  if (channel.outgoing_.direction) by_notice_[2 * channel.outgoing_.index] = &channel;
  if (channel.incoming_.direction) by_notice_[2 * channel.incoming_.index + 1] = &channel;
  return channel;
}

void Transport::receive_all(std::span<transport::Channel* const> from, std::uint64_t token,
                            const Destination& destination) {
  auto group = std::make_shared<GroupReceive>();
  group->token = token;
  group->destination = destination;
  for (transport::Channel* channel : from) group->from.push_back(static_cast<Channel*>(channel));
  group->number.resize(from.size());
  group->source.resize(from.size());
  group->missing = from.size();
  for (std::size_t i = 0; i < from.size(); ++i) group->from[i]->receive_in_group(group, i);
}

void Transport::notify(std::uint32_t direction, int side) {
  const std::uint32_t notice = 2 * direction + std::uint32_t(side);
  const int thread = thread_of_notice_[notice];
  if (thread == setup_.thread) {
    own_notices_.push_back(notice);
    return;
  }
  auto* d = reinterpret_cast<Direction*>(setup_.memory + setup_.layout->directions[direction]);
  if (d->notified[side].exchange(1, std::memory_order_acq_rel)) return;
  Mailbox& box = mailbox(thread);
  const std::uint64_t capacity = 2 * setup_.plan->directions.size() + 1;
  const std::uint64_t at = box.tail.fetch_add(1, std::memory_order_acq_rel) % capacity;
  cells(thread)[at].store(notice + 1, std::memory_order_seq_cst);
  if (box.sleeping.load(std::memory_order_seq_cst) && box.sleeping.exchange(0, std::memory_order_seq_cst))
    Loop::ring(setup_.doorbells[std::size_t(thread)]);
}

void Transport::handle(std::uint32_t notice) {
  Channel* channel = by_notice_[notice];
  if (!channel) return;
  channel->advance(notice % 2 == 0 ? channel->outgoing_ : channel->incoming_);
}

bool Transport::work() {
  if (!own_notices_.empty()) {
    const std::uint32_t notice = own_notices_.back();
    own_notices_.pop_back();
    handle(notice);
    return true;
  }
  const std::uint64_t capacity = 2 * setup_.plan->directions.size() + 1;
  auto& cell = cells(setup_.thread)[head_ % capacity];
  if (cell.load(std::memory_order_relaxed) == 0) return false;
  const std::uint32_t notice = cell.exchange(0, std::memory_order_acq_rel) - 1;
  ++head_;
  auto* d = reinterpret_cast<Direction*>(setup_.memory + setup_.layout->directions[notice / 2]);
  d->notified[notice % 2].exchange(0, std::memory_order_acq_rel);
  handle(notice);
  return true;
}

bool Transport::prepare_to_sleep() {
  Mailbox& box = mailbox(setup_.thread);
  box.sleeping.store(1, std::memory_order_seq_cst);
  const std::uint64_t capacity = 2 * setup_.plan->directions.size() + 1;
  return own_notices_.empty() && cells(setup_.thread)[head_ % capacity].load(std::memory_order_seq_cst) == 0;
}

void Transport::awake() {
  mailbox(setup_.thread).sleeping.store(0, std::memory_order_seq_cst);
}

}  // namespace ringtrue::transport::shm
