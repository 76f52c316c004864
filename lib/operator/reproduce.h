// Commands to go on with, as they can be pasted into a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/findings/report.h"
#include "fleet/targets.h"

namespace ringtrue::ops {

// One line that a POSIX shell reads as these words.
std::string shell_line(const std::vector<std::string>& words);

// What was typed this time, which the next command needs as well: how daemons are reached, and what carries
// the data.
struct ReproduceWords {
  std::vector<std::string> reach, carry;
};

// Gives findings the command that looks at their nodes again, reached as this time.
void add_commands(const ReproduceWords& again, const std::vector<fleet::Target>& targets,
                  std::vector<diagnosis::Finding>& findings);

}  // namespace ringtrue::ops
