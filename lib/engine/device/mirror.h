// A rank whose data is on a GPU, played by the host's transports: they work on a mirror of it in pinned host
// memory. Slices come down just before they are first needed and go up as soon as they are final, while
// others are on the wires.
#pragma once

#include <coroutine>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/device/blocks.h"
#include "engine/device/data.h"
#include "engine/device/transfers.h"
#include "engine/session/store.h"
#include "transport/loop.h"

namespace ringtrue::engine {

class Mirror final : public Store, public collective::Endpoint, public transport::Source {
 public:
  static Result<std::unique_ptr<Store>> make(transport::cuda::Driver& driver, int gpu,
                                             const StoreSetup& setup, const collective::Algorithm& algorithm);

  // Store
  void fill(bool fresh) override;
  Mismatch check(bool everything) override;
  collective::Endpoint& begin_call() override;
  collective::NonZeroBlocks* non_zero() override { return blocks_.get(); }
  void end_call() override;
  bool has_ended() const override;
  void resume_when_ended(std::coroutine_handle<> waiter) override { end_waiter_ = waiter; }

  // Endpoint, of algorithms without packets: posts wait, in their order, for what they need of the GPU's
  // memory.
  Rank rank() const override { return inner().rank(); }
  const collective::Layout& layout() const override { return inner().layout(); }
  Token send_all(std::span<const Rank> to, Lane lane, Slice from) override;
  Token receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) override;
  Token receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) override;
  void copy(Slice into, Slice from) override;
  bool done(Token token) const override;
  void resume_when_done(Token token, std::coroutine_handle<> waiter) override;

  // Source
  bool work() override;
  bool prepare_to_sleep() override;
  void awake() override {}

 private:
  using Go = std::function<Token(RankEndpoint&)>;
  struct Post {
    Token inner;
    bool posted = false;
    std::vector<std::uint32_t> steps;
    std::coroutine_handle<> waiter{};
  };
  static constexpr std::size_t window = 64;  // copies down under way

  explicit Mirror(const StoreSetup& setup) : setup_(setup) {}
  RankEndpoint& inner() const { return setup_.endpoint; }
  Result<void> equip(const collective::Algorithm& algorithm);
  std::uint32_t step_of(const PostName& name);
  std::vector<std::uint32_t> steps_of(PostName (*name)(Rank, Lane), std::span<const Rank> peers, Lane lane);
  void ask(const Post& post);
  bool is_here(const Post& post) const;
  Token post(std::vector<std::uint32_t> steps, Go go);
  void launch(std::uint64_t token, const Go& go);
  bool bring();
  bool release();
  bool lift();
  void lift(const Post& post);
  bool busy() const;
  // False, and the run is over, for an error.
  bool good(const Result<void>& result);

  StoreSetup setup_;
  std::unique_ptr<DeviceData> data_;
  std::vector<std::unique_ptr<transport::cuda::Event>> landed_;  // a window's
  std::unique_ptr<transport::cuda::Event> lifted_;               // all that went up in a call
  std::unique_ptr<DeviceBlocks> blocks_;                         // of an omnireduce
  Ranges written_;                                               // by packets
  Transfers plan_;

  // Of the call in progress
  std::map<PostName, std::size_t> counts_;   // of posts so far
  std::vector<std::uint32_t> asked_;         // of plan_.down, as posts first need them
  std::vector<std::uint8_t> wanted_, here_;  // by index of plan_.down: asked for, in the host's memory
  std::size_t told_ = 0, down_ = 0;          // of asked_: the GPU knows of, are here
  std::vector<Post> posts_;                  // token 1 is the first
  std::deque<std::pair<std::uint64_t, Go>> queue_;
  std::vector<std::uint64_t> rising_;  // tokens whose slices go up once they are done
  bool over_ = false;                  // the program
  mutable bool arrived_ = false;       // all that went up
  std::coroutine_handle<> end_waiter_;
  bool timer_ = false, failed_ = false;
};

}  // namespace ringtrue::engine
