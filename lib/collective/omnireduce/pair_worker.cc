#include "collective/omnireduce/pair_worker.h"

#include <algorithm>

namespace ringtrue::collective {

PairWorker::PairWorker(Endpoint& self, const Call& call)
    : OmniWorker(self, call), places_(call, self.rank()), lists_(used_) {
  for (std::uint32_t j = 0; j < used_; ++j) lists_[j].rows = shape_.rows_of(j, 0);
}

// Block by block, until a packet is full and the key after it is known. All that is searched comes before
// that key, so no result is in a block that was not.
bool PairWorker::search(std::uint32_t index) {
  List& list = lists_[index];
  const std::uint64_t known = non_zero_.known();
  for (; list.row < list.rows && list.found.size() <= omni_.pairs; ++list.row) {
    const std::uint64_t block = shape_.block(index, 0, list.row);
    if (block >= known) return false;
    if (non_zero_[block]) non_zero_.values(block, list.found);
  }
  return true;
}

bool PairWorker::seek_next(std::uint32_t index) {
  lists_[index].sought = !search(index);
  return !lists_[index].sought;
}

void PairWorker::look_at(std::uint64_t, std::uint64_t) {
  for (std::uint32_t index = 0; index < used_; ++index) {
    if (!lists_[index].sought || !search(index)) continue;
    lists_[index].sought = false;
    found(index);
  }
}

std::span<const std::byte> PairWorker::compose(std::uint32_t index, bool mine, std::vector<Slice>& parts) {
  List& list = lists_[index];
  composed_.kind = PairHeader::Kind::pairs;
  composed_.key_bytes = std::uint8_t(omni_.key_bytes);
  composed_.start = {std::uint16_t(index), round(index)};
  composed_.keys.clear();
  if (mine) {
    const auto end =
        list.found.begin() + std::ptrdiff_t(std::min<std::size_t>(list.found.size(), omni_.pairs));
    composed_.keys.assign(list.found.begin(), end);
    list.found.erase(list.found.begin(), end);
    list.next = list.found.empty() ? no_key : list.found.front();
  }
  composed_.next = list.next;
  if (!composed_.keys.empty()) {
    parts.push_back(places_.outgoing(index, composed_.keys.size()));
    packets_.collect(parts.back(), composed_.keys);
    packets_.counts().pairs += composed_.keys.size();
  }
  encode(composed_, header_);
  return header_;
}

std::optional<PacketStart> PairWorker::read(std::span<const std::byte> header) {
  if (!decode(header, packet_) || packet_.kind != PairHeader::Kind::merged ||
      packet_.key_bytes != omni_.key_bytes) {
    return std::nullopt;
  }
  return packet_.start;
}

bool PairWorker::fits(std::uint32_t index) const {
  const List& list = lists_[index];
  const auto& keys = packet_.keys;
  if (keys.size() > omni_.pairs || packet_.next > list.next || !shape_.owns(index, keys)) return false;
  if (packet_.next != no_key && !shape_.owns(index, {&packet_.next, 1})) return false;
  // What was wanted is there. In the first round it is whatever comes first, if anything does.
  if (round(index) == 0) return !keys.empty() || packet_.next == no_key;
  return !keys.empty() && keys.front() == list.wanted;
}

void PairWorker::put(std::uint32_t, Rank from, std::vector<PacketPart>& parts) {
  if (!packet_.keys.empty()) parts.push_back({places_.incoming(from, packet_.keys.size()), false});
}

bool PairWorker::take(std::uint32_t index, Rank from) {
  const auto& keys = packet_.keys;
  if (!keys.empty()) packets_.distribute(keys, places_.incoming(from, keys.size()));
  lists_[index].wanted = packet_.next;
  return packet_.next != no_key;
}

}  // namespace ringtrue::collective
