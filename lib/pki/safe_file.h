// Files that are there as a whole or not at all.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace ringtrue::pki {

// At most `limit` bytes; bad_input where the file is missing, unreadable or longer.
Result<std::string> read_file(const std::string& path, std::size_t limit = 1 << 20);

enum class Existing { replace, keep };  // keep: bad_input where `path` exists
Result<void> write_file(const std::string& path, const std::string& text, mode_t mode, Existing existing);

// With its parents (0755, less the umask); mode 0700 where it is made.
Result<void> make_folder(const std::string& path);

// Whether others than its owner and group may read the file, or others than its owner may write to it.
bool is_exposed(const std::string& path);

// Something is there, readable or not.
bool exists(const std::string& path);

}  // namespace ringtrue::pki
