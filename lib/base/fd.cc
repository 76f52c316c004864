#include "base/fd.h"

#include <unistd.h>

namespace ringtrue {

void OwnedFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

}  // namespace ringtrue
