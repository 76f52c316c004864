// One rank's end of the simulated world.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collective/endpoint.h"
#include "collective/packets.h"
#include "sim/simulate.h"

namespace ringtrue::sim {

using collective::Arrival;
using collective::Lane;
using collective::Rank;
using collective::Slice;
using collective::Token;

class World;

// A packet on its way, shared by all copies of a multicast: in one piece with its parts' lengths and header.
class PacketBody {
 public:
  class Shared {
   public:
    Shared() = default;
    Shared(const Shared& other) : body_(other.body_) {
      if (body_) ++body_->users_;
    }
    Shared(Shared&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
    Shared& operator=(Shared other) noexcept {
      std::swap(body_, other.body_);
      return *this;
    }
    ~Shared() {
      if (body_ && --body_->users_ == 0) ::operator delete(body_);
    }
    explicit operator bool() const { return body_; }
    const PacketBody* operator->() const { return body_; }

   private:
    friend class PacketBody;
    explicit Shared(PacketBody* body) : body_(body) {}
    PacketBody* body_ = nullptr;
  };

  static Shared make(std::span<const std::byte> header, std::span<const Slice> parts);

  std::span<const std::byte> header() const { return {memory() + 8 * parts_, header_}; }
  std::uint64_t part(std::size_t i) const;  // bytes
  std::size_t parts() const { return parts_; }
  std::uint64_t payload() const { return payload_; }

 private:
  PacketBody(std::span<const std::byte> header, std::span<const Slice> parts);
  const std::byte* memory() const { return reinterpret_cast<const std::byte*>(this + 1); }

  std::uint32_t users_ = 1;
  std::uint16_t header_, parts_;
  std::uint64_t payload_ = 0;
};

// What a rank's data holds, known at once.
class KnownBlocks final : public collective::NonZeroBlocks {
 public:
  KnownBlocks(Rank rank, const collective::Call& call, const SimOptions& options)
      : rank_(rank), elements_(call.elements), block_(std::max(call.omni.block, 1u)), options_(options) {}

  std::uint64_t blocks() const override { return (elements_ + block_ - 1) / block_; }
  std::uint64_t known() const override { return blocks(); }
  bool operator[](std::uint64_t block) const override {
    return !options_.has_block || options_.has_block(rank_, block);
  }
  void look_further() override {}
  void values(std::uint64_t block, std::vector<std::uint64_t>& elements) const override;

 private:
  Rank rank_;
  std::uint64_t elements_, block_;
  const SimOptions& options_;
};

// A token is counted down by its messages.
class Player final : public collective::Endpoint, public collective::Packets {
 public:
  Player(World& world, Rank rank) : world_(world), rank_(rank) {}

  Rank rank() const override { return rank_; }
  const collective::Layout& layout() const override;
  Token send_all(std::span<const Rank> to, Lane lane, Slice from) override;
  Token receive_reduce(Rank from, Lane lane, Slice into, Slice, Arrival how) override {
    return receive_from({&from, 1}, lane, into, how != Arrival::store);
  }
  Token receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival) override {
    return receive_from(from, lane, into, true);
  }
  void copy(Slice, Slice) override {}
  bool done(Token token) const override { return token.id == 0 || left_[token.id - 1] == 0; }
  void resume_when_done(Token token, std::coroutine_handle<> waiter) override {
    waiting_.push_back({std::uint32_t(token.id), waiter});
  }
  collective::Packets* packets() override { return this; }

  bool reliable() const override;
  void handle(collective::PacketHandler* handler) override;
  Token send_packet(std::span<const Rank> to, std::span<const std::byte> header,
                    std::span<const Slice> parts) override;
  void neutral(Slice) override {}
  void conclude(Slice, Rank) override {}
  void collect(Slice, std::span<const std::uint64_t>) override {}
  void distribute(std::span<const std::uint64_t>, Slice) override {}
  void combine(Slice, std::span<const std::uint32_t>, Slice) override {}
  collective::NonZeroBlocks& non_zero() override { return *blocks_; }
  Seconds now() const override;
  Token timer(Seconds from_now) override;
  void cancel(Token timer) override { left_[timer.id - 1] = cancelled; }
  Token idle() override { return {}; }
  collective::PacketCounts& counts() override { return counts_; }
  void seen(const collective::RoundSeen& round) override;
  bool wants_rounds() const override;
  void give_up(Rank peer, std::string what) override;

  void set_data(const collective::Call& call, const SimOptions& options) {
    blocks_.emplace(rank_, call, options);
  }
  // A message of `token` is over. Gives the coroutine to be resumed, if any.
  std::coroutine_handle<> count_down(std::uint32_t token);
  // A packet is here. The handler gets it from welcome_packets(), in order.
  void take_packet(Rank from, PacketBody::Shared packet) { mail_.push_back({from, std::move(packet)}); }
  void welcome_packets();

  collective::Task program;
  bool finished = false;

 private:
  static constexpr std::uint32_t cancelled = ~0u;
  struct Waiting {
    std::uint32_t token;
    std::coroutine_handle<> waiter;
  };
  struct Mail {
    Rank from;
    PacketBody::Shared packet;
  };
  Token receive_from(std::span<const Rank> from, Lane lane, Slice into, bool adds);
  Token open(std::size_t messages);
  void welcome(const Mail& mail);

  World& world_;
  Rank rank_;
  std::vector<std::uint32_t> left_;  // messages of each token that are not over
  std::vector<Waiting> waiting_;
  collective::PacketHandler* handler_ = nullptr;
  std::deque<Mail> mail_;  // arrived, not yet handed over
  std::vector<collective::PacketPart> placed_;
  std::optional<KnownBlocks> blocks_;
  collective::PacketCounts counts_;
};

}  // namespace ringtrue::sim
