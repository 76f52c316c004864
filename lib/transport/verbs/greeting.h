// What the two ends of a hop tell each other before its queue pairs can be connected. It travels over the
// hop's control connection: the TCP connection that the hop's two ends proved themselves on, which stays open
// as long as the hop is used and tells at once when the other process is gone.
//
//   offer      each end      Greeting: its rails, queue pairs and ring, or why it has no RDMA
//   ready      each end      one byte, once its queue pairs can receive
//
// Pure functions on bytes, so that they can be tested and fuzzed without devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {

struct Greeting {
  // Of one rail: where its queue pairs are reached, and the ring's key on its device.
  struct Rail {
    std::string name;  // "mlx5_0:1", for errors
    LinkLayer layer = LinkLayer::infiniband;
    std::uint16_t lid = 0;
    bool global = false;
    std::array<std::byte, 16> gid{};
    std::uint16_t mtu = 0;  // bytes
    std::uint32_t ring_key = 0;
    struct Number {
      std::uint32_t queue_pair = 0, packet_sequence = 0;  // 24 bits each
    };
    std::vector<Number> queue_pairs;
  };
  std::string why_not;  // not empty: no RDMA here, and nothing below
  std::vector<Rail> rails;
  std::uint64_t ring_address = 0;
  std::uint32_t slots = 0, slot_bytes = 0;
};

inline constexpr std::uint32_t slot_unit = 64;          // slots are multiples of it
inline constexpr std::uint32_t number_bits = 0xffffff;  // of queue pairs and packets
inline constexpr std::size_t max_greeting = 64 * 1024;
std::vector<std::byte> encode(const Greeting& greeting);
// nullopt: not what encode() makes, or beyond what settings allow.
std::optional<Greeting> decode(std::span<const std::byte> bytes);

// Which rails are connected, as indices of ours and theirs, by ours; the same from either end. Those of one
// name (on InfiniBand, in one subnet) first, then those in one subnet, those of one name, and what is left in
// its order, as far as it can be connected.
std::vector<std::pair<std::size_t, std::size_t>> pair_rails(const Greeting& ours, const Greeting& theirs);

// How packets leave for the rail `to`: by GID where either end needs it or a router is between them, whose
// LID (FLID) is then part of the GID.
struct Route {
  bool global = false;
  std::uint16_t lid = 0;
};
Route route(const Greeting::Rail& from, const Greeting::Rail& to);

// Why these two cannot be connected, rails paired as above; empty: they can. In words for the operator, who
// sees both nodes' names beside it.
std::string mismatch(const Greeting& ours, const Greeting& theirs);

// Where a rail of theirs is that ours would send to outside of these networks, for whom they are told by
// another node: "8.8.8.8 (mlx5_0:1), outside of this node's networks (10.0.0.0/8)"; empty: nowhere. What is
// of a link or of a fabric without IP has to be of the subnet of our rail, or routed by the fabric itself.
std::string outside(const Greeting& ours, const Greeting& theirs, const std::vector<IpNetwork>& networks);

}  // namespace ringtrue::transport::verbs
