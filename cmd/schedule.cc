#include "operator/schedule.h"

#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "collective/algorithm.h"
#include "collective/omnireduce/omnireduce.h"
#include "report/explain.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

Result<void> check(const Context& context, const ops::ScheduleRequest& flags) {
  if (context.common.json && flags.edges)
    return fail(Cause::bad_input, "--dot and --json exclude each other", {}, "leave one out");
  if (auto status = reject_inapplicable("schedule --dot", {{flags.edges && flags.steps, "--steps"},
                                                           {flags.edges && flags.no_steps, "--no-steps"}});
      !status)
    return status;
  const bool omnireduce = flags.algorithm == "omnireduce";
  const Common& common = context.common;
  if (auto status = reject_hosts(context, "schedule", "use --ranks"); !status) return status;
  if (auto status = reject_inapplicable("schedule", {{common.local.has_value(), "--local", "use --ranks"},
                                                     {common.transport.has_value(), "--transport"},
                                                     {common.memory.has_value(), "--memory"},
                                                     {common.link_rate.has_value(), "--link-rate"}});
      !status)
    return status;
  if (omnireduce) {
    return reject_inapplicable("schedule omnireduce", {{flags.size.has_value(), "--size", "use --bitmaps"},
                                                       {flags.slice.has_value(), "--slice"},
                                                       {flags.lanes.has_value(), "--lanes"},
                                                       {flags.shift.has_value(), "--shift"},
                                                       {common.ranks_per_node != 1, "--ranks-per-node"}});
  }
  if (!flags.bitmaps.empty())
    return fail(Cause::bad_input, fmt::format("--bitmaps is of omnireduce, not of {}", flags.algorithm), {},
                "leave it out, or take omnireduce");
  return {};
}

int run(Context& context, ops::ScheduleRequest request) {
  if (auto known = collective::find_algorithm(request.algorithm); !known)
    return failed(context, known.error());
  if (auto status = check(context, request); !status) return failed(context, status.error());
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

}  // namespace

void add_schedule(Commands& commands) {
  const Command app = commands.add("schedule", "Who sends what to whom, for any number of ranks");
  static ops::ScheduleRequest flags;
  std::vector<std::string> names;
  for (const auto& algorithm : collective::algorithms()) names.emplace_back(algorithm.name);
  commands.choices(add_text(app, "ALGORITHM", flags.algorithm, "", "ring, double-tree, ...").required(),
                   names);
  add_whole(app, "--ranks", flags.ranks, 1, 1000000, "how many; the workers of an omnireduce");
  add_parsed(app, "--size", flags.size, parse_size, "SIZE", "bytes of the call");
  add_parsed(
      app, "--slice", flags.slice,
      [](std::string_view text) -> Result<Bytes> {
        auto size = parse_size(text);
        if (size && size->value < 8) return fail(Cause::bad_input, "a slice is at least 8 bytes");
        return size;
      },
      "SIZE", "bytes of a slice");
  add_whole(app, "--lanes", flags.lanes, 1, 256, "lanes of a stream");
  add_whole(app, "--shift", flags.shift, 1, 1000000, "pairwise: rank r sends to r + N");
  const Option steps =
      app.add_flag("--steps", flags.steps, fmt::format("the steps above {} ranks too", ops::most_with_steps));
  app.add_flag("--no-steps", flags.no_steps, "no steps, trees alone").excludes(steps);
  app.add_flag("--dot", flags.edges, "for Graphviz");
  const std::string group = "omnireduce";
  add_text(app, "--bitmaps", flags.bitmaps, "FILE",
           "JSON, a row of 0/1 a worker: its blocks that are not zero. Without it: an example")
      .group(group);
  add_whole(app, "--block", flags.omni.block, 1, 1 << 22, "elements of a block").group(group);
  add_whole(app, "--streams", flags.omni.streams, 1, collective::max_streams, "slots").group(group);
  add_whole(app, "--fusion", flags.omni.fusion, 1, collective::max_fusion, "blocks in a packet").group(group);
  add_whole(app, "--aggregators", flags.omni.aggregators, 1, 4096, "over which the streams are dealt")
      .group(group);
  app.add_flag("--acked", flags.omni.acked, "every worker answers every round").group(group);
  app.footer(fmt::format(
      "Above {} ranks the steps are left out unless --steps asks for them; double-tree's trees are "
      "always there.",
      ops::most_with_steps));
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
