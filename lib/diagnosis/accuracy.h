// How often diagnoses of cases whose faults are known were right, as values (lib/campaign counts them).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.h"
#include "diagnosis/findings/kinds.h"

namespace ringtrue::diagnosis {

// One finding of a case, a warning or worse.
struct Accusation {
  FindingKind kind{};
  double confidence = 0;  // that it said
  bool right = false;     // it touches a fault
};

// What was found in one case, whose faults are known.
struct CaseScore {
  int faults = 0;        // places that something is wrong with
  int found = 0;         // ... that a finding touches
  int findings = 0;      // findings, warnings and critical ones
  int wrong = 0;         // ... that touch no fault
  bool exact = false;    // every fault is named by its class, and nothing else is named
  bool covered = true;   // of a fault of single pairs: one of its pairs was measured
  int proven_after = 0;  // runs of the check after which all that touch a fault were proven; 0: none does
  std::vector<Accusation> accusations{};
};

// So many of so many, with its interval (base/statistics.h). nullopt: of none.
struct Rate {
  long count = 0, of = 0;

  void add(bool holds) { count += holds, ++of; }
  std::optional<double> value() const {
    return of > 0 ? std::optional(double(count) / double(of)) : std::nullopt;
  }
  std::optional<double> low() const { return of > 0 ? std::optional(wilson(count, of).low) : std::nullopt; }
  std::optional<double> high() const { return of > 0 ? std::optional(wilson(count, of).high) : std::nullopt; }
};

// What something cost, over cases.
struct Spread {
  int of = 0;  // nothing can be said of none
  double median = 0, p95 = 0, max = 0;
};

struct ScoreGroup {
  std::string_view name, summary;  // summary may be empty
  int cases = 0;
  Rate recall;           // of faulty cases: all their faults were found
  Rate scope_exact;      // of faulty cases: all were named exactly, and nothing else; see scope.h
  Rate false_positives;  // of healthy cases: there were findings
  Rate unknown;          // the check could not tell, in so many words, and there were no findings
  Spread runs, seconds, bytes;
  Spread proven;  // runs after which what was found was proven; the rest went to what else read low
};

// Of some findings, those that were right.
struct Precision {
  std::string name;
  Rate right;
};

struct Listed {
  std::uint64_t number = 0, seed = 0;
  std::string_view kind;
  int nodes = 0;
  double severity = 0;
};

struct Score {
  int cases = 0, healthy_cases = 0;
  Rate precision;  // of all findings, those that touch what is faulty
  ScoreGroup healthy;
  ScoreGroup single;                 // one fault that every pair of its place shows
  ScoreGroup hosts;                  // ... of a node or NIC, of 10 % and twice what healthy ports differ by
  ScoreGroup leaves;                 // ... of a leaf, of as much, where there are three and more
  ScoreGroup pairs;                  // one fault of single pairs
  ScoreGroup covered;                // ... of which the check measured one
  double coverage = 0;               // of all ordered pairs, that those checks declare: the mean
  ScoreGroup two, three;             // faults at once
  std::vector<ScoreGroup> by_kind;   // in the order of kinds(), those that occur
  std::vector<ScoreGroup> by_nodes;  // of `healthy` and `single`
  std::vector<ScoreGroup> by_severity;                   // of `single`
  std::vector<Precision> by_finding, by_confidence;      // what it says, and how sure it says to be
  std::vector<Listed> missed, inexact, false_positives;  // inexact: found, and not missed
};

}  // namespace ringtrue::diagnosis
