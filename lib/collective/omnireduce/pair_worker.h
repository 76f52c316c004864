// A worker that sends (key, value) pairs of what is not zero in its data.
#pragma once

#include <vector>

#include "collective/omnireduce/pairs.h"
#include "collective/omnireduce/worker.h"

namespace ringtrue::collective {

class PairWorker final : public OmniWorker {
 public:
  PairWorker(Endpoint& self, const Call& call);  // both outlive it

 private:
  struct List {                        // a stream's
    std::vector<std::uint64_t> found;  // keys that were not sent yet
    std::uint32_t row = 0, rows = 0;   // the first block that was not searched; how many there are
    bool sought = false;               // keys
    std::uint64_t wanted = 0, next = 0;
  };

  // 0 is both before the first round, in which everybody sends.
  bool holds_wanted(std::uint32_t stream) const override {
    return lists_[stream].next == lists_[stream].wanted;
  }
  bool seek_next(std::uint32_t stream) override;
  void look_at(std::uint64_t begin, std::uint64_t end) override;
  std::span<const std::byte> compose(std::uint32_t stream, bool mine, std::vector<Slice>& parts) override;
  std::optional<PacketStart> read(std::span<const std::byte> header) override;
  bool fits(std::uint32_t stream) const override;
  void put(std::uint32_t stream, Rank from, std::vector<PacketPart>& parts) override;
  bool take(std::uint32_t stream, Rank from) override;

  bool search(std::uint32_t stream);

  const PairPlaces places_;
  std::vector<List> lists_;  // by stream
  PairHeader packet_;        // read()
  PairHeader composed_;
  std::vector<std::byte> header_;
};

}  // namespace ringtrue::collective
