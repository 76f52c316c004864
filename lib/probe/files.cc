#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/fd.h"
#include "base/file.h"
#include "probe/live.h"

namespace ringtrue::probe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_bytes = 256u << 10;
constexpr std::size_t max_names = 65536;

tl::unexpected<Error> failed(const std::string& path, int error) {
  // EINVAL: what readlink says of something that is no link, and attributes that do not apply just now.
  const bool absent = error == ENOENT || error == ENOTDIR || error == EINVAL || error == ELOOP ||
                      error == EISDIR || error == EOPNOTSUPP;
  const bool forbidden = error == EACCES || error == EPERM;
  return fail(absent      ? Cause::bad_input
              : forbidden ? Cause::refused
                          : Cause::unavailable,
              fmt::format("{}: {}", path, std::strerror(error)));
}

// Nothing blocks (a FIFO), and nothing under a root of its own leads out of it.
Result<OwnedFd> open(const std::string& root, const std::string& path, int flags) {
  flags |= O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  if (root.empty()) {
    OwnedFd file(::open(path.c_str(), flags));
    if (!file) return failed(path, errno);
    return file;
  }
  const OwnedFd base(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base) return failed(root, errno);
  open_how how{};
  how.flags = std::uint64_t(flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: somewhere on this machine something was renamed or mounted while a ".." was followed.
  OwnedFd file;
  for (int tries = 0; !file && (tries == 0 || errno == EAGAIN || errno == EINTR) && tries < 10'000; ++tries)
    file = OwnedFd(int(::syscall(SYS_openat2, base.get(), path.c_str(), &how, sizeof how)));
  if (!file) return failed(path, errno);
  return file;
}

// Where an open file really lies, below the root.
std::string place_of(const std::string& root, const OwnedFd& file) {
  std::error_code error;
  std::string place = fs::read_symlink(fmt::format("/proc/self/fd/{}", file.get()), error).string();
  if (!root.empty() && place.starts_with(root)) place.erase(0, root.size());
  return place;
}

}  // namespace

Files::Files(std::string root) {
  if (root.empty()) return;
  std::error_code error;
  const fs::path real = fs::canonical(root, error);
  root_ = error ? root : real.string();
  if (root_ == "/") root_.clear();
}

Result<std::string> Files::read(const std::string& path) {
  const auto file = open(root_, path, 0);
  if (!file) return tl::unexpected(file.error());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return failed(path, errno);
  if (!S_ISREG(status.st_mode)) return failed(path, EISDIR);
  auto text = read_up_to(file->get(), max_bytes);
  if (!text) return failed(path, text.error().code);
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return *std::move(text);
}

Result<std::vector<std::string>> Files::list(const std::string& path) {
  const auto folder = open(root_, path, O_DIRECTORY);
  if (!folder) return tl::unexpected(folder.error());
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(fmt::format("/proc/self/fd/{}", folder->get()), error), end;
       !error && it != end && names.size() < max_names; it.increment(error))
    names.push_back(it->path().filename().string());
  if (error) return failed(path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> Files::link(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return failed(path, ENOENT);
  const auto folder = open(root_, slash == 0 ? "/" : path.substr(0, slash), O_DIRECTORY);
  if (!folder) return tl::unexpected(folder.error());
  char target[4096];
  const ssize_t n = ::readlinkat(folder->get(), path.c_str() + slash + 1, target, sizeof target);
  if (n < 0) return failed(path, errno);
  if (std::size_t(n) == sizeof target) return failed(path, ENAMETOOLONG);
  const fs::path to(std::string(target, std::size_t(n)));
  std::string place = (fs::path(place_of(root_, *folder)) / to).lexically_normal().string();
  if (place.size() > 1 && place.back() == '/') place.pop_back();  // of "../.."
  return place;
}

Result<std::string> Files::answer(std::string_view library) {
  return fail(Cause::unavailable, fmt::format("only files are read here, {} is not asked", library));
}

}  // namespace ringtrue::probe
