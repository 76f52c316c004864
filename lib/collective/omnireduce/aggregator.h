// An aggregator's program, whatever the form of its packets: one coroutine a slot, which reduces what all
// workers send of one stream, sends the result to all of them and goes on with what comes next.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collective/gate.h"
#include "collective/omnireduce/header.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/ticker.h"

namespace ringtrue::collective {

class OmniAggregator : public PacketHandler {
 public:
  Task run();

  Placed place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) final;
  void arrived(Rank from, std::span<const std::byte> header) final;
  Rank waiting_for() const final;

 protected:
  struct Slot {
    std::uint32_t stream = 0;
    std::uint32_t round = 0;  // has its result in version `round` mod 2
    bool open = true;
    // False from the moment a round is complete until its result is sent: then versions change hands, and
    // nothing may come in or be sent again.
    bool collecting = true;
    Rank left = 0;  // workers whose packets are missing in this round
    Gate complete;
    Token sent[2];  // by version
    // The last result; a worker that missed it may ask again, where packets may be lost.
    std::vector<std::byte> header;
    std::vector<Slice> parts;
    std::vector<std::pair<Rank, Token>> again;
    Seconds began;  // the round
  };

  OmniAggregator(Endpoint& self, const Call& call);  // both outlive it

  // ---- the form's own

  // The version of slot.round may be written to again.
  virtual void clear(std::size_t slot) = 0;
  // Everybody's packet is here. The slot's header and parts become those of the result, and it is closed if
  // it was the last one.
  virtual void finish_round(std::size_t slot) = 0;
  virtual void begin_round(std::size_t) {}
  // Whether the worker said that it would send what is wanted in this round.
  virtual bool due(std::size_t slot, Rank worker) const = 0;
  // Reads a header, which fits(), put() and take() are about then; nothing where it is none of a worker.
  virtual std::optional<PacketStart> read(std::span<const std::byte> header) = 0;
  // Whether it may be the worker's packet of this round.
  virtual bool fits(std::size_t slot, Rank from) const = 0;
  virtual void put(std::size_t slot, Rank from, std::vector<PacketPart>& parts) = 0;
  virtual void take(std::size_t slot, Rank from) = 0;  // all of it is here

  Endpoint& self_;
  Packets& packets_;
  const Omni omni_;
  const OmniShape shape_;
  std::vector<Rank> workers_;
  std::vector<Slot> slots_;

 private:
  // A worker that says nothing for so long while others do is given up: before the workers, who cannot know
  // whom a round waits for, give up the aggregator (Resender::silence).
  static constexpr Seconds silence{4};

  Task serve(std::size_t index);
  void expect_packets(std::size_t index);
  void send_result(Slot& slot, std::uint32_t round);
  void send_again(Slot& slot, Rank to);
  void complete(Slot& slot);

  Placed reject();
  Seconds look_for_silence();
  Rank silent_worker(Seconds now) const;

  std::size_t seen_at(std::size_t index, Rank worker) const {
    return index * workers_.size() + std::size_t(worker);
  }
  bool missing(std::size_t index, Rank worker) const {
    return !seen_[seen_at(index, worker)] && (omni_.acked || due(index, worker));
  }
  std::size_t index_of(std::uint32_t stream) const { return stream / std::uint32_t(omni_.aggregators); }

  const bool reliable_;
  std::vector<std::uint8_t> seen_;  // by slot and worker: its packet of this round was placed
  std::vector<Token> farewells_;    // by worker
  std::vector<Seconds> heard_;      // by worker: its last packet
  std::unique_ptr<Ticker> ticker_;  // only where packets may be lost
  bool given_up_ = false;
};

}  // namespace ringtrue::collective
