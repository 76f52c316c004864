#include "cmd/calls.h"

#include <fmt/format.h>

#include "base/plural.h"
#include "base/suggest.h"
#include "cmd/options.h"
#include "collective/algorithm.h"

namespace ringtrue::cmd {

Result<std::vector<std::uint64_t>> CallFlags::sizes() const {
  if (size && (from || to)) {
    return fail(Cause::bad_input, "--size and --from, --to exclude each other", {},
                "give one size or a range");
  }
  if (factor && !from && !to) {
    return fail(Cause::bad_input, "--factor goes from size to size, and there is one", {},
                "give --from, --to or both, or leave it out");
  }
  const std::uint64_t element = size_of(call.type);
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

collective::Call CallFlags::of(std::uint64_t bytes) const {
  collective::Call out = call;
  out.elements = bytes / size_of(call.type);
  if (slice) out.slice_bytes = slice->value;
  if (shift) out.shift = *shift;
  return out;
}

Result<void> CallFlags::check_algorithm() const {
  if (algorithm == "auto" || collective::find_algorithm(algorithm)) return {};
  std::vector<std::string> names = {"auto"};
  for (const auto& known : collective::algorithms()) names.emplace_back(known.name);
  const auto meant = closest(algorithm, names);
  return fail(Cause::bad_input, fmt::format("unknown algorithm '{}'", algorithm.substr(0, 60)), {},
              meant ? fmt::format("did you mean {}? there are {}", *meant, fmt::join(names, ", "))
                    : fmt::format("use one of {}", fmt::join(names, ", ")));
}

Result<void> CallFlags::check_shift(std::string_view other) const {
  return other == "pairwise" ? Result<void>() : check_shift_of(shift, algorithm);
}

Result<void> check_shift_of(std::optional<int> shift, std::string_view algorithm) {
  if (!shift || algorithm == "pairwise") return {};
  return fail(Cause::bad_input, fmt::format("--shift is of pairwise, not of {}", algorithm), {},
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

void add_call_flags(Commands& commands, Command app, CallFlags& flags, bool faults) {
  std::vector<std::string> names = {"auto"};
  for (const auto& algorithm : collective::algorithms()) names.emplace_back(algorithm.name);
  commands.choices(
      add_text(app, "ALGORITHM", flags.algorithm, "", fmt::format("{}", fmt::join(names, ", "))).required(),
      names);
  add_parsed(app, "--size", flags.size, parse_size, "SIZE", "bytes, binary: 64M is 64 * 2^20 (the default)");
  add_parsed(app, "--from", flags.from, parse_size, "SIZE", "first of several sizes");
  add_parsed(app, "--to", flags.to, parse_size, "SIZE", "last of several sizes");
  add_whole(app, "--factor", flags.factor, 2, 1 << 20, "from one size to the next");
  std::vector<std::string> types, operations;
  for (const auto type : collective::all_types) types.emplace_back(name(type));
  for (const auto operation : collective::all_operations) operations.emplace_back(name(operation));
  const auto parse_type = [&flags](std::string_view text) {
    auto type = collective::parse_type(text);
    if (type) flags.type_given = *type;
    return type;
  };
  commands.choices(add_parsed(app, "--type", flags.call.type, parse_type, "TYPE",
                              fmt::format("{}", fmt::join(types, ", "))),
                   types);
  commands.choices(add_parsed(app, "--op", flags.call.operation, collective::parse_operation, "OP",
                              fmt::format("{}", fmt::join(operations, ", "))),
                   operations);
  add_parsed(
      app, "--slice", flags.slice,
      [](std::string_view text) -> Result<Bytes> {
        auto size = parse_size(text);
        if (size && (size->value < 64 || size->value > (1u << 30) || size->value % 8 != 0)) {
          return fail(Cause::bad_input, "a slice is 64 bytes to 1G, a multiple of 8");
        }
        return size;
      },
      "SIZE", "bytes that move at once");
  add_whole(app, "--lanes", flags.call.lanes, 1, 64, "connections per peer");
  add_whole(app, "--shift", flags.shift, 1, 1 << 20, "pairwise: rank r sends to r + N");
  const auto parse_fault = [](std::string_view text) -> Result<std::string> {
    auto known = collective::parse_faults(text);
    if (!known) return tl::unexpected(known.error());
    return std::string(text);
  };
  if (faults) {
    add_parsed(app, "--fault", flags.fault, parse_fault, "SPEC",
               "KIND@SOURCE>DESTINATION:key=value;..., e.g. throttle@3>4:rate=50Mbit");
  }
  app.add_flag("--events", flags.events, "every message of the last size, in JSON");
}

}  // namespace ringtrue::cmd
