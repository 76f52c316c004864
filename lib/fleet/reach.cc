#include "fleet/reach.h"

#include <algorithm>

namespace ringtrue::fleet {

Result<std::optional<pki::PemBundle>> credentials_for(const std::vector<Target>& targets,
                                                      const Options& options) {
  const bool tcp =
      std::any_of(targets.begin(), targets.end(), [](const Target& t) { return t.socket.empty(); });
  if (!tcp || options.pki.empty()) return std::optional<pki::PemBundle>();
  auto bundle = pki::load_operator_credentials(options.pki);
  if (!bundle) return tl::unexpected(bundle.error());
  return std::optional(std::move(*bundle));
}

}  // namespace ringtrue::fleet
