#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "collective/algorithm.h"
#include "collective/double_tree.h"
#include "collective/recorder.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

constexpr int most_with_steps = 64;

struct Flags {
  std::string algorithm;
  int ranks = 8;
  Bytes size{1u << 20};
  Bytes slice{128 * 1024};
  int lanes = 1, shift = 1;
  bool steps = false, no_steps = false, dot = false;
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

int run(Context& context, const Flags& flags) {
  auto algorithm = collective::find_algorithm(flags.algorithm);
  if (!algorithm) return failed(context, algorithm.error());
  const collective::Layout layout = layout_of(flags.ranks, context.common.ranks_per_node);
  collective::Call call;
  call.elements = flags.size.value / size_of(call.type);
  call.slice_bytes = flags.slice.value;
  call.lanes = flags.lanes;
  call.shift = flags.shift;

  report::ScheduleDocument document;
  document.algorithm = (*algorithm)->name;
  document.ranks = flags.ranks;
  document.bytes = call.bytes();
  if (document.algorithm == "double-tree") {
    const bool flat = context.common.ranks_per_node == 1;
    document.trees = {tree_of(0, layout, flat), tree_of(1, layout, flat)};
  }
  document.steps_omitted = flags.no_steps || (!flags.steps && flags.ranks > most_with_steps);
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
  CLI::App& app = commands.add("schedule", "Who sends what to whom, for any number of ranks");
  static Flags flags;
  std::vector<std::string> names;
  for (const auto& algorithm : collective::algorithms()) names.emplace_back(algorithm.name);
  commands.choices(app.add_option("ALGORITHM", flags.algorithm, "ring, double-tree, ...")->required(), names);
  add_whole(app, "--ranks", flags.ranks, 1, 1000000, "how many");
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
  CLI::Option* steps =
      app.add_flag("--steps", flags.steps, fmt::format("the steps above {} ranks too", most_with_steps));
  app.add_flag("--no-steps", flags.no_steps, "no steps, trees alone")->excludes(steps);
  app.add_flag("--dot", flags.dot, "for Graphviz");
  app.footer(fmt::format(
      "Above {} ranks the steps are left out unless --steps asks for them; double-tree's trees are "
      "always there.",
      most_with_steps));
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
