// Where the history is: flags of all commands that read or write it.
#pragma once

#include <optional>
#include <string>

#include "cmd/command.h"
#include "operator/history.h"

namespace ringtrue::cmd {

struct HistoryFlags {
  std::optional<std::string> file, fleet;

  Result<ops::HistoryPlace> place(const Context& context) const {
    return ops::history_place_needed(context.config, file, fleet);
  }
};

Flags history_flags(HistoryFlags& flags);
// --since 30d
Flag since_flag(std::optional<std::int64_t>& span_us, const std::string& help);
// Errors (bad_input): flags about nodes that are run on or asked; the history is a file.
Result<void> only_a_file(const Context& context);

}  // namespace ringtrue::cmd
