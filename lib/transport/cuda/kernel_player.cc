#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <tuple>

#include "transport/cuda/dataflow.h"
#include "transport/cuda/group_state.h"

namespace ringtrue::transport::cuda {
namespace {

using collective::Algorithm;
using collective::Call;
using collective::Layout;
using collective::Rank;

// Pinned: the host's word to the kernels, and what they leave when they stop.
struct Control {
  std::uint32_t abort = 0;
  Stop stops[max_ranks];
};

// One GPU's part of a compiled call.
struct Part {
  std::unique_ptr<Memory> memory;
  Interpretation job;
  std::unique_ptr<Graph> graph;
};

struct Prepared {
  std::string algorithm;
  Call call;
  Layout layout;
  std::vector<Part> parts;             // by context
  std::vector<std::uint32_t> lengths;  // by rank: instructions
  bool is(const Algorithm& other, const Layout& other_layout, const Call& with) const {
    const auto key = [](const Call& c) {
      return std::tuple(c.elements, c.type, c.operation, c.slice_bytes, c.shift);
    };
    return algorithm == other.name && layout.node_of_rank == other_layout.node_of_rank &&
           key(call) == key(with);
  }
};

// A block of memory put together on the host: addresses are those that it will have.
class Image {
 public:
  template <class T>
  std::uint64_t add(const std::vector<T>& items) {
    bytes_.resize((bytes_.size() + 255) / 256 * 256);
    const std::uint64_t at = bytes_.size();
    bytes_.resize(at + std::max<std::size_t>(items.size(), 1) * sizeof(T));
    if (!items.empty()) std::memcpy(bytes_.data() + at, items.data(), items.size() * sizeof(T));
    return at;
  }
  template <class T>
  void set(std::uint64_t at, const std::vector<T>& items) {
    std::memcpy(bytes_.data() + at, items.data(), items.size() * sizeof(T));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class KernelPlayer final : public Player {
 public:
  KernelPlayer(GroupState& state, std::unique_ptr<Memory> control)
      : state_(state), memory_(std::move(control)), control_(*new (memory_->at()) Control) {}

  Result<void> prepare(const Algorithm& algorithm, const Layout& layout, const Call& call,
                       Deadline deadline) override {
    const auto known = std::find_if(prepared_.begin(), prepared_.end(),
                                    [&](const auto& each) { return each->is(algorithm, layout, call); });
    if (known != prepared_.end()) {
      std::rotate(prepared_.begin(), known, known + 1);  // the newest is the first
      return {};
    }
    const auto flow = compile(algorithm, layout, call);
    if (!flow) return tl::unexpected(flow.error());
    auto made = std::make_unique<Prepared>();
    made->algorithm = algorithm.name;
    made->call = call;
    made->layout = layout;
    for (const Program& program : flow->programs)
      made->lengths.push_back(std::uint32_t(program.instructions.size()));
    if (prepared_.size() == max_prepared) prepared_.pop_back();
    for (DeviceContext& context : state_.contexts) {
      auto part = place(context, *flow, call, deadline);
      if (!part) return tl::unexpected(part.error());
      made->parts.push_back(std::move(*part));
    }
    prepared_.insert(prepared_.begin(), std::move(made));
    return {};
  }

  Result<void> begin(Calls calls) override {
    Prepared& now = *prepared_.front();
    for (Stop& stop : control_.stops) stop = {};
    for (std::size_t p = 0; p < state_.contexts.size(); ++p) {
      Stream& stream = *state_.contexts[p].stream;
      Part& part = now.parts[p];
      if (calls.graph && !part.graph) {
        if (auto capture = stream.begin_capture(); !capture) return capture;
        const auto queued = stream.run(part.job);
        auto graph = stream.end_capture();
        if (!queued) return queued;
        if (!graph) return tl::unexpected(graph.error());
        part.graph = std::move(*graph);
      }
    }
    for (DeviceContext& context : state_.contexts)
      if (auto recorded = context.stream->record(*context.start); !recorded) return recorded;
    // Call by call over all GPUs: none gets far ahead of the others.
    for (int i = 0; i < calls.count; ++i) {
      for (std::size_t p = 0; p < state_.contexts.size(); ++p) {
        Stream& stream = *state_.contexts[p].stream;
        Part& part = now.parts[p];
        if (auto queued = calls.graph ? part.graph->launch(stream) : stream.run(part.job); !queued)
          return queued;
      }
    }
    for (DeviceContext& context : state_.contexts)
      if (auto recorded = context.stream->record(*context.stop); !recorded) return recorded;
    return {};
  }

  void stop() override { std::atomic_ref(control_.abort).store(1, std::memory_order_release); }

  std::string where_stood() override {
    const auto stop_of = [&](std::uint32_t rank) -> const Stop* {
      const Stop& stop = control_.stops[rank];
      return std::atomic_ref(const_cast<std::uint64_t&>(stop.stopped)).load(std::memory_order_acquire)
                 ? &stop
                 : nullptr;
    };
    // From anybody who waited to whom that one waited for, and so on: to who waited for a rank that says
    // nothing.
    std::uint32_t rank = 0;
    while (rank < std::uint32_t(state_.ranks()) && !stop_of(rank)) ++rank;
    if (rank == std::uint32_t(state_.ranks())) return {};
    for (Rank turns = 0; turns < state_.ranks() && stop_of(stop_of(rank)->peer); ++turns)
      rank = stop_of(rank)->peer;
    const Stop& stop = *stop_of(rank);
    return fmt::format(
        "{} stood at instruction {} of {} and waited for {} to finish {} of its {}, and had "
        "seen {}",
        state_.name(Rank(rank)), stop.instruction, prepared_.front()->lengths[rank],
        state_.name(Rank(stop.peer)), stop.wanted, prepared_.front()->lengths[stop.peer], stop.had);
  }

 private:
  static constexpr std::size_t max_prepared = 4;

  Result<Part> place(DeviceContext& context, const Dataflow& flow, const Call& call, Deadline deadline) {
    Part part;
    Image image;
    std::vector<Work> works;
    std::uint64_t max_length = 0;
    for (const Rank rank : context.ranks) {
      const Program& program = flow.programs[std::size_t(rank)];
      for (const Instruction& instruction : program.instructions)
        max_length = std::max(max_length, instruction.length);
      std::vector<Peer> peers(std::size_t(state_.ranks()), Peer());
      for (Rank other = 0; other < state_.ranks(); ++other) {
        peers[std::size_t(other)] = {
            {state_.space(context, other, 0), state_.space(context, other, 1)},
            reinterpret_cast<std::uint64_t*>(context.base[std::size_t(other)] + Region::progress) + rank};
      }
      std::byte* const own = context.base[std::size_t(rank)];
      Work work;
      work.progress = reinterpret_cast<const std::uint64_t*>(own + Region::progress);
      work.call = reinterpret_cast<std::uint32_t*>(own + Region::call);
      work.stop = &control_.stops[rank];
      work.count = std::uint32_t(program.instructions.size());
      work.rank = std::uint32_t(rank);
      work.ranks = std::uint32_t(state_.ranks());
      // Offsets, until the memory is there.
      const auto offset = [&](auto& pointer, const auto& items) {
        pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(image.add(items));
      };
      offset(work.instructions, program.instructions);
      offset(work.sources, program.sources);
      offset(work.waits, program.waits);
      offset(work.peers, peers);
      offset(work.arrived, std::vector<std::uint32_t>(program.instructions.size()));
      works.push_back(work);
    }
    const std::uint64_t table = image.add(works);
    if (auto made = assign(part.memory, context.device->allocate(MemoryKind::device, image.bytes().size()));
        !made)
      return tl::unexpected(made.error());
    std::byte* const base = part.memory->at();
    for (Work& work : works) {
      const auto place = [&](auto& pointer) {
        pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
            base + reinterpret_cast<std::uintptr_t>(pointer));
      };
      place(work.instructions);
      place(work.sources);
      place(work.waits);
      place(work.peers);
      place(work.arrived);
    }
    image.set(table, works);
    if (auto there = context.staging->to_gpu(*context.stream, base, image.bytes().data(),
                                             image.bytes().size(), deadline);
        !there)
      return tl::unexpected(there.error());

    const auto resident =
        context.device->resident_blocks(std::uint8_t(call.type), std::uint8_t(call.operation));
    if (!resident) return tl::unexpected(resident.error());
    const int max_blocks = *resident / int(works.size());
    if (max_blocks < 1)
      return fail(Cause::unavailable,
                  fmt::format("{} cannot hold the kernels of {} ranks at once", context.device->gpu().text(),
                              works.size()),
                  {}, "fewer ranks on that GPU");
    constexpr std::uint64_t bytes_of_block = 16 << 10;
    part.job.work = reinterpret_cast<const Work*>(base + table);
    part.job.abort = &control_.abort;
    part.job.works = std::uint32_t(works.size());
    part.job.blocks = std::uint32_t(std::clamp<std::uint64_t>(
        (max_length + bytes_of_block - 1) / bytes_of_block, 1, std::uint64_t(max_blocks)));
    part.job.type = std::uint8_t(call.type);
    part.job.operation = std::uint8_t(call.operation);
    part.job.system = works.size() != std::size_t(state_.ranks());
    return part;
  }

  GroupState& state_;
  std::unique_ptr<Memory> memory_;
  Control& control_;
  std::vector<std::unique_ptr<Prepared>> prepared_;
};

}  // namespace

Result<std::unique_ptr<Player>> make_kernel_player(GroupState& state) {
  auto control = state.contexts.front().device->allocate(MemoryKind::pinned, sizeof(Control));
  if (!control) return tl::unexpected(control.error());
  return std::make_unique<KernelPlayer>(state, std::move(*control));
}

}  // namespace ringtrue::transport::cuda
