// The history's use cases: what checks before have shown, what is usual, and what fell.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "history/keep.h"
#include "operator/documents/check.h"
#include "operator/documents/history.h"

namespace ringtrue::ops {

// Of flags, else of the configuration, else the usual file. nullopt: there is to be none, or no home is
// known.
std::optional<HistoryPlace> history_place(const config::Config& config,
                                          const std::optional<std::string>& file,
                                          const std::optional<std::string>& fleet);
// The same where one has to be named.
Result<HistoryPlace> history_place_needed(const config::Config& config,
                                          const std::optional<std::string>& file,
                                          const std::optional<std::string>& fleet);

// ---- of a check

struct RecordRequest {
  HistoryPlace place;
  std::string version;
  bool confirming = false;                   // it measured only what is suspected
  std::optional<std::string> fingerprint{};  // whose sessions it is held against; its own if not given
};
// Tells in the document what it means beside those before it: since when a finding stands, what is below its
// baseline. Writes nothing; a history that is not there yet says nothing.
Result<void> recall(const RecordRequest& request, CheckDocument& document);
// Stores it, with its JSON.
Result<void> record(const RecordRequest& request, const CheckDocument& document, const std::string& json);
// Both, and in between `tell`, in any case: whatever becomes of the history, the verdict stands and is told
// first. Nothing is kept of a check that measured nothing. An error says that it is not recorded, and why.
Result<void> remember(const RecordRequest& request, CheckDocument& document,
                      const std::function<void()>& tell, const std::function<std::string()>& json);

// Nodes to be measured again: of `asked`, else all that is suspected, with good ones as partners.
struct ConfirmPlan {
  std::vector<std::string> nodes;  // all of them
  std::string fingerprint;         // what they are held against
};
Result<ConfirmPlan> plan_confirmation(const HistoryPlace& place, const std::vector<std::string>& asked,
                                      const std::vector<std::string>& known);

// ---- of its own

struct HistoryRequest {
  HistoryPlace place;
  std::optional<std::string> node;
  std::int64_t span_us = std::int64_t(30) * 86'400'000'000;
};
Result<HistoryDocument> history(const HistoryRequest& request);
Result<SessionDocument> history_show(const HistoryPlace& place, const std::string& session);
Result<CompareDocument> history_compare(const HistoryPlace& place, const std::string& before,
                                        const std::string& after);
Result<ImportDocument> history_import(const HistoryPlace& place, const std::vector<std::string>& files,
                                      const std::string& version);
struct KeepRequest {  // not given: as it is
  std::optional<std::int64_t> readings_us, documents_us;
  std::optional<Bytes> max_size;
};
Result<PruneDocument> history_prune(const HistoryPlace& place, const KeepRequest& keep);
Result<VerifyDocument> history_verify(const HistoryPlace& place);
Result<NoteDocument> history_note(const HistoryPlace& place, const std::optional<std::string>& node,
                                  history::EventKind kind, const std::string& text);

enum class ExportFormat { openmetrics, csv };
// Piece by piece; `write` returns false when the output is closed.
Result<void> history_export(const HistoryRequest& request, ExportFormat format,
                            const std::function<bool(std::string_view)>& write);

struct BaselineRequest {
  HistoryPlace place;
  std::vector<std::string> nodes;  // empty: all
  int sessions = 20;
  std::optional<std::int64_t> span_us;  // none older
  std::string reason;
};
Result<BaselineDocument> baseline_list(const HistoryPlace& place, bool retired);
Result<BaselineDocument> baseline_set(const BaselineRequest& request);
Result<BaselineDocument> baseline_retire(const BaselineRequest& request);

// `states`: empty: all that are not over.
Result<RegressionsDocument> regressions(const HistoryPlace& place, const std::vector<history::State>& states);
// As check's: 2 where one is confirmed, 1 suspected, 0 none that is open.
int exit_code(const RegressionsDocument& document);

}  // namespace ringtrue::ops

namespace ringtrue {

template <>
inline constexpr const char* keys_of<ops::ExportFormat>[] = {"openmetrics", "csv"};

}  // namespace ringtrue
