#include "metrics/build.h"

namespace ringtrue::metrics {

std::string built_from() {
  return RINGTRUE_REVISION;
}

Family build_info(const std::string& version, std::uint32_t protocol, const std::string& revision) {
  Family family{"ringtrue_build_info", "The version that wrote this."};
  Labels labels = {{"version", version}, {"protocol", std::to_string(protocol)}};
  if (!revision.empty()) labels.insert(labels.begin() + 1, {"revision", revision});
  family.add(std::move(labels), 1.0);
  return family;
}

}  // namespace ringtrue::metrics
