#include <fmt/format.h>

#include "base/plural.h"
#include "cmd/bitmaps.h"
#include "cmd/calls.h"
#include "cmd/command.h"
#include "cmd/explain.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/unheeded.h"
#include "collective/algorithm.h"
#include "collective/double_tree.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/recorder.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

constexpr int most_with_steps = 64;
constexpr std::size_t most_with_rounds = 10'000;

constexpr int usual_ranks = 8;
constexpr Bytes usual_size{1u << 20}, usual_slice{128 * 1024};

struct Flags {
  std::string algorithm;
  std::optional<int> ranks, lanes, shift;
  std::optional<Bytes> size, slice;
  bool steps = false, no_steps = false, dot = false;
  std::string bitmaps;  // a file's name
  OmniFlags omni;
};

collective::Layout layout_of(int ranks, int per_node) {
  collective::Layout layout;
  for (int rank = 0; rank < ranks; ++rank) layout.node_of_rank.push_back(rank / per_node);
  return layout;
}

std::vector<report::TreeNode> tree_of(int tree, const collective::Layout& layout, bool rank_per_node) {
  std::vector<report::TreeNode> out;
  for (collective::Rank rank = 0; rank < layout.ranks(); ++rank) {
    collective::TreeRole role;
    if (rank_per_node) {  // O(log n) a rank, where the general case looks at all of them
      const collective::TreeNode shape = collective::double_tree_node(tree, rank, layout.ranks());
      role = {shape.parent, {shape.children().begin(), shape.children().end()}};
    } else {
      role = collective::double_tree_role(tree, layout, rank);
    }
    report::TreeNode node;
    node.rank = rank;
    if (role.parent >= 0) node.parent = role.parent;
    node.children.assign(role.children.begin(), role.children.end());
    out.push_back(std::move(node));
  }
  return out;
}

// Blocks to explain an omnireduce with where no file says which: a third of them holds something, and every
// worker has others.
Bitmaps example(int workers) {
  Bitmaps out(std::size_t(workers), std::vector<bool>(12));
  for (std::size_t w = 0; w < out.size(); ++w) {
    for (std::size_t k = 0; k < out[w].size(); ++k) out[w][k] = (k * 5 + k / 3 + w * 2) % 9 < 3;
  }
  return out;
}

void write_edges(const collective::Call& call, const report::Write& write) {
  const auto layout = collective::Layout::uniform(int(call.omni.workers + call.omni.aggregators), 1);
  report::ScheduleDocument document;
  document.algorithm = "omnireduce";
  document.ranks = layout.ranks();
  document.each_step = [&](const std::function<void(const report::StepRow&)>& visit) {
    for (collective::Rank rank = 0; rank < layout.ranks(); ++rank) {
      for (const collective::Edge& edge : collective::omnireduce_edges(layout, rank, call)) {
        if (edge.lane == collective::packet_lane) visit({rank, 0, "send", edge.peer, edge.lane, false, 0, 0});
      }
    }
  };
  report::write_dot(document, write);
}

Result<void> check(const Context& context, const Flags& flags) {
  if (context.common.json && flags.dot)
    return fail(Cause::bad_input, "--dot and --json exclude each other", {}, "leave one out");
  if (auto heeded = refuse("schedule --dot", {{flags.dot && flags.steps, "--steps"},
                                              {flags.dot && flags.no_steps, "--no-steps"}});
      !heeded)
    return heeded;
  const bool omnireduce = flags.algorithm == "omnireduce";
  const Common& common = context.common;
  if (auto heeded = refuse_hosts(context, "schedule", "use --ranks"); !heeded) return heeded;
  if (auto heeded = refuse("schedule", {{common.local.has_value(), "--local", "use --ranks"},
                                        {common.transport.has_value(), "--transport"},
                                        {common.memory.has_value(), "--memory"},
                                        {common.link_rate.has_value(), "--link-rate"}});
      !heeded)
    return heeded;
  if (omnireduce) {
    return refuse("schedule omnireduce", {{flags.size.has_value(), "--size", "use --bitmaps"},
                                          {flags.slice.has_value(), "--slice"},
                                          {flags.lanes.has_value(), "--lanes"},
                                          {flags.shift.has_value(), "--shift"},
                                          {common.ranks_per_node != 1, "--ranks-per-node"}});
  }
  if (!flags.bitmaps.empty())
    return fail(Cause::bad_input, fmt::format("--bitmaps is of omnireduce, not of {}", flags.algorithm), {},
                "leave it out, or take omnireduce");
  if (auto heeded = check_shift_of(flags.shift, flags.algorithm); !heeded) return heeded;
  if (auto moves = check_shift(flags.shift, flags.ranks.value_or(usual_ranks)); !moves) return moves;
  return flags.omni.check(flags.algorithm);
}

int run_omnireduce(Context& context, const Flags& flags) {
  const int workers = flags.ranks.value_or(usual_ranks);
  if (flags.bitmaps.empty() && workers > most_with_steps) {
    return failed(context, Error{Cause::bad_input, fmt::format("{} workers are too many to tell of", workers),
                                 "", fmt::format("give up to {}, or --bitmaps FILE", most_with_steps)});
  }
  Result<Bitmaps> bitmaps = flags.bitmaps.empty() ? example(workers) : read_bitmaps(flags.bitmaps);
  if (!bitmaps) return failed(context, bitmaps.error());
  if (flags.ranks && workers != int(bitmaps->size())) {
    return failed(context, Error{Cause::bad_input,
                                 fmt::format("{} has {}, --ranks says {}", flags.bitmaps,
                                             plural(bitmaps->size(), "row"), plural(workers, "worker")),
                                 "", "leave --ranks out"});
  }
  auto call = call_of(*bitmaps, flags.omni);
  if (!call) return failed(context, call.error());
  Output out;
  const report::Write write = [&](std::string_view text) { return out.write(text); };
  if (flags.dot) {
    write_edges(*call, write);
    return out.finish(Exit::healthy);
  }
  sim::Fabric fabric;
  fabric.nodes = int(call->omni.workers + call->omni.aggregators);
  sim::SimOptions options;
  options.has_block = has_block(*bitmaps);
  options.packets = true;
  auto played = sim::simulate(**collective::find_algorithm("omnireduce"), *call, fabric, options);
  if (!played) return failed(context, played.error());
  if (played->error) return failed(context, *played->error);
  report::ExplainDocument document = explain(*call, *bitmaps, *played);
  document.steps_omitted = flags.no_steps || (!flags.steps && document.rounds.size() > most_with_rounds);
  context.common.json ? report::write_json(document, write)
                      : report::write_text(document, context.style, write);
  return out.finish(Exit::healthy);
}

int run(Context& context, const Flags& flags) {
  auto algorithm = collective::find_algorithm(flags.algorithm);
  if (!algorithm) return failed(context, algorithm.error());
  if (auto fits = check(context, flags); !fits) return failed(context, fits.error());
  if (flags.algorithm == "omnireduce") return run_omnireduce(context, flags);
  const int ranks = flags.ranks.value_or(usual_ranks);
  const collective::Layout layout = layout_of(ranks, context.common.ranks_per_node);
  collective::Call call;
  call.elements = flags.size.value_or(usual_size).value / size_of(call.type);
  call.slice_bytes = flags.slice.value_or(usual_slice).value;
  call.lanes = flags.lanes.value_or(1);
  call.shift = flags.shift.value_or(1);

  report::ScheduleDocument document;
  document.algorithm = (*algorithm)->name;
  document.ranks = ranks;
  document.bytes = call.bytes();
  if (document.algorithm == "double-tree") {
    const bool flat = context.common.ranks_per_node == 1;
    document.trees = {tree_of(0, layout, flat), tree_of(1, layout, flat)};
  }
  document.steps_omitted = flags.no_steps || (!flags.steps && ranks > most_with_steps);
  document.each_step = [&](const std::function<void(const report::StepRow&)>& visit) {
    for (collective::Rank rank = 0; rank < layout.ranks(); ++rank) {
      collective::record(**algorithm, layout, rank, call, [&](const collective::Step& s) {
        visit({s.rank, s.step, name(s.kind), s.peer, s.lane, s.slice.space == collective::Space::scratch,
               s.slice.offset, s.slice.length});
      });
    }
  };
  Output out;
  const report::Write write = [&](std::string_view text) { return out.write(text); };
  if (flags.dot) {
    report::write_dot(document, write);
  } else if (context.common.json) {
    report::write_json(document, write);
  } else {
    report::write_text(document, write);
  }
  return out.finish(Exit::healthy);
}

}  // namespace

void add_schedule(Commands& commands) {
  const Command app = commands.add("schedule", "Who sends what to whom, for any number of ranks");
  static Flags flags;
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
      app.add_flag("--steps", flags.steps, fmt::format("the steps above {} ranks too", most_with_steps));
  app.add_flag("--no-steps", flags.no_steps, "no steps, trees alone").excludes(steps);
  app.add_flag("--dot", flags.dot, "for Graphviz");
  const std::string group = "omnireduce";
  add_text(app, "--bitmaps", flags.bitmaps, "FILE",
           "JSON, a row of 0/1 a worker: its blocks that are not zero. Without it: an example")
      .group(group);
  add_whole(app, "--block", flags.omni.block, 1, 1 << 22, "elements of a block").group(group);
  add_whole(app, "--streams", flags.omni.streams, 1, collective::most_streams, "slots").group(group);
  add_whole(app, "--fusion", flags.omni.fusion, 1, collective::most_fusion, "blocks in a packet")
      .group(group);
  add_whole(app, "--aggregators", flags.omni.aggregators, 1, 4096, "over which the streams are dealt")
      .group(group);
  app.add_flag("--acked", flags.omni.acked, "every worker answers every round").group(group);
  app.footer(fmt::format(
      "Above {} ranks the steps are left out unless --steps asks for them; double-tree's trees are "
      "always there.",
      most_with_steps));
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
