// Wall-clock times as people and programs write them, always UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue::history {

std::string minute_text(std::int64_t us);                   // "2026-11-18 14:02"
std::string day_text(std::int64_t us);                      // "2026-11-18"
std::string rfc3339(std::int64_t us);                       // "2026-11-18T14:02:07Z"
Result<std::int64_t> parse_rfc3339(std::string_view text);  // the same, of UTC alone

// "30d", "12h", "90m", "2w": microseconds. Errors: bad_input.
Result<std::int64_t> parse_span(std::string_view text);
// "1 d", "12 h": for sentences.
std::string span_text(std::int64_t us);

}  // namespace ringtrue::history
