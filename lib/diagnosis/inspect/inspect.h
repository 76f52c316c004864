// Inspection: rules over facts, before anything is measured. Each rule looks for one thing that is not as it
// should be, and says with what evidence, what that costs and what to do. docs/rules.md has an entry for
// each.
//
// A rule applies only where its hardware is. Where its hardware is and a fact that it needs is unknown, it
// says so in not_checked. An idle or virtual device is no fault, and neither is what all of a fleet have
// alike.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/findings/report.h"
#include "topology/model.h"

namespace ringtrue::diagnosis {

// FACTS of the field's practice; [inspect] of the configuration overrides them by these names.
struct InspectThresholds {
  double symbol_error_per_s = 10;          // warning above
  double symbol_error_per_hour = 120;      // critical above
  double link_error_recovery_per_min = 5;  // warning above
  double port_rcv_errors_per_s = 10;
  double port_xmit_discards_per_s = 100;
  double carrier_changes = 2;         // in the window
  double pci_correctable_per_s = 10;  // warning above
  double nvlink_crc_per_s = 100;      // critical from
  double memlock_bytes = 1 << 30;     // a soft limit below this is too low to register memory
  double pci_warning = 0.95;          // of the link's own maximum
  double pci_critical = 0.51;         // half of it, or less
  double majority = 0.5;              // more than this share of the nodes agree: a majority
};
// By the names above: for the configuration and for docs. Setting one that does not exist is bad_input.
std::vector<std::pair<std::string, double>> list(const InspectThresholds& thresholds);
Result<void> set(InspectThresholds& thresholds, std::string_view name, double value);

struct Inspection {
  std::vector<Finding> findings;  // worst first
  std::vector<NotChecked> not_checked;
  std::vector<FindingKind> rules;   // those that applied
  std::vector<std::string> unread;  // nodes that told neither of PCI nor of network devices: not judged
};

// What a rule sees and says. Rules are plain functions in tables, one file a family (rules_pci.cc, ...).
class RuleContext;

struct Rule {
  FindingKind kind;        // of its findings
  Severity severity;       // the gravest that it gives
  ScopeType type;          // what it is about, mostly
  std::string_view title;  // "PCIe link below its own maximum"
  void (*look)(RuleContext& context);
};

std::span<const Rule> rules();

Inspection inspect(const topology::Cluster& cluster, const InspectThresholds& thresholds = {});

}  // namespace ringtrue::diagnosis
