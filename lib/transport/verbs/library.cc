#include "transport/verbs/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>

#include "transport/verbs/library_api.h"

namespace ringtrue::transport::verbs {
namespace {

// The devices that the kernel lists, sorted.
std::vector<std::string> listed(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class RealLibrary : public Library {
 public:
  RealLibrary(std::string file, std::string folder) : file_(std::move(file)), folder_(std::move(folder)) {}

  Result<std::vector<std::string>> devices() override {
    const std::lock_guard lock(mutex_);
    const auto known = listed(folder_);
    if (known.empty()) return std::vector<std::string>();
    const auto list = ask();
    if (!list) return tl::unexpected(list.error());
    std::vector<std::string> names;
    for (ibv_device** each = list->get(); *each; ++each) names.emplace_back(api_->ibv_get_device_name(*each));
    std::sort(names.begin(), names.end());
    if (!names.empty()) return names;
    return fail(Cause::unavailable, fmt::format("libibverbs has no driver for {}", fmt::join(known, ", ")),
                {}, "install rdma-core's drivers (ibverbs-providers) and see that /dev/infiniband is there");
  }

  Result<std::unique_ptr<Device>> open(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto known = listed(folder_);
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      const auto list = ask();
      if (!list) return tl::unexpected(list.error());
      for (ibv_device** each = list->get(); *each; ++each)
        if (name == api_->ibv_get_device_name(*each)) return open_device(*api_, *each, folder_);
    }
    return fail(Cause::unavailable, fmt::format("no RDMA device {}", name));
  }

 private:
  using List = std::unique_ptr<ibv_device*, decltype(&::ibv_free_device_list)>;
  Result<List> ask() {
    if (!api_) {
      auto loaded = Api::load(file_);
      if (!loaded) return tl::unexpected(loaded.error());
      api_ = *loaded;
    }
    int count = 0;
    List list(api_->ibv_get_device_list(&count), api_->ibv_free_device_list);
    if (!list) return tl::unexpected(verbs_error("list the devices", "this node", errno));
    return list;
  }

  std::mutex mutex_;
  std::string file_, folder_;
  std::optional<Api> api_;  // once it is loaded; devices go on using it
};

}  // namespace

Result<Api> Api::load(const std::string& file) {
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const std::string_view why = ::dlerror();
    if (why.find("No such file") != why.npos)
      return fail(Cause::unavailable, fmt::format("{} is not installed", file), {},
                  "install rdma-core (libibverbs1 and ibverbs-providers)");
    return fail(Cause::unavailable, fmt::format("libibverbs cannot be loaded: {}", why));
  }
  Api api;
  const char* missing = nullptr;
#define RINGTRUE_OPTIONAL(name) api.name = reinterpret_cast<decltype(api.name)>(::dlsym(handle, #name));
#define RINGTRUE_REQUIRED(name) \
  RINGTRUE_OPTIONAL(name)       \
  if (!api.name) missing = #name;
  RINGTRUE_IBVERBS(RINGTRUE_REQUIRED, RINGTRUE_OPTIONAL)
#undef RINGTRUE_REQUIRED
#undef RINGTRUE_OPTIONAL
  if (missing)
    return fail(Cause::unavailable, fmt::format("{} is not libibverbs: it has no {}", file, missing));
  return api;
}

namespace {

// What to do about it; empty: nothing that is known.
const char* next_of(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "let this user open /dev/infiniband/uverbs* (group rdma, or rdma-core's udev rules); give a "
             "container its devices";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENODEV:
    case EIO:
      return "the device was removed or reset: see dmesg";
    case ENOENT:
      return "give the container /dev/infiniband, or load ib_uverbs";
    case ENOMEM:
      return "fewer queue pairs or ranks; raise memlock (ulimit -l unlimited)";
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "see that the peer's address answers through this interface (ping -I), or choose another GID";
    default:
      return "";
  }
}

}  // namespace

Error verbs_error(const std::string& what, const std::string& device, int error) {
  std::string words = std::strerror(error);
  if (!words.empty()) words[0] = char(std::tolower(static_cast<unsigned char>(words[0])));
  const bool unreached = error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
  return {unreached ? Cause::unreachable : Cause::unavailable,
          fmt::format("cannot {} on {}: {}", what, device, words),
          {},
          next_of(error)};
}

std::unique_ptr<Library> load_library(std::string file, std::string devices) {
  return std::make_unique<RealLibrary>(std::move(file), std::move(devices));
}

Library& system_library() {
  static RealLibrary library("libibverbs.so.1", "/sys/class/infiniband");
  return library;
}

}  // namespace ringtrue::transport::verbs
