// An aggregator of (key, value) pairs: a slot keeps what each worker sent last, merges it up to the least key
// that one of them has next, and says from which key on it wants more.
//
// Each value is reduced in the order of the workers, whatever comes first: results are the same bit for bit
// in every run.
#pragma once

#include <vector>

#include "collective/omnireduce/aggregator.h"
#include "collective/omnireduce/pairs.h"

namespace ringtrue::collective {

class PairAggregator final : public OmniAggregator {
 public:
  PairAggregator(Endpoint& self, const Call& call);  // both outlive it

 private:
  void clear(std::size_t) override {}
  void finish_round(std::size_t slot) override;
  bool due(std::size_t slot, Rank worker) const override {
    return merges_[slot].next(worker) == wanted_[slot];
  }
  std::optional<PacketStart> read(std::span<const std::byte> header) override;
  bool fits(std::size_t slot, Rank from) const override;
  void put(std::size_t slot, Rank from, std::vector<PacketPart>& parts) override;
  void take(std::size_t slot, Rank from) override;

  void reduce(std::size_t slot, const Slice& result);
  void conclude(const Slice& result);
  void report(std::size_t slot);

  const PairPlaces places_;
  const std::uint64_t element_bytes_;
  std::vector<PairMerge> merges_;      // by slot
  std::vector<std::uint64_t> wanted_;  // by slot; 0 before the first round, in which everybody sends
  PairMerge::Merged merged_;           // of the slot whose round is being finished
  PairHeader packet_;                  // read()
  PairHeader result_;
};

}  // namespace ringtrue::collective
