#include "transport/cuda/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <map>

#include "transport/cuda/dataflow.h"
#include "transport/cuda/group_state.h"

namespace ringtrue::transport::cuda {

using collective::Algorithm;
using collective::Call;
using collective::Layout;
using collective::Rank;

namespace {

constexpr std::uint64_t max_table = 1 << 20;
constexpr Seconds grace{2};  // for kernels to leave, once they are told to

// A kernel that never leaves would hold up whoever gives back what it uses: that stays, until the process
// ends.
template <class T>
void abandon(std::unique_ptr<T> it) {
  static auto* const kept = new std::vector<std::unique_ptr<T>>;
  kept->push_back(std::move(it));
}

class RealGroup final : public Group {
 public:
  ~RealGroup() override {
    if (!hangs_) return;
    abandon(std::move(player_));
    abandon(std::move(state_));
  }

  Result<void> open(Driver& driver, Settings settings) {
    assert(!settings.seats.empty() && settings.seats.size() <= std::size_t(max_ranks));
    GroupState& state = *state_;
    state.region = Region(settings.data_bytes, settings.scratch_bytes);
    // A handle opens the whole page of the GPU's memory: nothing else shall lie in it.
    constexpr std::uint64_t page = 2 << 20;
    if (!alone(settings)) state.region.bytes = (state.region.bytes + page - 1) / page * page;
    state.context_of.assign(settings.seats.size(), -1);
    std::map<int, std::size_t> context_of_gpu;
    for (std::size_t r = 0; r < settings.seats.size(); ++r) {
      const Seat& seat = settings.seats[r];
      if (seat.process != settings.process) continue;
      const auto [found, added] = context_of_gpu.emplace(seat.gpu, state.contexts.size());
      if (added)
        if (auto made = add_context(driver, seat.gpu, settings.seats.size()); !made) return made;
      DeviceContext& context = state.contexts[found->second];
      auto memory = context.device->allocate(MemoryKind::device, state.region.bytes);
      if (!memory) return tl::unexpected(memory.error());
      state.context_of[r] = int(found->second);
      context.ranks.push_back(Rank(r));
      context.base[r] = (*memory)->at();
      context.regions.push_back(std::move(*memory));
    }
    state.settings = std::move(settings);
    offer_ = offer_of(state);
    return {};
  }

  const Offer& offer() const override { return offer_; }

  Result<void> connect(std::span<const Offer> offers) override {
    GroupState& state = *state_;
    const auto pairs = reach_all(state, offers, offer_.machine);
    if (!pairs) return tl::unexpected(pairs.error());
    // A rank's blocks wait for each other and for other ranks' blocks, which all have to be there.
    std::string no_kernel;
    for (const DeviceContext& context : state.contexts)
      if (const Gpu& gpu = context.device->gpu(); !gpu.cooperative && no_kernel.empty())
        no_kernel = fmt::format("{} does not start all blocks of a kernel at once (no cooperative launch)",
                                gpu.text());
    if (auto chosen = assign(state.choices, choose(*pairs, state.ranks(), state.settings.play, no_kernel));
        !chosen)
      return chosen;
    return assign(player_,
                  state.choices.play == Play::kernel ? make_kernel_player(state) : make_copy_player(state));
  }

  void disconnect() override {
    if (hangs_) return;
    player_.reset();  // its programs hold the addresses
    for (DeviceContext& context : state_->contexts) {
      context.opened.clear();
      for (std::size_t rank = 0; rank < context.base.size(); ++rank)
        if (state_->context_of[rank] < 0) context.base[rank] = nullptr;
    }
  }

  const Choices& choices() const override { return state_->choices; }
  Device& device(Rank rank) override { return *state_->context(rank).device; }
  Stream& stream(Rank rank) override { return *state_->context(rank).stream; }
  std::byte* data(Rank rank) const override { return state_->space(state_->context(rank), rank, 0); }

  Result<void> upload(Rank rank, std::uint64_t at, std::span<const std::byte> from,
                      Deadline deadline) override {
    assert(fits(at, from.size()));
    DeviceContext& context = state_->context(rank);
    return settled(
        context.staging->to_gpu(*context.stream, data(rank) + at, from.data(), from.size(), deadline));
  }
  Result<void> download(Rank rank, std::uint64_t at, std::span<std::byte> into, Deadline deadline) override {
    assert(fits(at, into.size()));
    DeviceContext& context = state_->context(rank);
    return settled(
        context.staging->to_host(*context.stream, into.data(), data(rank) + at, into.size(), deadline));
  }

  Result<void> fill(Rank rank, std::span<const std::byte> table, std::uint32_t size, std::uint64_t elements,
                    Deadline deadline) override {
    assert(are_tables(table, {}, size) && fits(0, elements * size) && (!table.empty() || !elements));
    auto room = tables(rank, table, {}, deadline);
    if (!room) return tl::unexpected(room.error());
    if (!elements) return {};
    DeviceContext& context = state_->context(rank);
    const Fill job{data(rank), *room, elements, std::uint32_t(table.size() / size), size};
    if (auto queued = context.stream->run(job); !queued) return queued;
    return settled(wait_for(*context.stream, context.device->gpu(), deadline));
  }

  Result<Found> check(Rank rank, std::span<const std::byte> table, std::span<const std::byte> poison,
                      std::uint32_t size, std::uint64_t elements, Deadline deadline) override {
    assert(are_tables(table, poison, size) && fits(0, elements * size) && (!table.empty() || !elements));
    auto room = tables(rank, table, poison, deadline);
    if (!room) return tl::unexpected(room.error());
    Found found;
    if (!elements) return found;
    DeviceContext& context = state_->context(rank);
    std::byte* const at = *room + 2 * max_table;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&found);
    if (auto sent = context.staging->to_gpu(*context.stream, at, bytes, sizeof found, deadline); !sent)
      return tl::unexpected(settled(sent).error());
    const Check job{data(rank),
                    *room,
                    poison.empty() ? nullptr : *room + max_table,
                    reinterpret_cast<Found*>(at),
                    elements,
                    std::uint32_t(table.size() / size),
                    size};
    if (auto queued = context.stream->run(job); !queued) return tl::unexpected(queued.error());
    if (auto got = context.staging->to_host(*context.stream, reinterpret_cast<std::byte*>(&found), at,
                                            sizeof found, deadline);
        !got)
      return tl::unexpected(settled(got).error());
    return found;
  }

  Result<Times> run(const Algorithm& algorithm, const Layout& layout, const Call& asked, Calls calls,
                    Deadline deadline) override {
    GroupState& state = *state_;
    Call call = sliced(asked, state.ranks());
    assert(player_ && layout.ranks() == state.ranks() && fits(0, call.bytes()));
    assert(calls.count >= 1 && calls.count <= max_calls);
    const auto staged = [](const Choice& choice) { return choice.way == Way::staged; };
    if (std::any_of(state.choices.pairs.begin(), state.choices.pairs.end(), staged))
      call.slice_bytes =
          std::min<std::uint64_t>(call.slice_bytes, 1 << 20);  // of pinned memory, many times over
    if (failed_) return fail(Cause::internal, "a group plays nothing more after an error");
    if (cancelled_) return fail(Cause::cancelled, "the run was stopped");
    if (auto ready = settled(player_->prepare(algorithm, layout, call, deadline)); !ready)
      return tl::unexpected(ready.error());
    if (auto begun = player_->begin(calls); !begun) return tl::unexpected(leave(begun.error()));
    if (auto over = wait(deadline); !over) return tl::unexpected(leave(over.error()));

    Times times;
    for (DeviceContext& context : state.contexts) {
      const auto time = context.stop->since(*context.start);
      if (!time) return tl::unexpected(time.error());
      times.by_gpu.emplace_back(time->value / calls.count);
      times.slowest.value = std::max(times.slowest.value, times.by_gpu.back().value);
    }
    return times;
  }

  void abort() override { cancelled_ = true; }

 private:
  Result<void> add_context(Driver& driver, int gpu, std::size_t ranks) {
    DeviceContext& context = state_->contexts.emplace_back();
    context.base.resize(ranks);
    Result<void> made = assign(context.device, driver.open(gpu));
    if (made) made = assign(context.stream, context.device->make_stream());
    for (auto* event : {&context.start, &context.stop})
      if (made) made = assign(*event, context.device->make_event());
    if (made) made = assign(context.staging, StagingCopier::make(*context.device));
    return made;
  }

  bool fits(std::uint64_t at, std::uint64_t bytes) const {
    const std::uint64_t room = state_->settings.data_bytes;
    return at <= room && bytes <= room - at;
  }

  static bool are_tables(std::span<const std::byte> table, std::span<const std::byte> poison,
                         std::uint32_t size) {
    return (size == 2 || size == 4 || size == 8) && table.size() <= max_table && table.size() % size == 0 &&
           (poison.empty() || poison.size() == table.size());
  }

  // Puts the tables into the rank's GPU; where they are.
  Result<std::byte*> tables(Rank rank, std::span<const std::byte> table, std::span<const std::byte> poison,
                            Deadline deadline) {
    DeviceContext& context = state_->context(rank);
    Result<void> sent;
    if (!context.tables)
      sent =
          assign(context.tables, context.device->allocate(MemoryKind::device, 2 * max_table + sizeof(Found)));
    if (!sent) return tl::unexpected(sent.error());
    std::byte* const at = context.tables->at();
    sent = context.staging->to_gpu(*context.stream, at, table.data(), table.size(), deadline);
    if (sent)
      sent = context.staging->to_gpu(*context.stream, at + max_table, poison.data(), poison.size(), deadline);
    if (auto done = settled(sent); !done) return tl::unexpected(done.error());
    return at;
  }

  // Until all GPUs here have done their calls.
  Result<void> wait(Deadline deadline) {
    const auto done = [&]() -> Result<bool> {
      bool all = true;
      for (DeviceContext& context : state_->contexts) {
        const auto reached = context.stop->reached();
        if (!reached) return reached;
        all &= *reached;
      }
      if (!all && cancelled_) return fail(Cause::cancelled, "the run was stopped");
      return all;
    };
    return poll(done, state_->contexts.front().device->gpu(), deadline);
  }

  // Ends what runs, and says what is known of it.
  Error leave(Error error) {
    failed_ = true;
    if (player_) player_->stop();
    const Deadline deadline = Deadline::in(grace);
    for (DeviceContext& context : state_->contexts) {
      // A GPU that is broken has nothing under way; one that does not leave in time never will.
      if (auto left = wait_for(*context.stream, context.device->gpu(), deadline);
          !left && left.error().cause == Cause::deadline) {
        hangs_ = true;
        error.where.device = context.device->gpu().text();
      }
    }
    if (error.cause == Cause::deadline) {
      const std::string where = player_->where_stood();
      error.what = !where.empty() ? "out of time: " + where
                   : hangs_       ? "out of time, and no rank says where it stood"
                                  : "the calls ended after their deadline";
      if (hangs_) error.what += "; a kernel does not leave";
      error.next =
          "give more time (--deadline), or look for errors of these GPUs in dmesg (Xid) and nvidia-smi -q";
    }
    return error;
  }

  // A copy that missed its deadline may still be under way.
  Result<void> settled(Result<void> result) {
    if (!result && result.error().cause == Cause::deadline) hangs_ = true;
    return result;
  }

  std::unique_ptr<GroupState> state_ = std::make_unique<GroupState>();
  std::unique_ptr<Player> player_;  // goes before what it stands on
  Offer offer_;
  std::atomic<bool> cancelled_{false};
  bool hangs_ = false, failed_ = false;
};

}  // namespace

Result<std::unique_ptr<Group>> Group::open(Driver& driver, Settings settings) {
  auto group = std::make_unique<RealGroup>();
  if (auto opened = group->open(driver, std::move(settings)); !opened) return tl::unexpected(opened.error());
  return group;
}

}  // namespace ringtrue::transport::cuda
