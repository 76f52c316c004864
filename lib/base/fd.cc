#include "base/fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ringtrue {

void OwnedFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

void fill_standard_files() {
  for (int fd = 0; fd <= 2; ++fd) {
    // A document that nobody can read is no success: standard output rejects what is written.
    const int how = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    // open() takes the lowest free descriptor, which is this one.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", how) != fd) return;
  }
}

std::size_t raise_descriptor_limit() {
  constexpr std::size_t usual = 1024;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return usual;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (before != limit.rlim_max && setrlimit(RLIMIT_NOFILE, &limit) != 0) return std::size_t(before);
  return std::size_t(limit.rlim_max);
}

}  // namespace ringtrue
