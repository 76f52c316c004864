// Inspection: rules over facts, before anything is measured. Each rule looks for one thing that is not as it
// should be, and says with what evidence, what that costs and what to do. docs/rules.md has an entry for
// each.
//
// A rule applies only where its hardware is. Where its hardware is and a fact that it needs is unknown, it
// says so in not_checked. An idle or virtual device is no fault, and neither is what all of a fleet have
// alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/findings/report.h"
#include "run/inspect_thresholds.h"
#include "topology/model.h"

namespace ringtrue::diagnosis {

struct Inspection {
  std::vector<Finding> findings;  // worst first
  std::vector<NotChecked> not_checked;
  std::vector<FindingKind> rules;   // those that applied
  std::vector<std::string> unread;  // nodes that told neither of PCI nor of network devices: not judged
};

// What a rule sees and says. Rules are plain functions in tables, one file a family (rules_pci.cc, ...).
class RuleContext;

struct Rule {
  FindingKind kind;   // of its findings
  Severity severity;  // the gravest that it gives
  ScopeType type;     // what it is about, mostly
  void (*look)(RuleContext& context);
};

std::span<const Rule> rules();

Inspection inspect(const topology::Cluster& cluster, const run::InspectThresholds& thresholds = {});

}  // namespace ringtrue::diagnosis
