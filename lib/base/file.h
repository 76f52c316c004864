// Files that somebody else wrote: no more of them than the caller can use, and no wait for a pipe that nobody
// writes to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue {

struct FileError {
  int code = 0;  // errno's; EFBIG: more than max_bytes; EISDIR, EINVAL: a folder, a device where not wanted
  std::string what;  // "Permission denied", "larger than 4 MiB", "not a regular file"
};

enum class FileKind { any, regular };

// All of a file, at most max_bytes. A pipe or a terminal is read to its end; one without a writer is empty.
tl::expected<std::string, FileError> read_file(const std::string& path, std::size_t max_bytes,
                                               FileKind kind = FileKind::any);

// What is left in an open file, or the first max_bytes of it.
tl::expected<std::string, FileError> read_up_to(int fd, std::size_t max_bytes);

// Of the kernel's small files: the first line without its end; "" where there is none or it cannot be read.
std::string first_line(const std::string& path);
// The number behind `name` in a file of lines "Name:   123 kB", in bytes.
std::optional<std::uint64_t> kib_field(const std::string& path, std::string_view name);

}  // namespace ringtrue
