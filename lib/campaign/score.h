// How often a campaign's diagnosis was right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "campaign/campaign.h"

namespace ringtrue::campaign {

// So many of so many, with Wilson's score interval (Wilson 1927) at 95 %, which stays within 0..1 and is
// sound near its ends, where these shares lie. nullopt: of none.
struct Rate {
  long count = 0, of = 0;

  void add(bool holds) { count += holds, ++of; }
  std::optional<double> value() const;
  std::optional<double> low() const;
  std::optional<double> high() const;
};

// What something cost, over cases.
struct Spread {
  int of = 0;  // nothing can be said of none
  double median = 0, p95 = 0, most = 0;
};

struct Group {
  std::string_view name, summary;  // summary may be empty
  int cases = 0;
  Rate recall;             // of faulty cases: all their faults were found
  Rate scope_exact;        // of faulty cases: all were named exactly, and nothing else; see scope.h
  Rate false_accusations;  // of healthy cases: anything was accused
  Rate unknown;            // the check could not tell, in so many words, and accused nothing
  Spread runs, seconds, bytes;
  Spread proven;  // runs after which what was found was proven; the rest went to what else read low
};

struct Listed {
  std::uint64_t number = 0, seed = 0;
  std::string_view kind;
  int nodes = 0;
  double severity = 0;
};

struct Score {
  int cases = 0, healthy_cases = 0;
  Rate precision;  // of all accusations, those that touch what is faulty
  Group healthy;
  Group single;                                  // one fault that every pair of its place shows
  Group pairs;                                   // one fault of single pairs
  Group covered;                                 // ... of which the check measured one
  double coverage = 0;                           // of all ordered pairs, that those checks declare: the mean
  Group two, three;                              // faults at once
  std::vector<Group> by_kind;                    // in the order of kinds(), those that occur
  std::vector<Group> by_nodes;                   // of `healthy` and `single`
  std::vector<Group> by_severity;                // of `single`
  std::vector<Listed> missed, inexact, accused;  // inexact: found, and not missed; accused: healthy ones
};

Score score(const std::vector<Outcome>& outcomes);

}  // namespace ringtrue::campaign
