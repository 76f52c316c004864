#include "pki/safe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/file.h"

namespace ringtrue::pki {
namespace {

tl::unexpected<Error> failure(const std::string& doing, const std::string& path, int code) {
  // What stays so until somebody changes it.
  const bool ours = code == ENOENT || code == ENOTDIR || code == EISDIR || code == EEXIST || code == EACCES ||
                    code == EPERM || code == EROFS;
  std::string next;
  if (code == EACCES || code == EPERM) next = "run it as the owner of that file, or change who may read it";
  if (code == ENOSPC || code == EDQUOT) next = "make room on that file system";
  return fail(ours ? Cause::bad_input : Cause::unavailable,
              "cannot " + doing + " " + path + ": " + std::generic_category().message(code), {}, next);
}

int write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    at += std::size_t(n);
  }
  return fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  auto text = ringtrue::read_file(path, limit);
  if (!text) return failure("read", path, text.error().code);
  return *std::move(text);
}

Result<void> write_file(const std::string& path, const std::string& text, mode_t mode, Existing existing) {
  std::string aside = path + ".XXXXXX";
  OwnedFd file(mkostemp(aside.data(), O_CLOEXEC));  // mode 0600 from the start
  if (!file) return failure("write", path, errno);
  int code = write_all(file.get(), text);
  if (!code && fchmod(file.get(), mode) != 0) code = errno;
  if (close(file.release()) != 0 && !code) code = errno;
  // link() refuses to replace a file, in one step; rename() replaces it, in one step.
  if (!code && existing == Existing::keep && link(aside.c_str(), path.c_str()) != 0) code = errno;
  if (!code && existing == Existing::replace && rename(aside.c_str(), path.c_str()) != 0) code = errno;
  if (code || existing == Existing::keep) unlink(aside.c_str());
  if (code) return failure("write", path, code);
  return {};
}

Result<void> make_folder(const std::string& path) {
  std::error_code code;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, code);
  if (code) return failure("make the folder", path, code.value());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failure("make the folder", path, errno);
  if (!std::filesystem::is_directory(path, code)) return failure("make the folder", path, ENOTDIR);
  return {};
}

bool is_exposed(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 && (s.st_mode & 0026) != 0;
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

}  // namespace ringtrue::pki
