#include "operator/call_request.h"

#include <fmt/format.h>

#include "base/plural.h"
#include "base/suggest.h"
#include "collective/algorithm.h"

namespace ringtrue::ops {

Result<std::vector<std::uint64_t>> CallRequest::sizes() const {
  if (size && (from || to)) {
    return fail(Cause::bad_input, "--size and --from, --to exclude each other", {},
                "give one size or a range");
  }
  if (factor && !from && !to) {
    return fail(Cause::bad_input, "--factor needs several sizes, and there is one", {},
                "give --from, --to or both, or leave it out");
  }
  const std::uint64_t element = size_of(call.type);
  // Nothing at all is a call, too; a part of an element is a mistake.
  for (const auto& [flag, given] :
       {std::pair("--size", size), std::pair("--from", from), std::pair("--to", to)}) {
    if (given && given->value > 0 && given->value < element)
      return fail(
          Cause::bad_input,
          fmt::format("{} {} is less than one {}, {} bytes", flag, given->value, key_of(call.type), element),
          {}, fmt::format("give {} or more", element));
  }
  if (!from && !to) {
    const std::uint64_t bytes = size ? size->value : 64u << 20;
    return std::vector<std::uint64_t>{bytes / element * element};
  }
  const std::uint64_t low = from ? from->value : std::min<std::uint64_t>(1024, to->value);
  const std::uint64_t high = to ? to->value : std::max<std::uint64_t>(64u << 20, low);
  if (low > high) {
    return fail(Cause::bad_input,
                fmt::format("--from {} is above --to {}", to_text(Bytes(low)), to_text(Bytes(high))));
  }
  std::vector<std::uint64_t> out;
  std::uint64_t bytes = low;
  while (true) {
    const std::uint64_t whole = bytes / element * element;
    if (out.empty() || out.back() != whole) out.push_back(whole);
    // From nothing, the next size is one element.
    const std::uint64_t next = bytes == 0 ? element : bytes * std::uint64_t(factor.value_or(2));
    if (next > high || next <= bytes || out.size() >= 1000) break;
    bytes = next;
  }
  return out;
}

collective::Call CallRequest::of(std::uint64_t bytes) const {
  collective::Call out = call;
  out.elements = bytes / size_of(call.type);
  if (slice) out.slice_bytes = slice->value;
  if (shift) out.shift = *shift;
  return out;
}

std::string_view name(const AlgorithmRequest& algorithm) {
  return algorithm ? key_of(*algorithm) : "auto";
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = {"auto"};
  for (const auto& known : collective::algorithms()) names.emplace_back(known.name);
  return names;
}

Result<AlgorithmRequest> parse_algorithm(std::string_view text) {
  if (text == "auto") return AlgorithmRequest();
  if (const auto known = collective::find_algorithm(text)) return AlgorithmRequest((*known)->id);
  const std::vector<std::string> names = algorithm_names();
  const auto meant = closest(text, names);
  return fail(Cause::bad_input, fmt::format("unknown algorithm '{}'", text.substr(0, 60)), {},
              meant ? fmt::format("did you mean {}? there are {}", *meant, fmt::join(names, ", "))
                    : fmt::format("use one of {}", fmt::join(names, ", ")));
}

Result<void> CallRequest::check_shift(AlgorithmRequest other) const {
  return other == collective::AlgorithmId::pairwise ? Result<void>() : check_shift_of(shift, algorithm);
}

Result<void> check_shift_of(std::optional<int> shift, AlgorithmRequest algorithm) {
  if (!shift || algorithm == collective::AlgorithmId::pairwise) return {};
  return fail(Cause::bad_input, fmt::format("--shift is for pairwise, not for {}", name(algorithm)), {},
              "leave it out, or take pairwise");
}

Result<void> check_shift(std::optional<int> shift, int ranks) {
  if (!shift || *shift % ranks != 0) return {};
  return fail(Cause::bad_input,
              fmt::format("--shift {} among {}: each would send to itself", *shift, plural(ranks, "rank")),
              {},
              ranks == 1   ? "take more ranks"
              : ranks == 2 ? "give 1"
                           : fmt::format("give 1 to {}", ranks - 1));
}

}  // namespace ringtrue::ops
