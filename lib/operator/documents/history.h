// What the history has to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "history/types.h"
#include "operator/documents/trouble.h"

namespace ringtrue::ops {

// Which file, and which of its fleets.
struct HistoryPlace {
  std::string file, fleet;
};

// One subject over time.
struct HistorySeries {
  history::SubjectKey subject;
  history::Metric metric = history::Metric::rate;
  std::vector<history::Point> points;
  std::vector<history::Day> days;  // before the first of the points
  std::optional<history::Baseline> baseline;
  std::optional<history::Since> since;  // where it is low now
};

// `history`: what there is of a fleet, or of a node.
struct HistoryDocument {
  HistoryPlace place;
  std::string remark;  // why the file is only read
  std::optional<std::string> node;
  std::int64_t since_us = 0, now_us = 0;
  std::vector<history::Session> sessions;
  std::vector<HistorySeries> series;
  std::vector<history::Regression> regressions;
  std::vector<history::Event> events;
};

// `history show`
struct SessionDocument {
  HistoryPlace place;
  history::Session session;
  std::vector<history::Reading> readings;
  std::vector<history::Found> findings;
  std::vector<history::Fact> facts;
  std::string document;  // its JSON, where it is still kept
};

// `history compare`
struct CompareDocument {
  struct Rate {
    history::SubjectKey subject;
    history::Metric metric = history::Metric::rate;
    Maybe before, after;
  };
  struct Change {  // of a fact; empty: it was not there
    history::Fact fact;
    std::string before;
  };
  HistoryPlace place;
  history::Session before, after;
  std::vector<Rate> rates;  // those that differ by 2 % and more, or are known of one alone; the most first
  double level = 1;         // median of after / before
  int alike = 0;            // rates that do not differ
  std::vector<Change> facts;
  std::vector<history::Found> gone, come;  // findings
  bool same_fingerprint = true;
};

// `history import`
struct ImportDocument {
  struct Row {
    std::string file;
    std::optional<std::int64_t> session;
    std::string detail;  // why not; empty: it was taken
    bool known = false;  // it had been recorded or imported before
  };
  HistoryPlace place;
  std::vector<Row> rows;
};

struct PruneDocument {
  HistoryPlace place;
  history::Keep keep;
  history::Pruned pruned;
};

struct VerifyDocument {
  HistoryPlace place;
  std::string remark;
  std::int64_t sessions = 0;
  std::vector<std::string> wrong;
};

struct NoteDocument {
  HistoryPlace place;
  history::Event event;
  int concerned = 0;  // regressions
};

// `baseline list|set|retire`
struct BaselineDocument {
  HistoryPlace place;
  std::vector<history::Baseline> baselines;
  std::vector<history::SetBaseline> set;
  std::optional<int> retired;
};

// `regressions`
struct RegressionsDocument {
  HistoryPlace place;
  std::string remark;
  std::vector<history::Regression> regressions;
};

// Of a check: what it means beside those before it.
struct Remembered {
  HistoryPlace place;
  int baselines = 0;
  Maybe level;
  std::vector<history::Regression> regressions;  // open after it
  std::vector<history::Regression> ended;        // by it
  std::vector<history::SubjectKey> better;
};

}  // namespace ringtrue::ops
