#include "operator/schedule.h"

#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "collective/algorithm.h"
#include "collective/omnireduce/omnireduce.h"

namespace ringtrue::cmd {
namespace {

Result<void> check(const Context& context, const ops::ScheduleRequest& flags) {
  if (context.common.json && flags.edges) return both("--dot", "--json");
  auto fits =
      reject("schedule --dot",
             {{{flags.edges && flags.steps, "--steps"}, {flags.edges && flags.no_steps, "--no-steps"}}});
  if (fits)
    fits = reject("schedule", {hosts(context, "use --ranks"), common(context, {"--local"}, "use --ranks"),
                               common(context, {"--transport", "--memory", "--link-rate"})});
  if (!fits) return fits;
  if (flags.algorithm == collective::AlgorithmId::omnireduce)
    return reject("schedule omnireduce", {{{flags.size.has_value(), "--size", "use --bitmaps"},
                                           {flags.slice.has_value(), "--slice"},
                                           {flags.lanes.has_value(), "--lanes"},
                                           {flags.shift.has_value(), "--shift"}},
                                          common(context, {"--ranks-per-node"})});
  if (flags.bitmaps.empty()) return {};
  return fail(Cause::bad_input,
              fmt::format("--bitmaps is for omnireduce, not for {}", key_of(flags.algorithm)), {},
              "leave it out, or take omnireduce");
}

int show_schedule(Context& context, ops::ScheduleRequest request) {
  if (auto fits = check(context, request); !fits) return failed(context, fits.error());
  request.ranks_per_node = context.common.ranks_per_node;
  const auto schedule = ops::schedule(request);
  if (!schedule) return failed(context, schedule.error());
  Output out;
  const report::Write write = [&](std::string_view text) { return out.write(text); };
  const bool json = context.common.json;
  if (const auto* story = std::get_if<ops::ExplainDocument>(&*schedule)) {
    json ? report::write_json(*story, write) : report::write_text(*story, context.style, write);
  } else {
    const auto& document = std::get<ops::ScheduleDocument>(*schedule);
    request.edges ? report::write_dot(document, write)
    : json        ? report::write_json(document, write)
                  : report::write_text(document, write);
  }
  return out.finish(Exit::healthy);
}

Result<Bytes> parse_slice(std::string_view text) {
  auto size = parse_size(text);
  if (size && size->value < 8) return fail(Cause::bad_input, "a slice is at least 8 bytes");
  return size;
}

Result<collective::AlgorithmId> parse_algorithm(std::string_view text) {
  auto known = collective::find_algorithm(text);
  if (!known) return tl::unexpected(known.error());
  return (*known)->id;
}

}  // namespace

Command schedule_command() {
  static ops::ScheduleRequest request;
  ops::OmniRequest& omni = request.omni;
  const Flags flags = {
      required(parsed("ALGORITHM", request.algorithm, parse_algorithm, "",
                      fmt::format("{}", fmt::join(algorithm_names(), ", ")), algorithm_names())),
      whole("--ranks", request.ranks, 1, 1000000, "number of ranks; of workers, for omnireduce (8)"),
      parsed("--size", request.size, parse_size, "SIZE", "bytes of the call (1M)"),
      parsed("--slice", request.slice, parse_slice, "SIZE", "bytes of a message; larger ones are cut (128K)"),
      whole("--lanes", request.lanes, 1, 256, "connections per peer (1)"),
      whole("--shift", request.shift, 1, 1000000, "pairwise: rank r sends to r + N (1)"),
      toggle("--steps", request.steps, fmt::format("the steps above {} ranks, too", ops::max_with_steps)),
      excluding(toggle("--no-steps", request.no_steps, "no steps, trees alone"), "--steps"),
      toggle("--dot", request.edges, "for Graphviz"),
  };
  const Flags omnireduce = {
      text("--bitmaps", request.bitmaps, "FILE",
           "JSON, a row of 0/1 a worker: its blocks that are not zero. Without it: an example"),
      whole("--block", omni.block, 1, 1 << 22, "elements of a block"),
      whole("--streams", omni.streams, 1, collective::max_streams, "slots"),
      whole("--fusion", omni.fusion, 1, collective::max_fusion, "blocks in a packet"),
      whole("--aggregators", omni.aggregators, 1, 4096, "aggregators that the streams are distributed over"),
      toggle("--acked", omni.acked, "every worker answers every round"),
  };
  return {
      "schedule", "Shows who sends what to whom, for any number of ranks",
      join({flags, in_group("omnireduce", omnireduce)}),
      fmt::format("Above {} ranks the steps are left out unless --steps asks for them; double-tree's trees "
                  "are always there.",
                  ops::max_with_steps),
      [](Context& context) { return show_schedule(context, request); }};
}

}  // namespace ringtrue::cmd
