#include "collective/omnireduce/omnireduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/omnireduce/block_aggregator.h"
#include "collective/omnireduce/block_worker.h"
#include "collective/omnireduce/header.h"
#include "collective/omnireduce/pair_aggregator.h"
#include "collective/omnireduce/pair_worker.h"
#include "collective/omnireduce/pairs.h"

namespace ringtrue::collective {

namespace {

std::uint64_t divided_up(std::uint64_t size, std::uint64_t by) {
  return size / by + (size % by ? 1 : 0);
}

}  // namespace

OmniShape::OmniShape(const Call& call)
    : blocks_(divided_up(call.elements, call.omni.block)),
      columns_(std::uint64_t(call.omni.streams) * call.omni.fusion),
      block_(call.omni.block),
      block_bytes_(call.omni.block * size_of(call.type)),
      elements_(call.elements),
      bytes_(call.bytes()),
      streams_(call.omni.streams),
      fusion_(call.omni.fusion),
      workers_(std::uint32_t(call.omni.workers)),
      aggregators_(std::uint32_t(call.omni.aggregators)) {}

std::uint32_t OmniShape::columns_of(std::uint32_t stream) const {
  const std::uint64_t first = std::uint64_t(stream) * fusion_;
  return first >= blocks_ ? 0 : std::uint32_t(std::min<std::uint64_t>(fusion_, blocks_ - first));
}

std::uint32_t OmniShape::rows_of(std::uint32_t stream, std::uint32_t column) const {
  const std::uint64_t first = block(stream, column, 0);
  return first >= blocks_ ? 0 : std::uint32_t(divided_up(blocks_ - first, columns_));
}

Slice OmniShape::slice(std::uint64_t first_block, std::uint64_t count) const {
  const std::uint64_t begin = first_block * block_bytes_;
  return {Space::data, begin, std::min(bytes_, begin + count * block_bytes_) - begin};
}

bool OmniShape::owns(std::uint32_t stream, std::span<const std::uint64_t> elements) const {
  if (!elements.empty() && elements.back() >= elements_) return false;
  std::uint64_t end = 0;  // of the block that the last one lies in
  for (const std::uint64_t element : elements) {
    if (element < end) continue;
    const std::uint64_t block = element / block_;
    if (block % columns_ / fusion_ != stream) return false;
    end = (block + 1) * block_;
  }
  return true;
}

std::uint64_t omnireduce_scratch(const Layout&, Rank rank, const Call& call) {
  if (call.omni.pairs > 0) return PairPlaces(call, rank).scratch();
  if (rank < call.omni.workers) return 0;
  const OmniShape shape(call);
  std::uint64_t slots = 0;
  for (std::uint32_t stream = 0; stream < shape.streams() && shape.columns_of(stream) > 0; ++stream) {
    if (shape.aggregator_of(stream) == rank) slots += shape.columns_of(stream);
  }
  return 2 * slots * shape.block_bytes();
}

std::vector<Edge> omnireduce_edges(const Layout&, Rank rank, const Call& call) {
  const Rank workers = call.omni.workers, all = workers + call.omni.aggregators;
  std::vector<Edge> edges;
  for (Rank peer = rank < workers ? workers : 0; peer < (rank < workers ? all : workers); ++peer) {
    edges.push_back({peer, packet_lane});
    if (call.omni.acked) edges.push_back({peer, farewell_lane});
  }
  return edges;
}

std::uint64_t max_header(const Call& call) {
  return call.omni.pairs > 0 ? pair_header_bytes(call.omni.key_bytes, call.omni.pairs)
                             : max_block_header_bytes;
}

std::uint64_t max_packet(const Call& call) {
  if (call.omni.pairs > 0) return max_header(call) + call.omni.pairs * size_of(call.type);
  const OmniShape shape(call);
  const std::uint32_t columns = shape.columns_of(0);
  return omni_header_bytes(columns) + shape.slice(0, columns).length;
}

namespace {

Result<void> check_pairs(const Call& call) {
  const Omni& omni = call.omni;
  const auto bad = [](std::string what, std::string next) {
    return fail(Cause::bad_input, std::move(what), {}, std::move(next));
  };
  if (omni.pairs > max_pairs)
    return bad(fmt::format("{} pairs in a packet", omni.pairs), fmt::format("use 1 to {}", max_pairs));
  if (omni.key_bytes != 4 && omni.key_bytes != 8)
    return bad(fmt::format("keys of {} bytes", omni.key_bytes), "use 4 or 8");
  if (omni.fusion != 1) return bad("a fusion of pairs", "a stream of pairs has one column");
  if (omni.key_bytes == 4 && call.elements > 0xffffffff)
    return bad(fmt::format("keys of 4 bytes for {} elements", call.elements), "use keys of 8 bytes");
  return {};
}

}  // namespace

Result<void> check_omni(const Layout& layout, const Call& call) {
  const Omni& omni = call.omni;
  const auto bad = [](std::string what, std::string next) {
    return fail(Cause::bad_input, std::move(what), {}, std::move(next));
  };
  if (omni.workers < 1) return bad("omnireduce without workers", "give it at least one");
  if (omni.aggregators < 1) return bad("omnireduce without aggregators", "give it at least one");
  if (layout.ranks() != omni.workers + omni.aggregators) {
    return bad(fmt::format("{} workers and {} aggregators are not the run's {} ranks", omni.workers,
                           omni.aggregators, layout.ranks()),
               "each worker and each aggregator is a rank");
  }
  if (omni.block < 1) return bad("blocks of 0 elements", "give a block at least one");
  if (omni.fusion < 1 || omni.fusion > max_fusion) {
    return bad(fmt::format("a fusion of {}", omni.fusion), "a packet holds 1 to 64 blocks");
  }
  if (omni.streams < 1 || omni.streams > max_streams) {
    return bad(fmt::format("{} streams", omni.streams), "use 1 to 4096");
  }
  if (omni.pairs > 0) return check_pairs(call);
  const OmniShape shape(call);
  if (shape.blocks() / shape.columns() >= no_row - 1) {
    return bad(fmt::format("{} blocks in {} columns are too many rows", shape.blocks(), shape.columns()),
               "use larger blocks or more streams");
  }
  return {};
}

namespace {

template <class Worker, class Aggregator>
Task play_role(Endpoint& self, const Call& call) {
  if (self.rank() < call.omni.workers) {
    Worker worker(self, call);
    const Task work = worker.run();
    co_await work;
  } else {
    Aggregator aggregator(self, call);
    const Task work = aggregator.run();
    co_await work;
  }
}

}  // namespace

Task omnireduce(Endpoint& self, const Call& call) {
  if (call.elements == 0) co_return;
  if (call.omni.pairs > 0) {
    const Task work = play_role<PairWorker, PairAggregator>(self, call);
    co_await work;
  } else {
    const Task work = play_role<BlockWorker, BlockAggregator>(self, call);
    co_await work;
  }
}

}  // namespace ringtrue::collective
