#include "fleet/reach.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/clock.h"
#include "fleet/tls_reason.h"

namespace ringtrue::fleet {

Result<std::optional<PemBundle>> credentials_for(const std::vector<Target>& targets, const Options& options) {
  const bool tcp =
      std::any_of(targets.begin(), targets.end(), [](const Target& t) { return t.socket.empty(); });
  if (!tcp || options.pki.empty()) return std::optional<PemBundle>();
  auto bundle = load_operator_credentials(options.pki);
  if (!bundle) return tl::unexpected(bundle.error());
  return std::optional(std::move(*bundle));
}

std::vector<std::optional<Error>> explain(const std::vector<Target>& targets, const std::vector<int>& which,
                                          const std::optional<PemBundle>& credentials, Seconds time) {
  std::vector<std::optional<Error>> reasons(which.size());
  const Deadline until = Deadline::in(time);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < which.size() && !until.passed();)
      reasons[i] =
          why_unreachable(targets[std::size_t(which[i])], credentials ? &*credentials : nullptr, until);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < std::min<std::size_t>(16, which.size()); ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  return reasons;
}

}  // namespace ringtrue::fleet
