// An Endpoint on paper: plays one rank's program with every token done at once and keeps what it did.
//
// The collectives do not look at data, so this is the schedule that every world plays. One rank at a time:
// nothing grows with the number of ranks but that rank's own steps.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/keys.h"
#include "collective/algorithm.h"
#include "collective/endpoint.h"

namespace ringtrue::collective {

struct Step {
  enum class Kind : std::uint8_t { send, receive, reduce, reduce_last, copy };

  Rank rank = 0;
  std::uint32_t step = 0;  // the rank's posts, counted from 0; one post to several peers is one step a peer
  Kind kind = Kind::send;
  Rank peer = 0;  // copy: the rank itself
  Lane lane = 0;
  Slice slice;  // sent, or the destination
  Slice with;   // reduce: what is combined with the incoming bytes; copy: the source

  bool operator==(const Step&) const = default;
};

class Recorder final : public Endpoint {
 public:
  using Sink = std::function<void(const Step&)>;

  // `layout` outlives it.
  Recorder(const Layout& layout, Rank rank, Sink sink)
      : layout_(layout), rank_(rank), sink_(std::move(sink)) {}

  Rank rank() const override { return rank_; }
  const Layout& layout() const override { return layout_; }
  Token send_all(std::span<const Rank> to, Lane lane, Slice from) override;
  Token receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) override;
  Token receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) override;
  void copy(Slice into, Slice from) override;
  bool done(Token) const override { return true; }
  void resume_when_done(Token, std::coroutine_handle<>) override;

 private:
  Token post(Step::Kind kind, std::span<const Rank> peers, Lane lane, Slice slice, Slice with = {});

  const Layout& layout_;
  Rank rank_;
  Sink sink_;
  std::uint32_t next_ = 0;
};

// One rank's steps, in the order in which its program posts them.
void record(const Algorithm& algorithm, const Layout& layout, Rank rank, const Call& call,
            const Recorder::Sink& sink);
std::vector<Step> record(const Algorithm& algorithm, const Layout& layout, Rank rank, const Call& call);

}  // namespace ringtrue::collective

namespace ringtrue {

template <>
inline constexpr const char* keys_of<collective::Step::Kind>[] = {"send", "receive", "reduce", "reduce-last",
                                                                  "copy"};

}  // namespace ringtrue
