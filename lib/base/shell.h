// Commands to paste.
#pragma once

#include <string>
#include <vector>

namespace ringtrue {

// One line that a POSIX shell reads as these words.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace ringtrue
