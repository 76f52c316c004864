#include "base/program.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

namespace ringtrue {

namespace fs = std::filesystem;

std::vector<std::string> package_places(const std::string& name, const std::string& folder) {
  std::vector<std::string> places;
  for (const char* where : {".", "../libexec/ringtrue", "../lib/ringtrue"})
    places.push_back((fs::path(folder) / where / name).lexically_normal().string());
  return places;
}

Result<std::string> find_in_package(const std::string& name) {
  std::error_code error;
  const std::string folder = fs::read_symlink("/proc/self/exe", error).parent_path().string();
  if (error) return fail(Cause::unavailable, "/proc/self/exe cannot be read: is /proc mounted?");
  for (const std::string& place : package_places(name, folder))
    if (::access(place.c_str(), F_OK) == 0) return place;
  return fail(Cause::unavailable,
              fmt::format("{} is neither in {} nor in {}/../libexec/ringtrue", name, folder, folder), {},
              "install the whole package, or run ringtrue from where it was installed");
}

}  // namespace ringtrue
