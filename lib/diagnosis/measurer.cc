#include "diagnosis/measurer.h"

#include <fmt/format.h>

#include <charconv>

namespace ringtrue::diagnosis {

std::string to_text(const RdmaPort& port) {
  return fmt::format("{}:{}", port.device, port.number);
}

std::optional<RdmaPort> parse_rdma_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  RdmaPort port{std::string(text.substr(0, colon)), 0};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + colon + 1, end, port.number);
  if (error != std::errc() || at != end || port.number < 1) return std::nullopt;
  return port;
}

}  // namespace ringtrue::diagnosis
