// Ctrl-C and SIGTERM, watched by a thread of their own.
//
// The first one ends the use case that goes on, so that everything is released in good order; where none can
// be ended so, or the command has not ended five seconds later, or at the second one, the process ends at
// once with exit code 3. What it held at daemons ends with it.
#pragma once

#include "operator/stop.h"

namespace ringtrue::cmd {

// Blocks the signals and starts the thread; before any other thread starts. SIGPIPE is ignored from here on.
void watch_signals();

// What the first signal asks for.
ops::Stop& stop();

}  // namespace ringtrue::cmd
