// (key, value) pairs of what is not zero: the header of their packets, where their values lie, and the
// merging of several workers' lists. A key is the index of an element.
//
//   u8 kind | u8 bytes of a key k | u16 stream | u32 round | next key | the packet's keys, rising
//
// Keys have k bytes, 4 or 8; all is little endian. A worker's packet holds its next pairs and says which key
// it has after them; without keys it is an answer of a worker that has nothing of what is wanted. A result
// holds the merged pairs and says which key is wanted next. All ones: none. The keys' values, in their order,
// are the packet's one part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/omnireduce/header.h"
#include "collective/omnireduce/omnireduce.h"

namespace ringtrue::collective {

inline constexpr std::uint64_t no_key = ~std::uint64_t(0);

struct PairHeader {
  enum class Kind : std::uint8_t { pairs = 3, merged = 4 };

  Kind kind = Kind::pairs;
  std::uint8_t key_bytes = 4;
  PacketStart start;
  std::uint64_t next = no_key;
  std::vector<std::uint64_t> keys;
};

constexpr std::uint64_t pair_header_bytes(std::uint32_t key_bytes, std::uint64_t pairs) {
  return 8 + key_bytes * (1 + pairs);
}
static_assert(pair_header_bytes(8, max_pairs) <= max_header_bytes);

void encode(const PairHeader& header, std::vector<std::byte>& into);

// False where the bytes are no header: another kind, a length that is none, keys that do not rise or are not
// below the next one. Whether they make sense otherwise is for the receiver to say.
bool decode(std::span<const std::byte> bytes, PairHeader& into);

// Where a rank keeps values of packets in its scratch.
class PairPlaces {
 public:
  PairPlaces(const Call& call, Rank rank);

  std::uint64_t scratch() const { return packets_ * packet_bytes_; }
  // A worker's.
  Slice outgoing(std::uint32_t stream, std::uint64_t pairs) const { return place(stream, 0, pairs); }
  Slice incoming(Rank aggregator, std::uint64_t pairs) const {
    return place(streams_ + std::uint64_t(aggregator - workers_), 0, pairs);
  }
  // An aggregator's: pairs `first` and following of a worker's packet, and the result of a round.
  Slice sent(std::size_t slot, Rank worker, std::uint64_t first, std::uint64_t pairs) const {
    return place(slot * std::uint64_t(workers_ + 2) + std::uint64_t(worker), first, pairs);
  }
  Slice result(std::size_t slot, std::uint32_t round, std::uint64_t pairs) const {
    return place(slot * std::uint64_t(workers_ + 2) + std::uint64_t(workers_) + round % 2, 0, pairs);
  }

 private:
  Slice place(std::uint64_t packet, std::uint64_t first, std::uint64_t pairs) const {
    return {Space::scratch, packet * packet_bytes_ + first * element_, pairs * element_};
  }
  Rank workers_;
  std::uint64_t element_, packet_bytes_, streams_ = 0, packets_ = 0;
};

// What all workers have sent of one stream and was not merged yet.
class PairMerge {
 public:
  explicit PairMerge(Rank workers) : lists_(std::size_t(workers)) {}

  // The worker's next pairs, all of whose earlier ones have been merged, and the key that it has after them.
  void add(Rank worker, std::span<const std::uint64_t> keys, std::uint64_t next);
  // The key that the worker has after all that it sent; 0 before its first packet.
  std::uint64_t next(Rank worker) const { return lists_[std::size_t(worker)].next; }

  struct Merged {
    std::vector<std::uint64_t> keys;
    std::vector<Rank> present;  // by key: how many workers have it
    struct Taken {
      std::uint32_t first = 0;            // of the worker's last packet
      std::vector<std::uint32_t> places;  // of the following ones among `keys`
    };
    std::vector<Taken> of;          // by worker
    std::uint64_t wanted = no_key;  // the least key that is left, here or with a worker
  };
  // Takes at most `most` keys, rising, of those below the least next key of all workers.
  void merge(std::uint64_t most, Merged& into);

 private:
  struct List {
    std::vector<std::uint64_t> keys;
    std::size_t merged = 0;
    std::uint64_t next = 0;
  };
  struct Head {
    std::uint64_t key;
    Rank worker;
    bool operator>(const Head& other) const { return key > other.key; }
  };
  std::vector<List> lists_;
  std::vector<Head> heads_;  // a heap, the least key on top
};

}  // namespace ringtrue::collective
