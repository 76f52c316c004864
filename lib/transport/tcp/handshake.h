// How a data connection proves that it belongs to the run. Both ends know the lease's secret; it never
// crosses the wire.
//
//   connector -> acceptor   Hello       who calls whom on which lane, and a nonce
//   acceptor  -> connector  Challenge   a nonce, and HMAC-SHA256(secret, "acceptor" hello nonce)
//   connector -> acceptor   Proof       HMAC-SHA256(secret, "connector" hello nonce)
//   acceptor  -> connector  Welcome     one byte
//
// Pure functions on bytes, so that they can be tested and fuzzed without sockets.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "collective/endpoint.h"

namespace ringtrue::transport::tcp {

// A rank's place in a lease, the same in all of its runs.
struct SeatId {
  std::uint32_t node = 0;
  std::uint32_t local = 0;
  auto operator<=>(const SeatId&) const = default;
};

using Nonce = std::array<std::byte, 16>;
using Mac = std::array<std::byte, 32>;

struct Hello {
  SeatId from, to;
  collective::Lane lane = 0;
  Nonce nonce{};
};

struct Challenge {
  Nonce nonce;
  Mac mac;
};

inline constexpr std::size_t hello_bytes = 44, challenge_bytes = sizeof(Challenge), proof_bytes = 32,
                             welcome_bytes = 1;
inline constexpr std::byte welcome{'W'};

std::array<std::byte, hello_bytes> encode(const Hello& hello);
std::optional<Hello> decode_hello(std::span<const std::byte, hello_bytes> bytes);

Nonce make_nonce();
Mac acceptor_proof(const std::string& secret, const Hello& hello, const Nonce& nonce);
Mac connector_proof(const std::string& secret, const Hello& hello, const Nonce& nonce);
bool equal(std::span<const std::byte> a, std::span<const std::byte> b);  // in constant time

}  // namespace ringtrue::transport::tcp
