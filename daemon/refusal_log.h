// What is logged of clients that were refused or dropped: so few lines that nobody can fill a log.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/log.h"
#include "daemon/connections.h"

namespace ringtrue::daemon {

// Whether another line about this source may be written; those that may not are counted, and told of later.
bool may_log_refusal(const std::string& source_key);

template <class... Args>
void log_refusal(const Source& source, fmt::format_string<Args...> format, Args&&... args) {
  if (may_log_refusal(source.key)) log_warn(format, std::forward<Args>(args)...);
}

}  // namespace ringtrue::daemon
