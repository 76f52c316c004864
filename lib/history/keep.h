// What is kept for how long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "history/store.h"

namespace ringtrue::history {

struct Keep {
  double readings_days = 90;  // single readings and findings; what days had in sum is kept for ever
  double documents_days = 30;
  std::uint64_t max_bytes = 512 << 20;  // of the file
};

struct Pruned {
  std::int64_t documents = 0, sessions = 0, readings = 0;  // dropped; sessions: those whose readings were
  std::int64_t days = 0;                                   // summed up
  std::uint64_t bytes_before = 0, bytes_after = 0;
  // Because of the size: what is younger than asked for and was dropped nevertheless. Never silent.
  std::int64_t documents_for_size = 0, sessions_for_size = 0;
  bool too_large = false;  // nothing is left that may be dropped
};

// Sums up the days that are over, then drops. In transactions that are short; what is done stays done.
Result<Pruned> prune(const Store& store, const Keep& keep, std::int64_t now_us);

// What the file keeps, where that was set for it; else the defaults.
Result<Keep> keep_of(const Store& store);
Result<void> set_keep(const Store& store, const Keep& keep);
// Whether a day has passed since the last time.
Result<bool> prune_is_due(const Store& store, std::int64_t now_us);

// All pages, indices and references. Empty: sound; else what is wrong, a line each, at most so many.
Result<std::vector<std::string>> verify(const Store& store, int most = 20);

}  // namespace ringtrue::history
