#include "collective/omnireduce/aggregator.h"

#include <algorithm>
#include <string>

namespace ringtrue::collective {

OmniAggregator::OmniAggregator(Endpoint& self, const Call& call)
    : self_(self), packets_(*self.packets()), omni_(call.omni), shape_(call), reliable_(packets_.reliable()) {
  for (Rank w = 0; w < omni_.workers; ++w) workers_.push_back(w);
  std::vector<std::uint32_t> mine;
  for (std::uint32_t j = 0; j < shape_.streams() && shape_.columns_of(j) > 0; ++j) {
    if (shape_.aggregator_of(j) == self.rank()) mine.push_back(j);
  }
  slots_ = std::vector<Slot>(mine.size());
  seen_.resize(mine.size() * workers_.size(), 0);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    slots_[i].stream = mine[i];
    slots_[i].left = omni_.workers;
  }
  if (!reliable_) {
    heard_.resize(workers_.size(), packets_.now());
    ticker_ = std::make_unique<Ticker>(self, [this] { return look_for_silence(); });
  }
}

Task OmniAggregator::run() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    clear(i);
    if (!reliable_) slots_[i].began = packets_.now();
  }
  packets_.handle(this);
  if (ticker_) ticker_->start(silence);
  if (omni_.acked) {
    for (const Rank w : workers_) farewells_.push_back(self_.receive(w, farewell_lane, Slice{}));
  }
  {
    Group all;
    for (std::size_t i = 0; i < slots_.size(); ++i) all.add(serve(i));
    co_await all;
  }
  // Until then a worker may still ask for the last result of a slot.
  for (const Token token : farewells_) co_await self_.wait(token);
  packets_.handle(nullptr);
  for (Slot& slot : slots_) {
    for (const Token token : slot.sent) co_await self_.wait(token);
    for (const auto& again : slot.again) co_await self_.wait(again.second);
  }
  if (ticker_) {
    const Task stopped = ticker_->stop();
    co_await stopped;
  }
}

// Round by round: when every worker that has some of what is wanted has sent it, send the result to all and
// say what is wanted next.
Task OmniAggregator::serve(std::size_t index) {
  Slot& slot = slots_[index];
  for (std::uint64_t rounds = 1; slot.open; ++rounds) {
    co_await slot.complete.reaches(rounds);
    finish_round(index);
    const std::uint32_t round = slot.round++;
    if (slot.open) {
      // Who gets this result may answer at once, into the version that holds the result before it. All who
      // had to have that one have answered it.
      const Token before = slot.sent[slot.round % 2];
      co_await self_.wait(before);
      for (const auto& again : slot.again) co_await self_.wait(again.second);
      slot.again.clear();
      clear(index);
    }
    begin_round(index);
    expect_packets(index);
    send_result(slot, round);
    if (slot.open && slot.left == 0) complete(slot);
  }
}

void OmniAggregator::expect_packets(std::size_t index) {
  Slot& slot = slots_[index];
  slot.left = 0;
  for (const Rank w : workers_) {
    seen_[seen_at(index, w)] = 0;
    if (slot.open && (omni_.acked || due(index, w))) ++slot.left;
  }
  if (!reliable_) slot.began = packets_.now();
  slot.collecting = true;
}

void OmniAggregator::complete(Slot& slot) {
  slot.collecting = false;
  slot.complete.raise();  // the program may end in it
}

void OmniAggregator::send_result(Slot& slot, std::uint32_t round) {
  ++packets_.counts().multicasts;
  slot.sent[round % 2] = packets_.send_packet(workers_, slot.header, slot.parts);
}

void OmniAggregator::send_again(Slot& slot, Rank to) {
  const auto last =
      std::find_if(slot.again.begin(), slot.again.end(), [to](const auto& sent) { return sent.first == to; });
  if (last != slot.again.end() && !self_.done(last->second)) return;  // it is on its way
  ++packets_.counts().resent;
  const Token token = packets_.send_packet({&to, 1}, slot.header, slot.parts);
  if (last != slot.again.end()) {
    last->second = token;
  } else {
    slot.again.emplace_back(to, token);
  }
}

Placed OmniAggregator::reject() {
  if (reliable_) return Placed::broken;
  ++packets_.counts().dropped;
  return Placed::dropped;
}

Placed OmniAggregator::place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) {
  const std::optional<PacketStart> packet = read(header);
  if (!packet || packet->stream >= shape_.streams() || shape_.columns_of(packet->stream) == 0 ||
      shape_.aggregator_of(packet->stream) != self_.rank() || from < 0 || from >= omni_.workers) {
    return reject();
  }
  const std::size_t index = index_of(packet->stream);
  Slot& slot = slots_[index];
  if (!reliable_) {
    heard_[std::size_t(from)] = packets_.now();
    // A packet of the round before: this worker has not got the result.
    if (slot.collecting && slot.round > 0 && packet->round == slot.round - 1) send_again(slot, from);
  }
  if (!slot.open || !slot.collecting || packet->round != slot.round || seen_[seen_at(index, from)] ||
      !fits(index, from)) {
    return reject();
  }
  seen_[seen_at(index, from)] = 1;
  put(index, from, parts);
  return Placed::accepted;
}

void OmniAggregator::arrived(Rank from, std::span<const std::byte> header) {
  const std::size_t index = index_of(read(header)->stream);
  take(index, from);
  if (--slots_[index].left == 0) complete(slots_[index]);
}

Rank OmniAggregator::waiting_for() const {
  std::vector<std::uint32_t> owed(workers_.size(), 0);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].open || !slots_[i].collecting) continue;
    for (const Rank w : workers_) owed[std::size_t(w)] += missing(i, w);
  }
  const auto max_owed = std::max_element(owed.begin(), owed.end());
  if (*max_owed > 0) return Rank(max_owed - owed.begin());
  for (std::size_t w = 0; w < farewells_.size(); ++w) {
    if (!self_.done(farewells_[w])) return Rank(w);
  }
  return -1;
}

Seconds OmniAggregator::look_for_silence() {
  const Seconds now = packets_.now();
  const Rank silent = given_up_ ? -1 : silent_worker(now);
  if (silent >= 0) {
    given_up_ = true;
    packets_.give_up(silent, "the worker has sent nothing for " + to_text(silence));
  }
  return silence * 0.125;
}

// A worker that a round waits for. If nobody at all is heard, it is this rank that is cut off, and no worker
// is to blame.
Rank OmniAggregator::silent_worker(Seconds now) const {
  const auto quiet = [&](Rank w, Seconds since) {
    return now - std::max(heard_[std::size_t(w)], since) > silence;
  };
  const bool heard = std::any_of(workers_.begin(), workers_.end(),
                                 [&](Rank w) { return now - heard_[std::size_t(w)] < silence * 0.5; });
  if (!heard) return -1;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].open || !slots_[i].collecting) continue;
    for (const Rank w : workers_) {
      if (missing(i, w) && quiet(w, slots_[i].began)) return w;
    }
  }
  return -1;
}

}  // namespace ringtrue::collective
