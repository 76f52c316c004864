// The answer of system: what this process learns by system calls, where no file tells it.
//
//   {"nodename": "node3", "release": "6.1.0-18-amd64", "machine": "x86_64",
//    "memlock": 8388608}    the soft limit in bytes; all bits set: unlimited
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "probe/library/library.h"

namespace ringtrue::probe {

Result<std::string> ask_system(const Asking& asking) {
  if (!asking.root.empty())
    return fail(
        Cause::unavailable,
        fmt::format("system calls tell of this machine, and the files are those under {}", asking.root));
  nlohmann::json answer = nlohmann::json::object();
  utsname names{};
  if (::uname(&names) == 0)
    answer = {{"nodename", names.nodename}, {"release", names.release}, {"machine", names.machine}};
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
    answer["memlock"] = limit.rlim_cur == RLIM_INFINITY ? ~0ull : std::uint64_t(limit.rlim_cur);
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace ringtrue::probe
