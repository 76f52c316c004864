// A worker's program, whatever the form of its packets: one coroutine a stream, one that looks at the data
// ahead of them, and, where packets may be lost, the care for those that nobody answers.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collective/gate.h"
#include "collective/omnireduce/header.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/resend.h"

namespace ringtrue::collective {

class OmniWorker : public PacketHandler {
 public:
  Task run();

  Placed place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) final;
  void arrived(Rank from, std::span<const std::byte> header) final;
  Rank waiting_for() const final;

 protected:
  OmniWorker(Endpoint& self, const Call& call);  // both outlive it

  // ---- the form's own

  // Whether this worker holds what is wanted of the stream now. In the first round it is wanted whatever it
  // is.
  virtual bool holds_wanted(std::uint32_t stream) const = 0;
  // Finds what comes after what is about to be sent. False: the search goes on in look_at(), which calls
  // found() at its end.
  virtual bool seek_next(std::uint32_t stream) = 0;
  // Blocks [begin, end) are known now.
  virtual void look_at(std::uint64_t begin, std::uint64_t end) = 0;
  // The packet of this round: its parts into `parts`, which comes empty, and its header, good until the next
  // call. `mine`: holds_wanted(); otherwise it is an answer without anything.
  virtual std::span<const std::byte> compose(std::uint32_t stream, bool mine, std::vector<Slice>& parts) = 0;
  // Reads a header, which fits(), put() and take() are about then; nothing where it is none of a result.
  virtual std::optional<PacketStart> read(std::span<const std::byte> header) = 0;
  // Whether it may be the result of this round, and asks for nothing impossible.
  virtual bool fits(std::uint32_t stream) const = 0;
  virtual void put(std::uint32_t stream, Rank from, std::vector<PacketPart>& parts) = 0;
  // All of it is here. False: the stream is over.
  virtual bool take(std::uint32_t stream, Rank from) = 0;

  void found(std::uint32_t stream) { streams_[stream].found.raise(); }
  std::uint32_t round(std::uint32_t stream) const { return streams_[stream].round; }

  Endpoint& self_;
  Packets& packets_;
  NonZeroBlocks& non_zero_;
  const Omni omni_;
  const OmniShape shape_;
  const std::uint32_t used_;  // streams that have columns: the first ones

 private:
  struct Stream {
    std::uint32_t round = 0;  // whose result comes next
    bool open = true;
    bool listening = false;      // that result may come
    std::uint64_t searches = 0;  // that were not over at once
    Gate found, results;
    Token sent;
  };

  Task stream(std::uint32_t index);
  Task find_blocks();
  void send(std::uint32_t index, bool mine);
  Placed reject();

  const bool reliable_;
  std::vector<Stream> streams_;
  std::vector<Slice> parts_;
  std::unique_ptr<Resender> resender_;  // only where packets may be lost
};

}  // namespace ringtrue::collective
