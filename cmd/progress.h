// One line on standard error that is written over and over, where standard error is a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/phase.h"
#include "base/result.h"
#include "base/units.h"
#include "cmd/flags.h"
#include "operator/progress.h"
#include "operator/setup.h"

namespace ringtrue::cmd {

// Off by default. From any thread.
void allow_progress(bool on);
void show_progress(std::string_view text);
void clear_progress();

// For tests of what happens when something breaks at a given moment: wait before a phase of a run, or before
// a stage of a check.
struct Pause {
  Phase phase{};
  std::optional<diagnosis::Stage> stage{};
  Seconds time;
};
Flag pause_flag(std::optional<Pause>& pause);  // --pause connect=3

// Of a use case: shows how it goes on, and ends it at the first signal.
ops::Control control(const std::optional<Pause>& pause);

}  // namespace ringtrue::cmd
