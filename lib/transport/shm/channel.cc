#include "transport/shm/channel.h"

#include <fmt/format.h>

#include <cstring>

#include "base/clock.h"
#include "transport/shm/transport.h"

namespace ringtrue::transport::shm {

Channel::Channel(Transport& transport, Hop hop, Owner& owner, const Reducer& reducer, faulty::Script script)
    : transport::Channel(std::move(hop), owner, reducer, std::move(script)), transport_(transport) {
  outgoing_.side = 0;
  outgoing_.traffic = &sent_;
  incoming_.traffic = &received_;
  outgoing_.direction = transport_.direction(hop_.self, hop_.peer, hop_.lane, outgoing_.index);
  incoming_.side = 1;
  incoming_.direction = transport_.direction(hop_.peer, hop_.self, hop_.lane, incoming_.index);
}

Slot& Channel::slot(Side& side, std::uint64_t number) const {
  return side.direction->slots[number % slots_per_direction];
}

void Channel::send(std::uint64_t token, const std::byte* from, std::uint64_t length, bool) {
  Post post;
  post.token = token;
  post.address = transport_.offset(from);
  post.length = length;
  post.posted = owner_.now();
  post.sequence = sends_++;
  if (script_.empty()) return enqueue_send(std::move(post));

  const faulty::Fate fate = script_.next(length, now_ns());
  if (fate.breaks) return owner_.failed(connection_lost(hop_, "the connection was cut"));
  if (fate.silent) return;
  if (fate.vanishes) return owner_.post_done(token);
  if (fate.broken_frame) post.sequence ^= 0x40000000u;
  post.broken_value = fate.broken_value;
  if (fate.not_before == 0) return enqueue_send(std::move(post));
  transport_.loop()->at(fate.not_before, [this, post = std::move(post)] { enqueue_send(post); });
}

void Channel::enqueue_send(Post post) {
  outgoing_.posts.push_back(std::move(post));
  publish(outgoing_);
}

Gatherer* Channel::gatherer() {
  return &transport_;
}

void Channel::receive(std::uint64_t token, const Destination& destination) {
  Post post;
  post.token = token;
  post.discard = destination.discard;  // always with Arrival::store
  if (!post.discard) post.address = transport_.offset(destination.into);
  post.with = destination.with ? transport_.offset(destination.with) : post.address;
  post.length = destination.length;
  post.up_to = destination.up_to;
  post.receiver_moves = destination.receiver_moves || destination.discard;
  post.came = destination.came;
  post.how = post.discard ? Arrival::store : destination.how;
  post.posted = owner_.now();
  incoming_.posts.push_back(std::move(post));
  publish(incoming_);
}

void Channel::publish(Side& side) {
  while (side.published < side.posts.size()) {
    const std::uint64_t number = side.next + side.published;
    Slot& s = slot(side, number);
    const std::uint64_t round = number / slots_per_direction * round_unit;
    if (s.state.load(std::memory_order_acquire) / round_unit * round_unit != round) {
      // The slot still belongs to an earlier message. Ask to be told, then look once more.
      side.direction->waits[side.side].store(1, std::memory_order_seq_cst);
      if (s.state.load(std::memory_order_seq_cst) / round_unit * round_unit != round) return;
    }
    Post& post = side.posts[side.published];
    std::uint64_t bits;
    if (side.side == 0) {
      s.from = post.address;
      s.send_length = post.length;
      s.sequence = post.sequence;
      s.broken_value = post.broken_value;
      bits = send_posted;
    } else {
      s.into = post.address;
      s.with = post.with;
      s.receive_length = post.length;
      s.how = post.how;
      s.up_to = post.up_to;
      bits = receive_posted | (post.group || post.receiver_moves ? group_receive : 0);
    }
    ++side.published;
    const std::uint64_t before = s.state.fetch_or(bits, std::memory_order_acq_rel);
    const bool peer_is_there = before & (side.side == 0 ? receive_posted : send_posted);
    if (!peer_is_there) continue;
    if (side.side == 1 && post.group) {
      count_in(post, s);
    } else if (before & group_receive) {
      transport_.notify(side.index, 1);
    } else {
      meet(side, post, number);
    }
  }
}

bool Channel::broken(const Slot& s, std::uint64_t number) {
  const bool fits = s.up_to ? s.send_length <= s.receive_length : s.send_length == s.receive_length;
  if (s.sequence == std::uint32_t(number) && fits) return false;
  owner_.failed(Error{
      Cause::corrupted,
      fmt::format("a broken frame between rank {} and rank {} on {}: message {} of {} bytes where "
                  "message {} of {} bytes was due",
                  hop_.self, hop_.peer, hop_.peer_node, s.sequence, s.send_length, number, s.receive_length),
      hop_.peer_node,
      {}});
  return true;
}

void Channel::meet(Side& side, Post& post, std::uint64_t number) {
  Slot& s = slot(side, number);
  if (broken(s, number)) return;
  std::byte* memory = transport_.memory();
  const std::int64_t begin = now_ns();
  if (s.how != Arrival::store) {
    reducer_.reduce(memory + s.into, memory + s.with, memory + s.from, s.send_length, s.how);
  } else if (!post.discard) {
    // Ordinary stores: streaming past the caches took twice as long wherever it was measured.
    std::memcpy(memory + s.into, memory + s.from, s.send_length);
  }
  if (s.broken_value && s.send_length > 0 && !post.discard)
    memory[s.into + reducer_.element_bytes() - 1] ^= std::byte{0x41};
  const std::int64_t took = now_ns() - begin;
  if (side.side == 1) post.length = s.send_length;
  s.with = std::uint64_t(took);
  s.state.fetch_or(moved, std::memory_order_acq_rel);
  transport_.notify(side.index, 1 - side.side);
  finish(side, post, number, took);
}

void Channel::finish(Side& side, Post& post, std::uint64_t number, std::int64_t moving_ns) {
  post.finished = true;
  if (post.came) *post.came = post.length;
  ++side.traffic->messages;
  side.traffic->bytes += post.length;
  side.traffic->busy_ns += moving_ns;
  if (owner_.wants_events()) {
    if (side.side == 0)
      record_sent(std::uint32_t(number), post.length, post.posted, owner_.now() - moving_ns);
    else
      record_received(std::uint32_t(number), post.length, post.posted, moving_ns);
  }
  if (post.group) {
    // The group's token is done once, by its last member.
    if (--post.group->missing == 0) owner_.post_done(post.group->token);
  } else {
    owner_.post_done(post.token);
  }
}

void Channel::count_in(Post& post, Slot& s) {
  if (post.counted) return;
  post.counted = true;
  std::shared_ptr<GroupReceive> group = post.group;
  for (std::size_t i = 0; i < group->from.size(); ++i)
    if (group->from[i] == this) group->source[i] = transport_.memory() + s.from;
  if (--group->missing == 0) move_group(std::move(group));
}

void Channel::receive_in_group(const std::shared_ptr<GroupReceive>& group, std::size_t place) {
  Post post;
  post.group = group;
  post.address = transport_.offset(group->destination.into);
  post.with = post.address;
  post.length = group->destination.length;
  post.how = group->destination.how;
  post.posted = owner_.now();
  group->number[place] = incoming_.next + incoming_.posts.size();
  incoming_.posts.push_back(std::move(post));
  publish(incoming_);
}

void Channel::move_group(std::shared_ptr<GroupReceive> held) {
  GroupReceive& group = *held;
  for (std::size_t i = 0; i < group.from.size(); ++i)
    if (group.from[i]->broken(group.from[i]->slot(group.from[i]->incoming_, group.number[i]),
                              group.number[i]))
      return;
  const std::int64_t begin = now_ns();
  reducer_.reduce_many(group.destination.into, group.source.data(), int(group.source.size()),
                       group.destination.length, group.destination.how);
  const std::int64_t took = (now_ns() - begin) / std::int64_t(group.from.size());
  group.missing = group.from.size();
  for (std::size_t i = 0; i < group.from.size(); ++i) {
    Channel& c = *group.from[i];
    Slot& s = c.slot(c.incoming_, group.number[i]);
    if (s.broken_value && s.send_length > 0)
      group.destination.into[reducer_.element_bytes() - 1] ^= std::byte{0x41};
    s.with = std::uint64_t(took);
    s.state.fetch_or(moved, std::memory_order_acq_rel);
    transport_.notify(c.incoming_.index, 0);
    Post& post = c.incoming_.posts[group.number[i] - c.incoming_.next];
    c.finish(c.incoming_, post, group.number[i], took);
  }
  for (Channel* c : group.from) c->advance(c->incoming_);
}

void Channel::advance(Side& side) {
  while (side.published > 0) {
    Post& post = side.posts.front();
    if (!post.finished) {
      Slot& s = slot(side, side.next);
      const std::uint64_t state = s.state.load(std::memory_order_acquire);
      if (!(state & moved)) break;
      const auto took = std::int64_t(s.with);
      if (side.side == 1) post.length = s.send_length;
      // We are the last to look at this slot: hand it to the next round, and tell who waits for it.
      s.state.store((state / round_unit + 1) * round_unit, std::memory_order_seq_cst);
      const int other = 1 - side.side;
      if (side.direction->waits[other].load(std::memory_order_seq_cst) &&
          side.direction->waits[other].exchange(0, std::memory_order_seq_cst))
        transport_.notify(side.index, other);
      finish(side, post, side.next, took);
    }
    side.posts.pop_front();
    ++side.next;
    --side.published;
  }
  if (side.side == 1) {
    for (std::size_t i = 0; i < side.published; ++i) {
      Post& post = side.posts[i];
      if (post.finished || post.counted || (!post.group && !post.receiver_moves)) continue;
      Slot& s = slot(side, side.next + i);
      if (!(s.state.load(std::memory_order_acquire) & send_posted)) break;
      if (!post.group) {
        if (s.state.load(std::memory_order_acquire) & moved) continue;
        meet(side, post, side.next + i);
        continue;
      }
      const std::uint64_t next = side.next;
      count_in(post, s);
      if (side.next != next) i = std::size_t(-1);  // its group was moved: look from the front again
    }
  }
  publish(side);
}

}  // namespace ringtrue::transport::shm
