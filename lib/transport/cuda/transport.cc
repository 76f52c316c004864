#include "transport/cuda/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "transport/cuda/player.h"

namespace ringtrue::transport::cuda {

using collective::Algorithm;
using collective::Call;
using collective::Layout;
using collective::Rank;

namespace {

constexpr std::uint64_t max_table = 1 << 20;
constexpr int max_calls =
    256;                     // under way: a full queue would hold up the host for as long as a kernel hangs
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
    if (auto good = check(settings); !good) return good;
    GroupState& state = *state_;
    state.region = Region(settings.data_bytes, settings.scratch_bytes);
    // A handle opens the whole page of the GPU's memory: nothing else shall lie in it.
    constexpr std::uint64_t page = 2 << 20;
    if (!alone(settings)) state.region.bytes = (state.region.bytes + page - 1) / page * page;
    state.context_of.assign(settings.seats.size(), -1);
    const auto gpus = driver.gpus();
    if (!gpus) return tl::unexpected(gpus.error());
    std::map<int, std::size_t> context_of_gpu;
    for (std::size_t r = 0; r < settings.seats.size(); ++r) {
      const Seat& seat = settings.seats[r];
      if (seat.process != settings.process) continue;
      if (seat.gpu < 0 || std::size_t(seat.gpu) >= gpus->size())
        return fail(Cause::bad_input,
                    fmt::format("rank {} is to use GPU {}, and there are {}", r, seat.gpu, gpus->size()));
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
    if (state.contexts.empty()) return fail(Cause::bad_input, "no rank lives in this process");
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
    if (auto fits = inside(at, from.size()); !fits) return fits;
    DeviceContext& context = state_->context(rank);
    return settled(
        context.staging->to_gpu(*context.stream, data(rank) + at, from.data(), from.size(), deadline));
  }
  Result<void> download(Rank rank, std::uint64_t at, std::span<std::byte> into, Deadline deadline) override {
    if (auto fits = inside(at, into.size()); !fits) return fits;
    DeviceContext& context = state_->context(rank);
    return settled(
        context.staging->to_host(*context.stream, into.data(), data(rank) + at, into.size(), deadline));
  }

  Result<void> fill(Rank rank, std::span<const std::byte> table, std::uint32_t size, std::uint64_t elements,
                    Deadline deadline) override {
    auto room = tables(rank, table, {}, size, elements, deadline);
    if (!room) return tl::unexpected(room.error());
    if (!elements) return {};
    DeviceContext& context = state_->context(rank);
    const Fill job{data(rank), *room, elements, std::uint32_t(table.size() / size), size};
    if (auto told = context.stream->run(job); !told) return told;
    return settled(wait_for(*context.stream, context.device->gpu(), deadline));
  }

  Result<Found> check(Rank rank, std::span<const std::byte> table, std::span<const std::byte> poison,
                      std::uint32_t size, std::uint64_t elements, Deadline deadline) override {
    auto room = tables(rank, table, poison, size, elements, deadline);
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
    if (auto told = context.stream->run(job); !told) return tl::unexpected(told.error());
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
    if (auto fits = can_run(algorithm, layout, call, calls); !fits) return tl::unexpected(fits.error());
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
  static Result<void> check(const Settings& settings) {
    if (settings.seats.empty() || settings.seats.size() > std::size_t(max_ranks))
      return fail(Cause::bad_input, fmt::format("{} ranks on GPUs: from 1 to {} are possible",
                                                settings.seats.size(), max_ranks));
    constexpr std::uint64_t most = std::uint64_t(1) << 48;
    if (settings.data_bytes > most || settings.scratch_bytes > most)
      return fail(Cause::bad_input, "no GPU has so much memory");
    return {};
  }

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

  Result<void> inside(std::uint64_t at, std::uint64_t bytes) const {
    const std::uint64_t room = state_->settings.data_bytes;
    if (at <= room && bytes <= room - at) return {};
    return fail(Cause::bad_input, fmt::format("{} bytes at {} are beyond the buffer's {}", bytes, at, room));
  }

  // Puts the tables into the rank's GPU; where they are.
  Result<std::byte*> tables(Rank rank, std::span<const std::byte> table, std::span<const std::byte> poison,
                            std::uint32_t size, std::uint64_t elements, Deadline deadline) {
    const bool good = (size == 2 || size == 4 || size == 8) && table.size() <= max_table &&
                      table.size() % size == 0 && (!table.empty() || !elements) &&
                      (poison.empty() || poison.size() == table.size());
    if (!good) return fail(Cause::bad_input, "a table of values does not fit");
    if (elements > state_->settings.data_bytes / size)
      return tl::unexpected(inside(0, elements * size).error());
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

  Result<void> can_run(const Algorithm& algorithm, const Layout& layout, const Call& call,
                       Calls calls) const {
    const GroupState& state = *state_;
    if (!player_) return fail(Cause::internal, "the group is not connected");
    if (layout.ranks() != state.ranks())
      return fail(Cause::bad_input,
                  fmt::format("a layout of {} ranks for a group of {}", layout.ranks(), state.ranks()));
    if (calls.count < 1 || calls.count > max_calls)
      return fail(Cause::bad_input,
                  fmt::format("{} calls at once: from 1 to {} are possible", calls.count, max_calls));
    if (auto fits = inside(0, call.bytes()); !fits) return fits;
    if (algorithm.uses_packets()) return {};  // compile() says why not
    for (Rank rank = 0; rank < state.ranks(); ++rank)
      if (algorithm.scratch_bytes(layout, rank, call) > state.settings.scratch_bytes)
        return fail(Cause::bad_input,
                    fmt::format("{} needs {} bytes of scratch, the group has {}", algorithm.name,
                                algorithm.scratch_bytes(layout, rank, call), state.settings.scratch_bytes));
    return {};
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
    const Deadline patience = Deadline::in(grace);
    for (DeviceContext& context : state_->contexts) {
      // A GPU that is broken has nothing under way; one that does not leave in time never will.
      if (auto left = wait_for(*context.stream, context.device->gpu(), patience);
          !left && left.error().cause == Cause::deadline) {
        hangs_ = true;
        error.where.device = context.device->gpu().text();
      }
    }
    if (error.cause == Cause::deadline) {
      const std::string where = player_->stood_still();
      error.what = !where.empty() ? where
                   : hangs_       ? "no rank says where it stood still"
                                  : "the calls ended after their deadline";
      if (hangs_) error.what += "; a kernel does not leave";
      error.next = "look for errors of these GPUs in dmesg (Xid) and nvidia-smi -q";
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
