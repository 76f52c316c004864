// When a rank's data crosses between its GPU and the host in a call that the host plays: down before it is
// first sent or combined, up as soon as nothing writes it any more. Scratch stays where it is.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "collective/algorithm.h"

namespace ringtrue::engine {

struct Transfer {
  std::uint64_t offset = 0, length = 0;  // bytes of the rank's data
  auto operator<=>(const Transfer&) const = default;
};

// What a rank posts, told apart by what does not change with the order in which its tasks get on: the k-th
// message to or from a peer on a lane, the k-th copy to a place.
struct PostName {
  enum class Kind : std::uint8_t { send, receive, copy } kind = Kind::send;
  std::uint64_t where = 0;  // peer and lane, or space and offset
  auto operator<=>(const PostName&) const = default;

  static PostName send(collective::Rank to, collective::Lane lane) { return {Kind::send, hop(to, lane)}; }
  static PostName receive(collective::Rank from, collective::Lane lane) {
    return {Kind::receive, hop(from, lane)};
  }
  static PostName copy(const collective::Slice& into) {
    return {Kind::copy, into.offset << 1 | std::uint64_t(into.space)};
  }

 private:
  static std::uint64_t hop(collective::Rank peer, collective::Lane lane) {
    return std::uint64_t(peer) << 16 | lane;
  }
};

struct Transfers {
  struct Step {
    std::uint32_t first_need = 0, needs = 0;  // of `need`
    std::uint32_t first_up = 0, ups = 0;      // of `up`: what it is the last to write
  };
  std::vector<Step> steps;
  std::map<PostName, std::vector<std::uint32_t>> named;  // steps, by their k
  std::vector<Transfer> down, up;                        // each byte once
  std::vector<std::uint32_t> need;                       // of `down`
};

// For an algorithm that can be recorded.
Transfers transfers_of(const collective::Algorithm& algorithm, const collective::Layout& layout,
                       collective::Rank rank, const collective::Call& call);

// Bytes that have been seen before.
class Ranges {
 public:
  // Adds [offset, offset + length), and gives the parts of it that were not there.
  std::vector<Transfer> add(std::uint64_t offset, std::uint64_t length);
  // What is there, rising, no two that touch.
  std::vector<Transfer> all() const;
  void clear() { ends_.clear(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by begin; no two touch
};

}  // namespace ringtrue::engine
