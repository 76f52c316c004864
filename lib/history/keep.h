// What is kept for how long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "history/store.h"

namespace ringtrue::history {

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
