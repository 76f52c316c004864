// What is in the history. All lists are in the order in which things were recorded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/store.h"

namespace ringtrue::history {

struct Which {
  std::string fleet{};  // empty: all
  std::optional<std::int64_t> since_us{}, until_us{};
  std::optional<std::string> fingerprint{};
  bool accepted = false;               // those alone
  std::optional<std::int64_t> last{};  // so many, the latest
};

Result<std::vector<std::string>> fleets(const Store& store);
// In the order of their times, as all below.
Result<std::vector<Session>> sessions(const Store& store, const Which& which);
// By its number, its uuid or the beginning of that, or "last", of `fleet`. Errors (bad_input): none such, or
// several.
Result<Session> session(const Store& store, std::string_view name, std::string_view fleet);

// Of one session. The readings are gone when they are older than is kept (keep.h); so is the document (gzip;
// empty: none).
Result<std::vector<Reading>> readings(const Store& store, std::int64_t session);
Result<std::vector<Found>> findings(const Store& store, std::int64_t session);
Result<std::vector<Fact>> facts(const Store& store, std::int64_t session);
Result<std::string> document(const Store& store, std::int64_t session);

// What is known of a fleet; `node`: of that node, as far as it has a side of it. Sorted by key.
Result<std::vector<SubjectKey>> subjects(const Store& store, const std::string& fleet,
                                         const std::optional<std::string>& node = std::nullopt);
// One subject over time, where it was read: of the sessions that `which` names.
Result<std::vector<Point>> series(const Store& store, const SubjectKey& subject, Metric metric,
                                  const Which& which);
// Its days, for as long as there is a history.
Result<std::vector<Day>> days(const Store& store, const std::string& fleet, const SubjectKey& subject,
                              Metric metric, std::optional<std::int64_t> since_us = std::nullopt);

// Everything of one metric of all senders and receivers, session by session: for baselines.
struct SideReadings {
  Session session;
  std::vector<std::pair<std::int64_t, Reading>> sides;  // with the subject's number in the file
};
Result<std::vector<SideReadings>> side_readings(const Store& store, const Which& which);

Result<std::vector<Baseline>> baselines(const Store& store, const std::string& fleet, bool retired = false);
// `open`: those that are not over; otherwise all.
Result<std::vector<Regression>> regressions(const Store& store, const std::string& fleet, bool open = true);
Result<std::vector<Event>> events(const Store& store, const std::string& fleet,
                                  std::optional<std::int64_t> since_us = std::nullopt);

}  // namespace ringtrue::history
