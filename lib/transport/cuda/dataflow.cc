#include "transport/cuda/dataflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "collective/recorder.h"

namespace ringtrue::transport::cuda {

using collective::Algorithm;
using collective::Call;
using collective::Lane;
using collective::Layout;
using collective::Rank;
using collective::Slice;
using collective::Step;

namespace {

using Id = std::uint32_t;
constexpr Id nobody = ~Id(0);

// One receive, or one copy: a move to be.
struct Node {
  Rank rank = 0;
  Move move = Move::nothing;
  Slice into, with;
  std::vector<Source> sources;
  std::vector<Id> after;  // what it waits for
};

// Who wrote the bytes of a rank's buffer last, and who has read them since.
class Bytes {
 public:
  void read(const Slice& slice, Id reader, std::vector<Id>& after, Id initially) {
    visit(slice, [&](Segment& segment) {
      after.push_back(segment.writer == nobody ? initially : segment.writer);
      if (segment.readers.empty() || segment.readers.back() != reader) segment.readers.push_back(reader);
    });
  }
  void write(const Slice& slice, Id writer, std::vector<Id>& after) {
    visit(slice, [&](Segment& segment) {
      after.insert(after.end(), segment.readers.begin(), segment.readers.end());
      if (segment.writer != nobody) after.push_back(segment.writer);
    });
    if (!slice.length) return;
    auto& map = maps_[int(slice.space)];
    map.erase(map.lower_bound(slice.offset), map.lower_bound(slice.offset + slice.length));
    map[slice.offset] = {slice.offset + slice.length, writer, {}};
  }
  template <class Each>
  void all_readers(Each each) const {
    for (const auto& map : maps_)
      for (const auto& [begin, segment] : map)
        for (const Id reader : segment.readers) each(reader);
  }

 private:
  struct Segment {
    std::uint64_t end = 0;
    Id writer = nobody;
    std::vector<Id> readers;
  };
  using Map = std::map<std::uint64_t, Segment>;

  static void split(Map& map, std::uint64_t at) {
    auto next = map.upper_bound(at);
    if (next == map.begin()) return;
    auto& [begin, segment] = *std::prev(next);
    if (begin == at || segment.end <= at) return;
    Segment upper = segment;
    segment.end = at;
    map.emplace_hint(next, at, std::move(upper));
  }
  // Segments that make up exactly the slice, in order; new ones for bytes that nobody has touched.
  template <class Each>
  void visit(const Slice& slice, Each each) {
    Map& map = maps_[int(slice.space)];
    const std::uint64_t end = slice.offset + slice.length;
    if (!slice.length) return;
    split(map, slice.offset);
    split(map, end);
    for (std::uint64_t at = slice.offset; at < end;) {
      const auto found = map.lower_bound(at);
      const std::uint64_t next = found == map.end() ? end : std::min(end, found->first);
      if (next > at) map[at] = {next, nobody, {}};
      Segment& segment = map[at];
      each(segment);
      at = segment.end;
    }
  }
  Map maps_[2];
};

using LaneKey = std::tuple<Rank, Rank, Lane>;  // sender, receiver

class Compiler {
 public:
  Compiler(const Algorithm& algorithm, const Layout& layout, const Call& call)
      : ranks_(layout.ranks()), count_(std::size_t(ranks_)), steps_(count_), begins_(count_) {
    for (Rank r = 0; r < ranks_; ++r) {
      begins_[std::size_t(r)] = add(r);
      steps_[std::size_t(r)] = collective::record(algorithm, layout, r, call);
    }
  }

  Result<Dataflow> compile() {
    if (auto met = meet(); !met) return tl::unexpected(met.error());
    depend();
    for (Rank r = 0; r < ranks_; ++r) ends_.push_back(finish(r));
    for (Node& node : nodes_) {
      std::sort(node.after.begin(), node.after.end());
      node.after.erase(std::unique(node.after.begin(), node.after.end()), node.after.end());
    }
    if (!order()) return fail(Cause::internal, "the collective waits for itself");
    return write();
  }

 private:
  Id add(Rank rank) {
    nodes_.emplace_back().rank = rank;
    return Id(nodes_.size() - 1);
  }

  // A node for each receive, and for each send the node that reads it.
  Result<void> meet() {
    std::map<LaneKey, std::deque<std::pair<Id, const Step*>>> receives;
    nodes_of_.resize(steps_.size());
    for (Rank r = 0; r < ranks_; ++r) {
      const std::vector<Step>& steps = steps_[std::size_t(r)];
      std::vector<Id>& ids = nodes_of_[std::size_t(r)];
      ids.assign(steps.size(), nobody);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const Step& step = steps[i];
        if (step.kind == Step::Kind::send) continue;
        // Several sources of one receive are one post, and have one number.
        const bool more = i > 0 && steps[i - 1].step == step.step && step.kind != Step::Kind::copy;
        ids[i] = more ? ids[i - 1] : add(r);
        Node& node = nodes_[ids[i]];
        node.into = step.slice;
        if (step.kind == Step::Kind::copy) {
          node.move = Move::store;
          node.sources.push_back({step.with.offset, std::uint32_t(r), std::uint32_t(step.with.space)});
          continue;
        }
        if (!more) node.with = step.with;
        node.move = step.kind == Step::Kind::receive  ? Move::store
                    : step.kind == Step::Kind::reduce ? Move::reduce
                                                      : Move::reduce_last;
        receives[{step.peer, r, step.lane}].emplace_back(ids[i], &step);
        node.sources.push_back({0, std::uint32_t(step.peer), 0});  // where: when its send is met
      }
    }
    for (Rank r = 0; r < ranks_; ++r) {
      const std::vector<Step>& steps = steps_[std::size_t(r)];
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const Step& step = steps[i];
        if (step.kind != Step::Kind::send) continue;
        auto& waiting = receives[{r, step.peer, step.lane}];
        if (waiting.empty() || waiting.front().second->slice.length != step.slice.length)
          return fail(Cause::internal,
                      fmt::format("rank {} sends what rank {} does not receive", r, step.peer));
        const Id id = waiting.front().first;
        waiting.pop_front();
        nodes_of_[std::size_t(r)][i] = id;
        for (Source& source : nodes_[id].sources) {
          if (source.rank == std::uint32_t(r))
            source = {step.slice.offset, source.rank, std::uint32_t(step.slice.space)};
        }
      }
    }
    for (const auto& [lane, waiting] : receives) {
      if (!waiting.empty())
        return fail(Cause::internal, fmt::format("rank {} receives what rank {} does not send",
                                                 std::get<1>(lane), std::get<0>(lane)));
    }
    return {};
  }

  // In the order in which a rank posts, each of its posts sees what the ones before it left.
  void depend() {
    bytes_.resize(steps_.size());
    for (Rank r = 0; r < ranks_; ++r) {
      Bytes& bytes = bytes_[std::size_t(r)];
      const std::vector<Step>& steps = steps_[std::size_t(r)];
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const Step& step = steps[i];
        const Id id = nodes_of_[std::size_t(r)][i];
        Node& node = nodes_[id];
        if (step.kind == Step::Kind::send) {
          bytes.read(step.slice, id, node.after, begins_[std::size_t(r)]);
          continue;
        }
        const bool last = i + 1 == steps.size() || nodes_of_[std::size_t(r)][i + 1] != id;
        if (!last) continue;  // a post of several sources is one write
        const Slice with = step.kind == Step::Kind::copy ? step.with : node.with;
        bytes.read(with, id, node.after, begins_[std::size_t(r)]);
        bytes.write(node.into, id, node.after);
        std::erase(node.after, id);  // it may read what it writes
      }
    }
  }

  Id finish(Rank rank) {
    const Id id = add(rank);
    bytes_[std::size_t(rank)].all_readers([&](Id reader) {
      if (nodes_[reader].rank != rank) nodes_[id].after.push_back(reader);
    });
    return id;
  }

  // Plays the nodes on paper: a rank does one at a time, the earliest posted of those that are ready. Costs
  // are in bytes moved.
  bool order() {
    constexpr std::uint64_t overhead = 32 << 10, telling = 128 << 10;
    struct Moment {
      std::uint64_t time;
      Id node;
      bool finished;  // else it has become ready
      bool operator>(const Moment& other) const {
        return std::tie(time, node, finished) > std::tie(other.time, other.node, other.finished);
      }
    };
    std::vector<std::vector<Id>> before(nodes_.size());
    std::vector<std::size_t> missing(nodes_.size());
    std::vector<std::uint64_t> ready_at(nodes_.size());
    std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments;
    std::vector<std::size_t> left(count_);
    for (Id id = 0; id < nodes_.size(); ++id) {
      ++left[std::size_t(nodes_[id].rank)];
      missing[id] = nodes_[id].after.size();
      for (const Id other : nodes_[id].after) before[other].push_back(id);
    }
    std::vector<std::set<Id>> ready(count_);
    std::vector<bool> busy(count_);
    const auto start = [&](Rank rank, std::uint64_t now) {
      auto& waiting = ready[std::size_t(rank)];
      if (busy[std::size_t(rank)] || waiting.empty()) return;
      const Id id = *waiting.begin();
      // Nothing comes before the beginning, and the end comes last.
      if (id == ends_[std::size_t(rank)] && left[std::size_t(rank)] > 1) return;
      waiting.erase(waiting.begin());
      busy[std::size_t(rank)] = true;
      --left[std::size_t(rank)];
      order_.push_back(id);
      const Node& node = nodes_[id];
      const std::uint64_t touched = node.sources.size() + 1 + (node.move == Move::store ? 0 : 1);
      moments.push({now + overhead + touched * node.into.length, id, true});
    };
    for (Id id = 0; id < nodes_.size(); ++id)
      if (!missing[id]) ready[std::size_t(nodes_[id].rank)].insert(id);
    for (Rank r = 0; r < ranks_; ++r) start(r, 0);
    while (!moments.empty()) {
      const Moment moment = moments.top();
      moments.pop();
      const Rank rank = nodes_[moment.node].rank;
      if (!moment.finished) {
        ready[std::size_t(rank)].insert(moment.node);
      } else {
        busy[std::size_t(rank)] = false;
        for (const Id next : before[moment.node]) {
          const std::uint64_t latency = nodes_[next].rank == rank ? 0 : telling;
          ready_at[next] = std::max(ready_at[next], moment.time + latency);
          if (--missing[next] == 0) moments.push({ready_at[next], next, false});
        }
      }
      start(rank, moment.time);
    }
    return order_.size() == nodes_.size();
  }

  Result<Dataflow> write() {
    Dataflow flow;
    flow.programs.resize(count_);
    std::vector<std::uint32_t> index(nodes_.size());
    for (const Id id : order_) {
      const Rank rank = nodes_[id].rank;
      index[id] = std::uint32_t(flow.programs[std::size_t(rank)].instructions.size());
      flow.programs[std::size_t(rank)].instructions.emplace_back();
      flow.order.push_back({std::uint32_t(rank), index[id]});
    }
    // What each rank has waited for already holds for all that it does later.
    std::vector<std::vector<std::uint32_t>> known_of(count_, std::vector<std::uint32_t>(count_));
    for (const Id id : order_) {
      const Node& node = nodes_[id];
      Program& program = flow.programs[std::size_t(node.rank)];
      if (program.instructions.size() > max_instructions)
        return fail(
            Cause::bad_input,
            fmt::format("{} instructions for rank {} are too many", program.instructions.size(), node.rank),
            {}, "use longer slices");
      std::vector<std::uint32_t> wanted(count_);
      for (const Id other : node.after) {
        auto& finished = wanted[std::size_t(nodes_[other].rank)];
        finished = std::max(finished, index[other] + 1);
      }
      Instruction& instruction = program.instructions[index[id]];
      instruction.into = node.into.offset;
      instruction.into_space = std::uint8_t(node.into.space);
      instruction.with = node.with.offset;
      instruction.with_space = std::uint8_t(node.with.space);
      instruction.length = node.into.length;
      instruction.move = node.move;
      instruction.first_source = std::uint32_t(program.sources.size());
      instruction.sources = std::uint16_t(node.sources.size());
      program.sources.insert(program.sources.end(), node.sources.begin(), node.sources.end());
      instruction.first_wait = std::uint32_t(program.waits.size());
      for (Rank r = 0; r < ranks_; ++r) {
        auto& known = known_of[std::size_t(node.rank)][std::size_t(r)];
        if (wanted[std::size_t(r)] <= known || (r == node.rank && wanted[std::size_t(r)] <= 1)) continue;
        known = wanted[std::size_t(r)];
        program.waits.push_back({std::uint32_t(r), known});
        ++instruction.waits;
        flow.programs[std::size_t(r)].instructions[known - 1].signals |= std::uint64_t(1) << node.rank;
      }
    }
    return flow;
  }

  const Rank ranks_;
  const std::size_t count_;  // of ranks
  std::vector<std::vector<Step>> steps_;
  std::vector<Id> begins_, ends_;
  std::vector<Node> nodes_;
  std::vector<std::vector<Id>>
      nodes_of_;  // by rank and step: the node that a receive makes or a send is read by
  std::vector<Bytes> bytes_;
  std::vector<Id> order_;
};

}  // namespace

Call sliced(Call call, Rank ranks) {
  constexpr std::uint64_t min_slice = 256 << 10, max_slice = 4 << 20;
  const std::uint64_t share = call.bytes() / std::uint64_t(std::max<Rank>(ranks, 1)) / 4;
  call.slice_bytes = std::clamp(share, min_slice, max_slice) / 16 * 16;
  call.lanes = 1;
  call.cached = false;
  return call;
}

Result<Dataflow> compile(const Algorithm& algorithm, const Layout& layout, const Call& call) {
  if (layout.ranks() > max_ranks)
    return fail(Cause::bad_input, fmt::format("{} ranks are more than the {} that GPUs of a node play",
                                              layout.ranks(), max_ranks));
  if (algorithm.uses_packets())
    return fail(Cause::bad_input,
                fmt::format("{} does not run between GPUs: its messages depend on the data", algorithm.name),
                {}, "use another algorithm, or host memory");
  return Compiler(algorithm, layout, call).compile();
}

}  // namespace ringtrue::transport::cuda
