// The rule (rule.h) over the file: baselines that are set, and what becomes of regressions as sessions come
// in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/rule.h"
#include "history/store.h"

namespace ringtrue::history {

struct Change {
  Regression now;
  std::optional<State> before;  // nullopt: it is new
};

// What a session means beside those before it.
struct Outlook {
  int baselines = 0;               // that it was held against
  std::optional<double> level;     // of the fleet
  std::vector<Change> changes;     // what is new, confirmed, withdrawn or over with it
  std::vector<Regression> open;    // all that are not over after it
  std::vector<SubjectKey> better;  // above their baselines: too low?
  bool together = false;
  int low = 0;  // sides
};

struct Following {
  bool confirming = false;  // it measured only what is suspected
};

// What it would mean; nothing is written.
Result<Outlook> foresee(const Store& store, const Record& record, const Following& how);

struct Added {
  std::int64_t session = 0;
  Outlook outlook;
};
// Stores it and what follows of it, all or nothing. nullopt: one of its uuid is there already. What is
// neither accepted nor judged is stored and changes nothing else, but for a confirming session.
Result<std::optional<Added>> record_session(const Store& store, Record record, const Following& how);

// ---- baselines

struct SetRequest {
  std::string fleet;
  std::optional<std::string> fingerprint;  // none: that of the latest accepted session
  std::vector<std::string> nodes;          // empty: all
  int sessions = 20;                       // at most so many, the latest
  std::optional<std::int64_t> since_us;    // and none before, such as a repair
  std::string who, reason;
};
// One that stands is retired, and what was open against it withdrawn. Errors (bad_input): no accepted
// session, no such node.
Result<std::vector<SetBaseline>> set_baselines(const Store& store, const SetRequest& request,
                                               std::int64_t now_us);
// How many.
Result<int> retire_baselines(const Store& store, const std::string& fleet,
                             const std::vector<std::string>& nodes, std::int64_t now_us);

// ---- what people say

// A repair ends what was open on its node: it is suspected anew if it is not good. An acknowledgement quiets
// it. How many regressions it concerned.
Result<int> add_event(const Store& store, const Event& event);

}  // namespace ringtrue::history
