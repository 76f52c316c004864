#include "metrics/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/fd.h"

namespace ringtrue::metrics {

Result<void> fits_textfile(const std::string& path) {
  if (path.ends_with(".prom")) return {};
  return fail(Cause::bad_input, fmt::format("the file of metrics {} does not end in .prom", path), {},
              "collectors of text files read *.prom alone");
}

Result<void> write_textfile(const std::string& path, std::string_view text) {
  if (auto fits = fits_textfile(path); !fits) return fits;
  // Of this process: two that write at once do not share it. Its name is none that is read.
  const std::string fresh = fmt::format("{}.{}", path, ::getpid());
  const auto failed = [&](int error) -> Result<void> {
    ::unlink(fresh.c_str());
    return fail(Cause::unavailable,
                fmt::format("the metrics could not be written to {}: {}", path, std::strerror(error)), {},
                ::access(path.c_str(), F_OK) == 0 ? "what is in it is of an earlier check"
                                                  : "see that its folder is there and may be written");
  };
  ::unlink(fresh.c_str());
  OwnedFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (fd.get() < 0) return failed(errno);
  if (::fchmod(fd.get(), 0644) != 0) return failed(errno);  // whatever the umask
  while (!text.empty()) {
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed(n < 0 ? errno : ENOSPC);
    text.remove_prefix(std::size_t(n));
  }
  if (::fsync(fd.get()) != 0) return failed(errno);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return failed(errno);
  return {};
}

}  // namespace ringtrue::metrics
