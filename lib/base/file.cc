#include "base/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"

namespace ringtrue {
namespace {

tl::unexpected<FileError> failed(int code, std::string what = {}) {
  if (what.empty()) what = std::strerror(code);
  return tl::unexpected(FileError{code, std::move(what)});
}

tl::unexpected<FileError> too_large(std::size_t max_bytes) {
  const bool whole = max_bytes >= 1 << 20 && max_bytes % (1 << 20) == 0;
  return failed(EFBIG, whole ? fmt::format("larger than {} MiB", max_bytes >> 20)
                             : fmt::format("larger than {} bytes", max_bytes));
}

bool wait_for(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

tl::expected<std::string, FileError> read_up_to(int fd, std::size_t max_bytes) {
  struct stat status {};
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  // One byte more than there are, so that the end is found without growing.
  const std::size_t size = regular ? std::size_t(status.st_size) + 1 : 0;
  std::string text;
  std::size_t have = 0;
  while (have < max_bytes) {
    if (have == text.size()) text.resize(std::min(max_bytes, std::max({size, 2 * have, std::size_t(16384)})));
    const ssize_t got = ::read(fd, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN && !regular && wait_for(fd)) continue;
    if (got < 0) return failed(errno);
    if (got == 0) break;
    have += std::size_t(got);
  }
  text.resize(have);
  return text;
}

tl::expected<std::string, FileError> read_file(const std::string& path, std::size_t max_bytes,
                                               FileKind kind) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would hang.
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return failed(errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed(errno);
  const bool regular = S_ISREG(status.st_mode);
  if (kind == FileKind::regular && S_ISDIR(status.st_mode)) return failed(EISDIR);
  if (kind == FileKind::regular && !regular) return failed(EINVAL, "not a regular file");
  if (regular && std::uint64_t(status.st_size) > max_bytes) return too_large(max_bytes);
  auto text = read_up_to(file.get(), max_bytes + 1);
  if (text && text->size() > max_bytes) return too_large(max_bytes);
  return text;
}

std::string first_line(const std::string& path) {
  const auto text = read_file(path, 1 << 20);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

std::optional<std::uint64_t> kib_field(const std::string& path, std::string_view name) {
  const auto text = read_file(path, 1 << 20);
  const auto at = text ? ("\n" + *text).find(fmt::format("\n{}:", name)) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(text->c_str() + at + name.size() + 1, nullptr, 10) * 1024;
}

}  // namespace ringtrue
