// The health check: verdict, findings, and what it began with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/findings/report.h"
#include "history/types.h"
#include "operator/documents/events.h"
#include "operator/documents/history.h"
#include "operator/documents/trouble.h"
#include "run/reach.h"

namespace ringtrue::ops {

// The inspection that a check began with, or was all of it.
struct Inspected {
  std::vector<diagnosis::FindingKind> rules;  // that applied
  double seconds = 0;
};

struct CheckDocument {
  diagnosis::Diagnosis diagnosis;
  std::optional<Inspected> inspection;
  std::string transport;
  std::vector<run::Network> networks;  // that TCP's data goes over; empty where all is on one machine
  std::vector<std::string> notes;      // why it was not RDMA
  std::vector<NodeEvent> events{};     // what devices did in the hour before
  double warning = 0.95, critical = 0.85;
  std::optional<Deadlines> deadlines;  // where daemons are concerned
  std::optional<Trouble> error;
  std::int64_t started_us = 0;           // wall clock; 0: unknown
  std::vector<history::Fact> facts;      // of the nodes, such as change seldom
  std::optional<Remembered> remembered;  // where checks are recorded
};

}  // namespace ringtrue::ops
