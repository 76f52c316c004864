// A file descriptor with one owner.
#pragma once

#include <cstddef>
#include <utility>

namespace ringtrue {

// Closes its descriptor when it goes; -1 for none.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~OwnedFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }  // no longer owned
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Opens /dev/null for those of descriptors 0, 1 and 2 that are closed. First thing in main(): or the first
// file that the program opens becomes its standard output, and its messages end up there. A standard output
// that was closed cannot be written then, either.
void fill_standard_files();

// Every connection is a descriptor, and the soft limit is usually far below what a process may have: raises
// it to that. How many that is.
std::size_t raise_descriptor_limit();

}  // namespace ringtrue
