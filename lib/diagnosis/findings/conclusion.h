// How a conclusion is reached, in three files: findings.cc names the slow sides and paths, fabric_findings.cc
// parts of the fabric and nodes that answer late or not at all, inconclusive.cc what could not be told, and
// the verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/findings/findings.h"
#include "diagnosis/infer/attribute.h"

namespace ringtrue::diagnosis {

// What one finding stands for: one suspect, or both sides of a node, or paths that share a part.
using Group = std::vector<const Suspect*>;

class Conclusion {
 public:
  Conclusion(const Measured& c, Diagnosis& out)
      : c_(c),
        out_(out),
        reference_(c.inference.reference.rate),
        parts_(c.structure, c.readings, c.seen.across, c.inference) {}
  void run();

 private:
  const std::string& node(int i) const { return out_.nodes[std::size_t(i)]; }

  void fill_rates();
  void fill_rail_rates();
  std::vector<Group> groups() const;
  bool is_of_a_nic(const Suspect& path) const;
  std::vector<Quantity> readings_of(const Suspect& suspect) const;
  void add_evidence(const Suspect& suspect, Finding& finding) const;
  void add_causes(const Suspect& suspect, Finding& finding) const;
  bool was_fine_meanwhile(Side side, const Suspect& s) const;
  void add_other_side(const Suspect& suspect, Finding& finding) const;
  void add_finding(const Group& group);
  void add_parts();
  void add_dead();
  void add_late();
  void name_rails(const Group& group, Finding& finding) const;
  void add_rails(Finding& finding) const;
  Statement next(const Scope& scope) const;
  Severity severity(double ratio) const;

  void add_fleet();
  void add_of_all(Finding f);
  void add_generations();
  std::optional<double> slower_than_declared() const;  // a generation: its rate, bytes/s
  void add_others();
  void add_inconclusive();
  void add_held_back();
  void decide();
  bool may_be_faulty();
  bool ring_is_slow();
  void add_scattered_ring();
  bool ring_is_faster();

  const Measured& c_;
  Diagnosis& out_;
  const double reference_;
  const Parts parts_;
};

// "is slow at times, in 3 of 9 experiments"
std::string in_words(Course course, int low_runs, int all_runs);

// Whether the ring was slower than all links together explain: then the rate (bytes/s) that they have.
std::optional<double> slow_ring(const Evidence& seen, const Expected& expected, double reference,
                                const Thresholds& thresholds);

}  // namespace ringtrue::diagnosis
