#include <fmt/format.h>

#include <algorithm>

#include "transport/cuda/dataflow.h"
#include "transport/cuda/group_state.h"

namespace ringtrue::transport::cuda {
namespace {

using collective::Algorithm;
using collective::Call;
using collective::Layout;
using collective::Rank;

// Two of everything a rank receives through: one is filled while the other is reduced.
constexpr int sets = 2;

// A rank's streams. `in` waits and brings sources near, `work` reduces, `out` lifts what others take from
// this rank's GPU into pinned memory, where they have no access.
struct Lines {
  std::unique_ptr<Stream> in, work, out;
  std::unique_ptr<Memory> landing, lifted;           // device, pinned: `sets` times `sources` slices
  std::unique_ptr<Event> landed[sets], freed[sets];  // sources near; reduced
  std::unique_ptr<Event> cleared, lift, ended;
  int set = 0;
  std::vector<std::unique_ptr<Event>> finished;  // by instruction, where anybody waits for it
};

class CopyPlayer final : public Player {
 public:
  explicit CopyPlayer(GroupState& state) : state_(state), lines_(std::size_t(state.ranks())) {}

  Result<void> prepare(const Algorithm& algorithm, const Layout& layout, const Call& call,
                       Deadline) override {
    if (auto compiled = assign(flow_, compile(algorithm, layout, call)); !compiled) return compiled;
    call_ = call;
    slice_ = 0;
    sources_ = 1;
    for (const Program& program : flow_.programs) {
      for (const Instruction& now : program.instructions) {
        slice_ = std::max(slice_, (now.length + 255) / 256 * 256);
        sources_ = std::max<std::uint64_t>(sources_, now.sources);
      }
    }
    for (Rank rank = 0; rank < state_.ranks(); ++rank)
      if (auto ready = equip(rank); !ready) return ready;
    return {};
  }

  Result<void> begin(Calls calls) override {
    for (DeviceContext& context : state_.contexts)
      if (auto recorded = context.stream->record(*context.start); !recorded) return recorded;
    for (Rank rank = 0; rank < state_.ranks(); ++rank) {  // after what was queued on the context's stream
      Lines& lines = lines_[std::size_t(rank)];
      for (Stream* stream : {lines.in.get(), lines.work.get(), lines.out.get()})
        if (auto waits = stream->wait(*state_.context(rank).start); !waits) return waits;
    }
    for (int i = 0; i < calls.count; ++i)
      for (const Place& place : flow_.order)
        if (auto queued = enqueue(place); !queued) return queued;
    for (Rank rank = 0; rank < state_.ranks(); ++rank) {
      Lines& lines = lines_[std::size_t(rank)];
      if (auto recorded = lines.work->record(*lines.ended); !recorded) return recorded;
      if (auto waits = state_.context(rank).stream->wait(*lines.ended); !waits) return waits;
    }
    for (DeviceContext& context : state_.contexts)
      if (auto recorded = context.stream->record(*context.stop); !recorded) return recorded;
    return {};
  }

  void stop() override {}  // copies and reductions end by themselves

  std::string where_stood() override {
    for (Rank rank = 0; rank < state_.ranks(); ++rank) {
      Lines& lines = lines_[std::size_t(rank)];
      const auto ended = lines.ended ? lines.ended->reached() : Result<bool>(true);
      if (ended && *ended) continue;
      std::size_t done = 0;
      for (std::size_t i = 0; i < lines.finished.size(); ++i) {
        const auto reached = lines.finished[i] ? lines.finished[i]->reached() : Result<bool>(false);
        if (reached && *reached) done = i + 1;
      }
      return fmt::format("{} had finished {} of {} instructions", state_.name(rank), done,
                         lines.finished.size());
    }
    return {};
  }

 private:
  // What a rank needs for these programs and has not got yet.
  Result<void> equip(Rank rank) {
    Device& device = *state_.context(rank).device;
    Lines& lines = lines_[std::size_t(rank)];
    Result<void> made;
    const auto event = [&](std::unique_ptr<Event>& it) {
      if (made && !it) made = assign(it, device.make_event());
    };
    for (auto* each : {&lines.in, &lines.work, &lines.out})
      if (made && !*each) made = assign(*each, device.make_stream());
    for (auto* each : {&lines.landed[0], &lines.landed[1], &lines.freed[0], &lines.freed[1], &lines.cleared,
                       &lines.lift, &lines.ended})
      event(*each);
    const auto& instructions = flow_.programs[std::size_t(rank)].instructions;
    lines.finished.resize(instructions.size());
    for (std::size_t i = 0; i < instructions.size(); ++i)
      if (instructions[i].signals) event(lines.finished[i]);

    bool lands = false, lifts = false;
    for (Rank owner = 0; owner < state_.ranks(); ++owner) {
      const Way way = state_.choices.of(rank, owner).way;
      lands |= way != Way::same_gpu;
      lifts |= way == Way::staged;
    }
    const std::uint64_t bytes = std::uint64_t(sets) * sources_ * slice_;
    const auto room = [&](std::unique_ptr<Memory>& it, MemoryKind kind) {
      if (!made || !bytes || (it && it->bytes() >= bytes)) return;
      it.reset();
      made = assign(it, device.allocate(kind, bytes));
    };
    if (lands) room(lines.landing, MemoryKind::device);
    if (lifts) room(lines.lifted, MemoryKind::pinned);
    return made;
  }

  std::byte* address(Rank rank, std::uint32_t space, std::uint64_t offset) {
    return state_.space(state_.context(rank), rank, space) + offset;
  }
  std::byte* slot(const Memory& memory, int set, std::uint32_t source) const {
    return memory.at() + (std::uint64_t(set) * sources_ + source) * slice_;
  }

  // Brings one source's bytes into this rank's GPU, at `into`.
  Result<void> bring(Rank rank, Rank owner, std::byte* into, const std::byte* from, std::byte* lifted,
                     std::uint64_t bytes) {
    Lines& lines = lines_[std::size_t(rank)];
    if (state_.choices.of(rank, owner).way != Way::staged) return lines.in->copy(into, from, bytes);
    Stream& out = *lines_[std::size_t(owner)].out;
    Event& lift = *lines_[std::size_t(owner)].lift;
    return lines.in->record(*lines.cleared)
        .and_then([&] { return out.wait(*lines.cleared); })
        .and_then([&] { return out.copy(lifted, from, bytes); })
        .and_then([&] { return out.record(lift); })
        .and_then([&] { return lines.in->wait(lift); })
        .and_then([&] { return lines.in->copy(into, lifted, bytes); });
  }

  Result<void> enqueue(Place place) {
    const Rank rank = Rank(place.rank);
    const Program& program = flow_.programs[place.rank];
    const Instruction& now = program.instructions[place.instruction];
    Lines& lines = lines_[place.rank];
    for (std::uint32_t w = 0; w < now.waits; ++w) {
      const Wait& wait = program.waits[now.first_wait + w];
      if (auto done = lines.in->wait(*lines_[wait.rank].finished[wait.finished - 1]); !done) return done;
    }
    const int set = lines.set;
    if (now.move != Move::nothing) {
      lines.set ^= 1;
      if (auto done = lines.in->wait(*lines.freed[set]); !done) return done;
    }
    Reduction job;
    job.into = address(rank, now.into_space, now.into);
    job.with = address(rank, now.with_space, now.with);
    for (std::uint32_t s = 0; s < now.sources; ++s) {
      const Source& source = program.sources[now.first_source + s];
      const Rank owner = Rank(source.rank);
      const std::byte* const from = address(owner, source.space, source.offset);
      const bool here = state_.context_of[std::size_t(owner)] == state_.context_of[std::size_t(rank)];
      std::byte* const lifted = lines.lifted ? slot(*lines.lifted, set, s) : nullptr;
      if (now.move == Move::store) {
        if (auto done = bring(rank, owner, job.into, from, lifted, now.length); !done) return done;
      } else if (here) {
        job.source[s] = from;
      } else {
        std::byte* const landing = slot(*lines.landing, set, s);
        if (auto done = bring(rank, owner, landing, from, lifted, now.length); !done) return done;
        job.source[s] = landing;
      }
    }
    if (auto done = lines.in->record(*lines.landed[set]); !done) return done;
    if (auto done = lines.work->wait(*lines.landed[set]); !done) return done;
    if (now.move == Move::reduce || now.move == Move::reduce_last) {
      job.sources = now.sources;
      job.elements = now.length / size_of(call_.type);
      job.ranks = std::uint32_t(state_.ranks());
      job.move = now.move;
      job.type = std::uint8_t(call_.type);
      job.operation = std::uint8_t(call_.operation);
      if (auto done = lines.work->run(job); !done) return done;
    }
    if (now.move != Move::nothing)
      if (auto done = lines.work->record(*lines.freed[set]); !done) return done;
    return lines.finished[place.instruction] ? lines.work->record(*lines.finished[place.instruction])
                                             : Result<void>();
  }

  GroupState& state_;
  Dataflow flow_;
  Call call_;
  std::uint64_t slice_ = 0, sources_ = 1;
  std::vector<Lines> lines_;
};

}  // namespace

Result<std::unique_ptr<Player>> make_copy_player(GroupState& state) {
  return std::make_unique<CopyPlayer>(state);
}

}  // namespace ringtrue::transport::cuda
