#include "transport/cuda/load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "base/program.h"

namespace ringtrue::transport::cuda {

namespace {

// The module opens the driver's library by itself; asked here first, its absence is told from everything
// else.
Result<void> has_driver(const std::string& library) {
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return {};
  const std::string_view why = ::dlerror();
  if (why.find("No such file") == why.npos)
    return fail(Cause::unavailable, fmt::format("no NVIDIA driver: {}", why));
  return fail(Cause::unavailable, fmt::format("no NVIDIA driver: {} is missing", library), {},
              "run where there is a GPU with its driver, or use host memory");
}

}  // namespace

Result<std::unique_ptr<Driver>> load(const std::string& module, const std::string& driver_library) {
  if (auto driver = has_driver(driver_library); !driver) return tl::unexpected(driver.error());
  void* const opened = ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened)
    return fail(Cause::unavailable, fmt::format("the CUDA module cannot be loaded: {}", ::dlerror()));
  const auto entry = reinterpret_cast<EntryFunction>(::dlsym(opened, entry_name));
  if (!entry) {
    ::dlclose(opened);
    return fail(Cause::unavailable, fmt::format("{} is not a CUDA module of ringtrue", module));
  }
  if (entry()->abi != abi) {
    const std::uint32_t theirs = entry()->abi;
    ::dlclose(opened);
    return fail(
        Cause::unavailable,
        fmt::format("{} is of another build: its interface is {}, this program's is {}", module, theirs, abi),
        {}, "install the program and the module together");
  }
  // It stays: what it made outlives any handle, and CUDA does not like to be unloaded.
  Error error;
  if (Driver* const driver = entry()->make(error)) return std::unique_ptr<Driver>(driver);
  return tl::unexpected(std::move(error));
}

namespace {

Result<std::unique_ptr<Driver>> find() {
  const char* const wish = std::getenv("RINGTRUE_CUDA");
  if (wish && std::string_view(wish) == "off")
    return fail(Cause::unavailable, "CUDA was refused by RINGTRUE_CUDA=off");
  // Without a driver the module is of no use, and not what is missing first.
  if (auto driver = has_driver("libcuda.so.1"); !driver) return tl::unexpected(driver.error());
  if (const auto place = find_in_package(module_name)) return load(*place);
  return fail(Cause::unavailable, fmt::format("no GPU support: {} is not installed", module_name), {},
              "build ringtrue where nvcc is found, or use host memory");
}

}  // namespace

Result<Driver*> system_driver() {
  static const auto* const found = new Result<std::unique_ptr<Driver>>(find());  // never closed: see load()
  if (!*found) return tl::unexpected(found->error());
  return (*found)->get();
}

}  // namespace ringtrue::transport::cuda
