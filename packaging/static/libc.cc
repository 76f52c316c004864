// What the C++ runtime's archive asks of a libc that is newer than those of other distributions.
#include <sys/random.h>

#include <cstdint>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t random = 0;
  while (::getentropy(&random, sizeof random) != 0) {
  }
  return random;
}
