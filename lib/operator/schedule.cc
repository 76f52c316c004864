#include "operator/schedule.h"

#include <fmt/format.h>

#include <map>

#include "base/plural.h"
#include "collective/algorithm.h"
#include "collective/double_tree.h"
#include "collective/omnireduce/header.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/recorder.h"
#include "operator/bitmaps.h"
#include "operator/call_request.h"
#include "sim/simulate.h"

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

using collective::OmniHeader;

constexpr std::uint64_t max_with_rounds = 10'000;

// The packets of a round: of each worker that sent one, and the result.
struct Exchange {
  std::map<int, OmniHeader> sent;
  std::optional<OmniHeader> result;
};

// One stream from round to round.
void add_stream(const collective::OmniShape& shape, std::uint32_t stream,
                const std::map<std::uint32_t, Exchange>& exchanges, ExplainDocument& out) {
  using Block = std::optional<BlockIndex>;
  using Kind = ExplainStep::Kind;
  const auto workers = out.bitmaps.size();
  std::vector<std::uint32_t> row(shape.columns_of(stream), 0);  // by column: the one that is wanted
  std::vector next(workers, std::vector<Block>(row.size()));    // by worker and column, as last told
  const auto block_of = [&](std::uint32_t column, std::uint32_t at) -> Block {
    if (at == collective::no_row) return std::nullopt;
    return shape.block(stream, column, at);
  };
  const int aggregator = shape.aggregator_of(stream);
  for (const auto& numbered : exchanges) {
    const auto& exchange = numbered.second;
    if (!exchange.result) continue;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      ExplainStep& step = out.steps.emplace_back(ExplainStep{stream, numbered.first, int(worker), aggregator,
                                                             out.omni.acked ? Kind::answer : Kind::silent});
      const auto sent = exchange.sent.find(int(worker));
      if (sent == exchange.sent.end()) continue;
      collective::for_each_column(sent->second.mask, [&](std::uint32_t column) {
        const BlockIndex block = shape.block(stream, column, row[column]);
        next[worker][column] = block_of(column, sent->second.row[column]);
        step.kind = Kind::send;
        step.blocks.push_back({block, next[worker][column], !out.bitmaps[worker][std::size_t(block)]});
      });
    }
    ExplainStep& step =
        out.steps.emplace_back(ExplainStep{stream, numbered.first, aggregator, aggregator, Kind::multicast});
    collective::for_each_column(exchange.result->mask, [&](std::uint32_t column) {
      ExplainBlock& sum = step.blocks.emplace_back();
      sum.block = shape.block(stream, column, row[column]);
      for (const auto& [worker, header] : exchange.sent)
        if (header.mask & collective::column_bit(column)) sum.workers.push_back(worker);
      for (const auto& of_worker : next) sum.nexts.push_back(of_worker[column]);
      row[column] = exchange.result->row[column];
      sum.next = block_of(column, row[column]);
    });
  }
}

// `played` kept its packets and was not disturbed.
ExplainDocument explain(const collective::Call& call, const Bitmaps& bitmaps, const sim::SimReport& played) {
  const collective::OmniShape shape(call);
  std::map<std::uint32_t, std::map<std::uint32_t, Exchange>> streams;
  for (const sim::PacketSeen& packet : played.packets) {
    const auto header = collective::decode(packet.header);
    if (!header) continue;
    Exchange& exchange = streams[header->stream][header->round];
    if (header->kind == OmniHeader::Kind::result) {
      if (!exchange.result) exchange.result = *header;
    } else {
      exchange.sent.emplace(packet.from, *header);
    }
  }
  ExplainDocument out{call.omni, shape.blocks(), size_of(call.type), bitmaps, {}, {}};
  for (const auto& [number, rounds] : streams) add_stream(shape, number, rounds, out);
  for (std::size_t rank = 0; rank < played.counts.size(); ++rank)
    out.counts.add(played.counts[rank], collective::Rank(rank) < call.omni.workers);
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
  document.each_step = [layout, call](const collective::Recorder::Sink& visit) {
    for (collective::Rank rank = 0; rank < layout.ranks(); ++rank) {
      for (const collective::Edge& edge : collective::omnireduce_edges(layout, rank, call)) {
        if (edge.lane == collective::packet_lane)
          visit({rank, 0, collective::Step::Kind::send, edge.peer, edge.lane, {}, {}});
      }
    }
  };
  return document;
}

Result<Schedule> schedule_omnireduce(const ScheduleRequest& request) {
  const int workers = request.ranks.value_or(usual_ranks);
  if (request.bitmaps.empty() && workers > max_with_steps) {
    return fail(Cause::bad_input, fmt::format("{} workers are too many to explain", workers), "",
                fmt::format("give up to {}, or --bitmaps FILE", max_with_steps));
  }
  Result<Bitmaps> bitmaps = request.bitmaps.empty() ? example(workers) : read_bitmaps(request.bitmaps);
  if (!bitmaps) return tl::unexpected(bitmaps.error());
  if (request.ranks && workers != int(bitmaps->size())) {
    return fail(Cause::bad_input,
                fmt::format("{} has {}, --ranks says {}", request.bitmaps, plural(bitmaps->size(), "row"),
                            plural(workers, "worker")),
                "", "leave --ranks out");
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
  const bool many = document.counts.multicasts > max_with_rounds;
  document.steps_omitted = request.no_steps || (!request.steps && many);
  return document;
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
