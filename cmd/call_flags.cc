#include "cmd/call_flags.h"

#include <fmt/format.h>

#include "collective/algorithm.h"
#include "collective/fault.h"

namespace ringtrue::cmd {

void add_call_flags(Commands& commands, Command app, ops::CallRequest& flags, bool faults) {
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
