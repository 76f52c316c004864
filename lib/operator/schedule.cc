#include "operator/schedule.h"

#include <fmt/format.h>

#include "collective/algorithm.h"
#include "collective/double_tree.h"
#include "collective/recorder.h"
#include "operator/call_request.h"

namespace ringtrue::ops {
namespace {

constexpr Bytes usual_size{1u << 20}, usual_slice{128 * 1024};

collective::Layout layout_of(int ranks, int per_node) {
  collective::Layout layout;
  for (int rank = 0; rank < ranks; ++rank) layout.node_of_rank.push_back(rank / per_node);
  return layout;
}

std::vector<collective::TreeRole> tree_of(int tree, const collective::Layout& layout, bool rank_per_node) {
  std::vector<collective::TreeRole> out;
  for (collective::Rank rank = 0; rank < layout.ranks(); ++rank) {
    if (rank_per_node) {  // O(log n) a rank, where the general case looks at all of them
      const collective::TreeNode shape = collective::double_tree_node(tree, rank, layout.ranks());
      out.push_back({shape.parent, {shape.children().begin(), shape.children().end()}});
    } else {
      out.push_back(collective::double_tree_role(tree, layout, rank));
    }
  }
  return out;
}

}  // namespace

Result<Schedule> schedule(const ScheduleRequest& request) {
  if (request.algorithm == collective::AlgorithmId::omnireduce) return schedule_omnireduce(request);
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
                           const collective::Recorder::Sink& visit) {
    for (collective::Rank rank = 0; rank < layout.ranks(); ++rank)
      collective::record(*play, layout, rank, call, visit);
  };
  return document;
}

}  // namespace ringtrue::ops
