// What makes healthy clusters differ from the textbook, each with a dial of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue::campaign {

// Shares, 0: none of it.
struct Nuisances {
  double spread = 0;        // ports differ for good: the standard deviation of their rates
  double declared = 0;      // the link rate that the check is told is off by up to this
  double generations = 0;   // of the nodes, whose NICs have half the rate; every second case: or a quarter
  double latency = 0;       // round trips are longer by up to this, each reading's by another share
  double lasting = 0;       // of the nodes, which send for others throughout
  double tails = 0;         // readings are low, with a heavy tail: see Noise::tail in flows.h
  double away = 0;          // of the time, faults are not there; a period lasts 0.5 to 64 seconds
  double retransmits = 0;   // of the packets, on healthy links
  double intermittent = 0;  // of the runs, faults are not there, each by a draw of its own

  bool operator==(const Nuisances&) const = default;
};

struct Dial {
  std::string_view name;
  double Nuisances::*value;
  double full;  // what the dial is at with "full"
  std::string_view summary;
};
std::span<const Dial> dials();

// "none", "half" or "full": all dials; or some: "spread=3%,lasting=5%". Errors: bad_input.
Result<Nuisances> parse_nuisances(std::string_view text);
std::string to_text(const Nuisances& nuisances);  // reads back as the same

}  // namespace ringtrue::campaign
