// What is asked of an omnireduce, and of data in which much is zero; run and simulate share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"
#include "base/units.h"
#include "collective/sparse.h"
#include "collective/types.h"
#include "operator/call_request.h"

namespace ringtrue::ops {

enum class Placement { dedicated, colocated };
enum class FormatRequest { block, pairs, automatic };

struct OmniRequest {
  std::optional<std::uint32_t> block, streams, fusion;
  std::optional<int> aggregators, mtu;
  std::optional<Placement> placement;
  std::optional<std::string> aggregator_hosts;
  std::optional<FormatRequest> format;  // blocks if not given
  std::optional<int> key_bytes;         // of pairs: 4 or 8
  bool acked = false;
  bool no_ring = false;
  // Of the data, for every algorithm.
  std::optional<double> density, value_density;
  std::optional<collective::Overlap> overlap;
  std::string input;  // a file's name; empty: generated data

  // Bad input: a flag that shapes an omnireduce beside another algorithm.
  Result<void> check(AlgorithmRequest algorithm) const;
  bool generates() const { return density || value_density || overlap; }
  // Share of the blocks that hold something on any of so many workers. Unknown where single values or a file
  // decide.
  std::optional<double> united_density(collective::Rank workers) const;
};

// What a shape is chosen for where the flags leave it open.
struct OmniWorld {
  collective::Rank workers = 0, aggregators = 0;
  std::optional<BytesPerSecond> link_rate;  // of a node, one way
  std::optional<Seconds> round_trip;
  std::optional<Seconds> allowance;  // for hosts that are late; of a model, none are
  std::optional<double> density;     // of blocks, all workers' together
  bool datagrams = false;            // udp, or packets that may be lost
  std::uint32_t key_bytes = 0;       // of pairs; 0: blocks
  int mtu = 1500;                    // where --mtu says nothing
};

struct OmniChoice {
  collective::Omni omni;
  std::vector<std::string> reasons;  // a line for each number
  std::string note;                  // what differs from what was asked for; empty: nothing
};

// The flags where they speak, collective/omnireduce/tune.h for the rest. `call` says elements and type.
Result<OmniChoice> omni_of(const OmniRequest& flags, const collective::Call& call, const OmniWorld& world);

// The pattern of generated data. `block`: elements, of the omnireduce that it is for.
collective::Sparsity sparsity_of(const OmniRequest& flags, std::uint32_t block);

}  // namespace ringtrue::ops

namespace ringtrue {

template <>
inline constexpr const char* keys_of<ops::Placement>[] = {"dedicated", "colocated"};
template <>
inline constexpr const char* keys_of<ops::FormatRequest>[] = {"block", "pairs", "auto"};

}  // namespace ringtrue
