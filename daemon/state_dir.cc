#include "daemon/state_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace ringtrue::daemon {
namespace {

// What only a person can change is bad input, after which nobody starts the daemon again; a full disk passes.
Cause cause_of(int error) {
  for (const int stays : {EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EEXIST, ELOOP})
    if (error == stays) return Cause::bad_input;
  return Cause::unavailable;
}

}  // namespace

Result<StateDir> StateDir::open(const std::string& path) {
  if (path.empty()) return fail(Cause::bad_input, "the state folder has no name", "--state");
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::absolute(path, error).parent_path();
  std::filesystem::create_directories(parent, error);
  int failed = error.value();
  if (failed == 0 && ::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) failed = errno;
  if (failed != 0) {
    return fail(cause_of(failed), fmt::format("cannot make the folder {}: {}", path, std::strerror(failed)),
                "--state", "choose a folder that you may write to");
  }
  // Who owns the folder, or may write to it, could put another socket in the place of ours.
  struct stat folder {};
  if (::stat(path.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode) ||
      (folder.st_uid != ::geteuid() && folder.st_uid != 0) || (folder.st_mode & S_IWOTH) != 0)
    return fail(Cause::bad_input, fmt::format("{} is no folder that belongs to this user alone", path),
                "--state", "choose one of your own that others may not write to");
  StateDir dir;
  dir.path_ = path;
  const std::string lock = path + "/ringtrued.lock";
  dir.lock_ = OwnedFd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!dir.lock_) {
    return fail(cause_of(errno), fmt::format("cannot open {}: {}", lock, std::strerror(errno)), "--state",
                "choose a folder that you may write to");
  }
  // It will be emptied: another file of ours must not be, by a link to it.
  struct stat file {};
  if (::fstat(dir.lock_.get(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_nlink != 1)
    return fail(Cause::bad_input, fmt::format("{} is a link, or no file", lock), "--state",
                "see who made it, and remove it");
  if (::flock(dir.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    char pid[32] = "";
    const ssize_t n = ::pread(dir.lock_.get(), pid, sizeof pid - 1, 0);
    const int holder = n > 0 ? std::atoi(pid) : 0;
    return fail(Cause::unavailable,
                holder > 0 ? fmt::format("another ringtrued (process {}) uses {}", holder, path)
                           : fmt::format("another ringtrued uses {}", path),
                "--state", "end that one, or choose another folder");
  }
  // For the message above only: that it cannot be written to a full disk does no harm.
  const std::string pid = std::to_string(::getpid()) + "\n";
  [[maybe_unused]] const int cut = ::ftruncate(dir.lock_.get(), 0);
  [[maybe_unused]] const ssize_t written = ::pwrite(dir.lock_.get(), pid.data(), pid.size(), 0);
  return dir;
}

void StateDir::clear() {
  ::unlink(socket().c_str());
  [[maybe_unused]] const int cut = ::ftruncate(lock_.get(), 0);
}

}  // namespace ringtrue::daemon
