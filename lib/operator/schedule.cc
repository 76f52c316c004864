#include "operator/schedule.h"

#include <fmt/format.h>

#include "base/plural.h"
#include "collective/algorithm.h"
#include "collective/double_tree.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/recorder.h"
#include "operator/bitmaps.h"
#include "operator/call_request.h"
#include "operator/explain.h"

namespace ringtrue::ops {
namespace {

constexpr std::size_t most_with_rounds = 10'000;

constexpr int usual_ranks = 8;
constexpr Bytes usual_size{1u << 20}, usual_slice{128 * 1024};

collective::Layout layout_of(int ranks, int per_node) {
  collective::Layout layout;
  for (int rank = 0; rank < ranks; ++rank) layout.node_of_rank.push_back(rank / per_node);
  return layout;
}

std::vector<TreeNode> tree_of(int tree, const collective::Layout& layout, bool rank_per_node) {
  std::vector<TreeNode> out;
  for (collective::Rank rank = 0; rank < layout.ranks(); ++rank) {
    collective::TreeRole role;
    if (rank_per_node) {  // O(log n) a rank, where the general case looks at all of them
      const collective::TreeNode shape = collective::double_tree_node(tree, rank, layout.ranks());
      role = {shape.parent, {shape.children().begin(), shape.children().end()}};
    } else {
      role = collective::double_tree_role(tree, layout, rank);
    }
    TreeNode node;
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

ScheduleDocument edges_of(const collective::Call& call) {
  const auto layout = collective::Layout::uniform(int(call.omni.workers + call.omni.aggregators), 1);
  ScheduleDocument document;
  document.algorithm = collective::AlgorithmId::omnireduce;
  document.ranks = layout.ranks();
  document.each_step = [layout, call](const std::function<void(const StepRow&)>& visit) {
    for (collective::Rank rank = 0; rank < layout.ranks(); ++rank) {
      for (const collective::Edge& edge : collective::omnireduce_edges(layout, rank, call)) {
        if (edge.lane == collective::packet_lane)
          visit({rank, 0, collective::Step::Kind::send, edge.peer, edge.lane, false, 0, 0});
      }
    }
  };
  return document;
}

Result<Schedule> explained(const ScheduleRequest& request) {
  const int workers = request.ranks.value_or(usual_ranks);
  if (request.bitmaps.empty() && workers > max_with_steps) {
    return tl::unexpected(Error{Cause::bad_input, fmt::format("{} workers are too many to tell of", workers),
                                "", fmt::format("give up to {}, or --bitmaps FILE", max_with_steps)});
  }
  Result<Bitmaps> bitmaps = request.bitmaps.empty() ? example(workers) : read_bitmaps(request.bitmaps);
  if (!bitmaps) return tl::unexpected(bitmaps.error());
  if (request.ranks && workers != int(bitmaps->size())) {
    return tl::unexpected(Error{Cause::bad_input,
                                fmt::format("{} has {}, --ranks says {}", request.bitmaps,
                                            plural(bitmaps->size(), "row"), plural(workers, "worker")),
                                "", "leave --ranks out"});
  }
  auto call = call_of(*bitmaps, request.omni);
  if (!call) return tl::unexpected(call.error());
  if (request.edges) return edges_of(*call);
  sim::Fabric fabric;
  fabric.nodes = int(call->omni.workers + call->omni.aggregators);
  sim::SimOptions options;
  options.has_block = has_block(*bitmaps);
  options.packets = true;
  auto played =
      sim::simulate(collective::algorithm_of(collective::AlgorithmId::omnireduce), *call, fabric, options);
  if (!played) return tl::unexpected(played.error());
  if (played->error) return tl::unexpected(*played->error);
  ExplainDocument document = explain(*call, *bitmaps, *played);
  document.steps_omitted = request.no_steps || (!request.steps && document.rounds.size() > most_with_rounds);
  return document;
}

}  // namespace

Result<Schedule> schedule(const ScheduleRequest& request) {
  if (request.algorithm == collective::AlgorithmId::omnireduce) return explained(request);
  if (auto fits = check_shift_of(request.shift, request.algorithm); !fits)
    return tl::unexpected(fits.error());
  if (auto moves = check_shift(request.shift, request.ranks.value_or(usual_ranks)); !moves)
    return tl::unexpected(moves.error());
  if (auto fits = request.omni.check(request.algorithm); !fits) return tl::unexpected(fits.error());
  const int ranks = request.ranks.value_or(usual_ranks);
  const collective::Layout layout = layout_of(ranks, request.ranks_per_node);
  collective::Call call;
  call.elements = request.size.value_or(usual_size).value / size_of(call.type);
  call.slice_bytes = request.slice.value_or(usual_slice).value;
  call.lanes = request.lanes.value_or(1);
  call.shift = request.shift.value_or(1);

  ScheduleDocument document;
  document.algorithm = request.algorithm;
  document.ranks = ranks;
  document.bytes = call.bytes();
  if (document.algorithm == collective::AlgorithmId::double_tree) {
    const bool flat = request.ranks_per_node == 1;
    document.trees = {tree_of(0, layout, flat), tree_of(1, layout, flat)};
  }
  document.steps_omitted = request.no_steps || (!request.steps && ranks > max_with_steps);
  document.each_step = [layout, call, play = &collective::algorithm_of(request.algorithm)](
                           const std::function<void(const StepRow&)>& visit) {
    for (collective::Rank rank = 0; rank < layout.ranks(); ++rank) {
      collective::record(*play, layout, rank, call, [&](const collective::Step& s) {
        visit({s.rank, s.step, s.kind, s.peer, s.lane, s.slice.space == collective::Space::scratch,
               s.slice.offset, s.slice.length});
      });
    }
  };
  return document;
}

}  // namespace ringtrue::ops
