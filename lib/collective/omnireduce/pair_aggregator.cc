#include "collective/omnireduce/pair_aggregator.h"

namespace ringtrue::collective {

PairAggregator::PairAggregator(Endpoint& self, const Call& call)
    : OmniAggregator(self, call),
      places_(call, self.rank()),
      element_bytes_(size_of(call.type)),
      merges_(slots_.size(), PairMerge(omni_.workers)),
      wanted_(slots_.size(), 0) {}

// As many pairs as a packet holds. Where there are more of them below the least next key of all workers, the
// first that is left is wanted next, of nobody.
void PairAggregator::finish_round(std::size_t index) {
  Slot& slot = slots_[index];
  merges_[index].merge(omni_.pairs, merged_);
  slot.parts.clear();
  if (!merged_.keys.empty()) {
    slot.parts.push_back(places_.result(index, slot.round, merged_.keys.size()));
    reduce(index, slot.parts.back());
    conclude(slot.parts.back());
  }
  if (packets_.wants_rounds()) report(index);
  wanted_[index] = merged_.wanted;
  slot.open = merged_.wanted != no_key;
  result_.kind = PairHeader::Kind::merged;
  result_.key_bytes = std::uint8_t(omni_.key_bytes);
  result_.start = {std::uint16_t(slot.stream), slot.round};
  result_.next = merged_.wanted;
  result_.keys = merged_.keys;
  encode(result_, slot.header);
}

void PairAggregator::reduce(std::size_t index, const Slice& result) {
  packets_.neutral(result);
  for (const Rank w : workers_) {
    const PairMerge::Merged::Taken& taken = merged_.of[std::size_t(w)];
    if (taken.places.empty()) continue;
    packets_.combine(result, taken.places, places_.sent(index, w, taken.first, taken.places.size()));
  }
}

// Neighbours that all workers have, or of which some have nothing, are done together.
void PairAggregator::conclude(const Slice& result) {
  const auto& present = merged_.present;
  for (std::size_t begin = 0; begin < present.size();) {
    const bool all = present[begin] == omni_.workers;
    std::size_t end = begin + 1;
    while (end < present.size() && (present[end] == omni_.workers) == all) ++end;
    packets_.conclude(
        {Space::scratch, result.offset + begin * element_bytes_, (end - begin) * element_bytes_},
        all ? 0 : omni_.workers - present[begin]);
    begin = end;
  }
}

void PairAggregator::report(std::size_t index) {
  RoundSeen round;
  round.stream = slots_[index].stream;
  round.round = slots_[index].round;
  round.keys = merged_.keys;
  round.wanted = {merged_.wanted};
  round.present = merged_.present;
  packets_.seen(round);
}

std::optional<PacketStart> PairAggregator::read(std::span<const std::byte> header) {
  if (!decode(header, packet_) || packet_.kind != PairHeader::Kind::pairs ||
      packet_.key_bytes != omni_.key_bytes) {
    return std::nullopt;
  }
  return packet_.start;
}

// With the key that the worker announced; or, where it is another worker's turn, with nothing.
bool PairAggregator::fits(std::size_t index, Rank from) const {
  const auto& keys = packet_.keys;
  if (!due(index, from)) {
    return omni_.acked && keys.empty() && packet_.next == merges_[index].next(from);
  }
  const std::uint32_t stream = slots_[index].stream;
  if (keys.size() > omni_.pairs || !shape_.owns(stream, keys)) return false;
  if (packet_.next != no_key && !shape_.owns(stream, {&packet_.next, 1})) return false;
  if (slots_[index].round == 0) return !keys.empty() || packet_.next == no_key;
  return !keys.empty() && keys.front() == wanted_[index];
}

void PairAggregator::put(std::size_t index, Rank from, std::vector<PacketPart>& parts) {
  if (packet_.keys.empty()) return;
  parts.push_back({places_.sent(index, from, 0, packet_.keys.size()), false});
}

void PairAggregator::take(std::size_t index, Rank from) {
  if (due(index, from)) merges_[index].add(from, packet_.keys, packet_.next);
}

}  // namespace ringtrue::collective
