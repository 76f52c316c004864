#include "operator/explain.h"

#include <algorithm>
#include <map>

#include "collective/omnireduce/header.h"

namespace ringtrue::ops {
namespace {

using collective::OmniHeader;

// The packets of a round: of each worker that sent one, and the result.
struct Exchange {
  std::map<int, OmniHeader> sent;
  std::optional<OmniHeader> result;
};

// Follows one stream from round to round.
class Stream {
 public:
  Stream(const collective::OmniShape& shape, std::uint32_t stream, int workers)
      : shape_(shape),
        stream_(stream),
        row_(shape.columns_of(stream), 0),
        next_(std::size_t(workers), std::vector<std::optional<std::uint32_t>>(row_.size())) {}

  ExplainRound tell(std::uint64_t round, const Exchange& exchange, const Bitmaps& bitmaps, bool acked) {
    ExplainRound out;
    out.stream = stream_;
    out.round = round;
    out.aggregator = shape_.aggregator_of(stream_);
    for (int worker = 0; worker < int(next_.size()); ++worker) {
      const auto found = exchange.sent.find(worker);
      ExplainPacket packet;
      packet.worker = worker;
      packet.answers = acked;
      if (found != exchange.sent.end()) {
        collective::for_each_column(found->second.mask, [&](std::uint32_t column) {
          const BlockIndex block = shape_.block(stream_, column, row_[column]);
          next_[std::size_t(worker)][column] = found->second.row[column];
          packet.blocks.push_back({block, named(column, found->second.row[column]),
                                   !bitmaps[std::size_t(worker)][std::size_t(block)]});
        });
      }
      out.packets.push_back(std::move(packet));
    }
    collective::for_each_column(exchange.result->mask, [&](std::uint32_t column) {
      ExplainSum sum;
      sum.block = shape_.block(stream_, column, row_[column]);
      for (const auto& [worker, header] : exchange.sent) {
        if (header.mask & collective::column_bit(column)) sum.workers.push_back(worker);
      }
      for (const auto& next : next_) {
        sum.nexts.push_back(next[column] ? named(column, *next[column]) : std::nullopt);
      }
      sum.wanted = named(column, exchange.result->row[column]);
      out.sums.push_back(std::move(sum));
    });
    collective::for_each_column(exchange.result->mask,
                                [&](std::uint32_t column) { row_[column] = exchange.result->row[column]; });
    return out;
  }

 private:
  std::optional<BlockIndex> named(std::uint32_t column, std::uint32_t row) const {
    if (row == collective::no_row) return std::nullopt;
    return shape_.block(stream_, column, row);
  }

  const collective::OmniShape& shape_;
  std::uint32_t stream_;
  std::vector<std::uint32_t> row_;                               // by column: the one that is wanted
  std::vector<std::vector<std::optional<std::uint32_t>>> next_;  // by worker and column, as last told
};

}  // namespace

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

  ExplainDocument out;
  out.workers = call.omni.workers;
  out.aggregators = call.omni.aggregators;
  out.blocks = shape.blocks();
  out.block = call.omni.block;
  out.element_bytes = size_of(call.type);
  out.streams = shape.streams();
  out.fusion = shape.fusion();
  out.acked = call.omni.acked;
  out.bitmaps = bitmaps;
  for (const auto& [number, rounds] : streams) {
    Stream stream(shape, number, call.omni.workers);
    for (const auto& [round, exchange] : rounds) {
      if (exchange.result) out.rounds.push_back(stream.tell(round, exchange, bitmaps, call.omni.acked));
    }
  }
  for (collective::Rank rank = 0; rank < collective::Rank(played.counts.size()); ++rank) {
    const collective::PacketCounts& counts = played.counts[std::size_t(rank)];
    if (rank < call.omni.workers) {
      out.worker_packets.push_back(counts.packets);
      out.worker_blocks.push_back(counts.blocks);
    } else {
      out.multicasts += counts.multicasts;
    }
  }
  return out;
}

}  // namespace ringtrue::ops
