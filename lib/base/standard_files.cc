#include "base/standard_files.h"

#include <fcntl.h>

namespace ringtrue {

void fill_standard_files() {
  for (int fd = 0; fd <= 2; ++fd) {
    // open() takes the lowest free descriptor, which is this one.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) return;
  }
}

}  // namespace ringtrue
