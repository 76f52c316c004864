// Cases of a campaign, each from a seed alone: a fabric, its noise, and what is wrong with it, if anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "campaign/nuisances.h"
#include "campaign/sim_measurer.h"
#include "campaign/weights.h"

namespace ringtrue::campaign {

// What a case is about. Faults of the first group are seen by every pair of some place's, those of paths by
// single pairs, so that how many are found depends on how many pairs a check measures.
struct Kind {
  enum class Group { healthy, place, pair, several };
  std::string_view name;     // "slow-out"
  std::string_view summary;  // one line
  Group group = Group::place;
  bool host = false;        // what a node's ports or program carry: the rate of one node or NIC
  bool named_only = false;  // drawn only where Limits::kinds has it
};
std::span<const Kind> kinds();
// By name. Errors: bad_input, with the names.
Result<const Kind*> find_kind(std::string_view name);

// How the fabrics of a campaign are drawn.
enum class Fabrics : std::uint8_t {
  plain,       // two levels, spines by a hash of addresses, 1:1 or 2:1, nodes in the order of their leaves
  leaf_spine,  // two levels, all ways to choose a spine, 1:1 to 8:1, nodes in any order
  varied       // and three levels, and trunks of 2 and 4 cables
};

struct Limits {
  int min_nodes = 2, max_nodes = 1024;
  double noise = 0.05;             // of a run and of a slice
  double busy = 0.25;              // of the cases, in which 5 % of the nodes send for others
  std::vector<const Kind*> kinds;  // faulty ones to draw from; empty: all
  Weights weights = Weights::field;
  double min_severity = 0.03, max_severity = 0.99;
  Fabrics fabrics = Fabrics::varied;
  Nuisances nuisances;
  Told told = Told::nothing;  // as a live check without flags
  double stale_routes = 0;    // the share of told tables' rows that are not in use any more
};

struct Case {
  std::uint64_t number = 0, seed = 0;
  const Kind* kind = nullptr;
  double severity = 0;  // share of what is lost, of the worst; 0: healthy, or a node that is dead
  double spread = 0;    // of healthy ports' rates: the standard deviation
  World world;
  std::optional<BytesPerSecond> link_rate;  // what the check is told
  std::vector<std::string> faults() const;  // as --fault takes them
  std::string text() const;                 // "7 nodes below one switch, 2 rails of 400 Gbit/s, ..."
};

// Whether there can be a kind's faults; never those of healthy ones. What that takes: "larger clusters".
bool fits(const Kind& kind, const Limits& limits);
std::string_view takes(const Kind& kind, const Limits& limits);

// The k-th case of a campaign: every second one is healthy. Two nodes to `most`, every doubling as likely as
// the next; half of those that are large enough below leaves and spines.
Case draw_case(std::uint64_t campaign_seed, std::uint64_t number, const Limits& limits);

}  // namespace ringtrue::campaign

namespace ringtrue {

template <>
inline constexpr const char* keys_of<campaign::Fabrics>[] = {"plain", "leaf-spine", "varied"};

}  // namespace ringtrue
