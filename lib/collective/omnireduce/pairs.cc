#include "collective/omnireduce/pairs.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace ringtrue::collective {

namespace {

// What stands before the keys.
struct PairStart {
  std::uint8_t kind, key_bytes;
  std::uint16_t stream;
  std::uint32_t round;
};
static_assert(sizeof(PairStart) == pair_header_bytes(0, 0));

template <class Key>
std::byte* put_key(std::byte* at, std::uint64_t key) {
  const auto narrow = Key(key);  // all ones stay all ones
  std::memcpy(at, &narrow, sizeof narrow);
  return at + sizeof narrow;
}

template <class Key>
std::uint64_t get_key(const std::byte* at) {
  Key key;
  std::memcpy(&key, at, sizeof key);
  return key == Key(no_key) ? no_key : key;
}

template <class Key>
void put_keys(const PairHeader& header, std::byte* at) {
  at = put_key<Key>(at, header.next);
  for (const std::uint64_t key : header.keys) at = put_key<Key>(at, key);
}

template <class Key>
bool get_keys(std::span<const std::byte> bytes, PairHeader& into) {
  if (bytes.size() % sizeof(Key) != 0 || bytes.empty()) return false;
  into.next = get_key<Key>(bytes.data());
  into.keys.resize(bytes.size() / sizeof(Key) - 1);
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < into.keys.size(); ++i) {
    const std::uint64_t key = get_key<Key>(bytes.data() + (1 + i) * sizeof(Key));
    if (key < least || key >= into.next) return false;
    into.keys[i] = key;
    least = key + 1;
  }
  return true;
}

}  // namespace

void encode(const PairHeader& header, std::vector<std::byte>& into) {
  const PairStart start{std::uint8_t(header.kind), header.key_bytes, header.start.stream, header.start.round};
  into.resize(pair_header_bytes(header.key_bytes, header.keys.size()));
  std::memcpy(into.data(), &start, sizeof start);
  std::byte* keys = into.data() + sizeof start;
  header.key_bytes == 4 ? put_keys<std::uint32_t>(header, keys) : put_keys<std::uint64_t>(header, keys);
}

bool decode(std::span<const std::byte> bytes, PairHeader& into) {
  PairStart start;
  if (bytes.size() < sizeof start) return false;
  std::memcpy(&start, bytes.data(), sizeof start);
  const bool known = start.kind == std::uint8_t(PairHeader::Kind::pairs) ||
                     start.kind == std::uint8_t(PairHeader::Kind::merged);
  if (!known || (start.key_bytes != 4 && start.key_bytes != 8)) return false;
  into.kind = PairHeader::Kind(start.kind);
  into.key_bytes = start.key_bytes;
  into.start = {start.stream, start.round};
  bytes = bytes.subspan(sizeof start);
  return start.key_bytes == 4 ? get_keys<std::uint32_t>(bytes, into) : get_keys<std::uint64_t>(bytes, into);
}

PairPlaces::PairPlaces(const Call& call, Rank rank)
    : workers_(call.omni.workers),
      element_(size_of(call.type)),
      packet_bytes_(call.omni.pairs * size_of(call.type)) {
  const OmniShape shape(call);
  std::uint64_t slots = 0;
  for (std::uint32_t j = 0; j < shape.streams() && shape.columns_of(j) > 0; ++j) {
    ++streams_;
    slots += shape.aggregator_of(j) == rank;
  }
  packets_ =
      rank < workers_ ? streams_ + std::uint64_t(call.omni.aggregators) : slots * std::uint64_t(workers_ + 2);
}

void PairMerge::add(Rank worker, std::span<const std::uint64_t> keys, std::uint64_t next) {
  List& list = lists_[std::size_t(worker)];
  list.keys.assign(keys.begin(), keys.end());
  list.merged = 0;
  list.next = next;
  if (keys.empty()) return;
  heads_.push_back({keys.front(), worker});
  std::push_heap(heads_.begin(), heads_.end(), std::greater());
}

void PairMerge::merge(std::uint64_t most, Merged& into) {
  into.keys.clear();
  into.present.clear();
  into.of.resize(lists_.size());
  std::uint64_t limit = no_key;
  for (std::size_t w = 0; w < lists_.size(); ++w) {
    limit = std::min(limit, lists_[w].next);
    into.of[w].first = std::uint32_t(lists_[w].merged);
    into.of[w].places.clear();
  }
  while (!heads_.empty() && heads_.front().key < limit) {
    const Head head = heads_.front();
    if (into.keys.empty() || into.keys.back() != head.key) {
      if (into.keys.size() == most) break;
      into.keys.push_back(head.key);
      into.present.push_back(0);
    }
    ++into.present.back();
    into.of[std::size_t(head.worker)].places.push_back(std::uint32_t(into.keys.size() - 1));
    std::pop_heap(heads_.begin(), heads_.end(), std::greater());
    List& list = lists_[std::size_t(head.worker)];
    if (++list.merged == list.keys.size()) {
      heads_.pop_back();
    } else {
      heads_.back().key = list.keys[list.merged];
      std::push_heap(heads_.begin(), heads_.end(), std::greater());
    }
  }
  into.wanted = heads_.empty() ? limit : std::min(limit, heads_.front().key);
}

}  // namespace ringtrue::collective
