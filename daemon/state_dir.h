// The daemon's folder: its lock, its socket.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace ringtrue::daemon {

class StateDir {
 public:
  // Makes the folder (0750) where it is missing and takes its lock, which lasts as long as this object and
  // this process. Cause::unavailable where it cannot be made or another daemon has it.
  static Result<StateDir> open(const std::string& path);

  std::string socket() const { return path_ + "/ringtrued.sock"; }
  const std::string& path() const { return path_; }
  // Removes the socket and empties the lock file.
  void clear();

 private:
  std::string path_;
  OwnedFd lock_;
};

}  // namespace ringtrue::daemon
