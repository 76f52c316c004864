// What a broken or hostile peer may send to a worker or an aggregator of an OmniReduce, in a world that the
// input drives: packets of every rank, whose end comes later than their header, sends that take their time,
// timers. Whatever comes, bytes only go where the rank's own memory is, and so do those that are sent.
#include "collective/omnireduce/omnireduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "collective/omnireduce/block_aggregator.h"
#include "collective/omnireduce/block_worker.h"
#include "collective/omnireduce/pair_aggregator.h"
#include "collective/omnireduce/pair_worker.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace ringtrue;
using namespace ringtrue::collective;

struct Input {
  const std::uint8_t* at;
  const std::uint8_t* end;
  bool empty() const { return at == end; }
  std::uint8_t byte() { return empty() ? 0 : *at++; }
};

class World final : public Endpoint, public Packets, public NonZeroBlocks {
 public:
  World(Rank rank, const Call& call, bool reliable, std::uint8_t blocks)
      : call_(call),
        shape_(call),
        rank_(rank),
        reliable_(reliable),
        pattern_(blocks),
        layout_(Layout::uniform(call.omni.workers + call.omni.aggregators, 1)),
        scratch_(omnireduce_scratch(layout_, rank, call)) {}

  // What the input lets happen.
  void finish_one() {
    if (pending_.empty()) return;
    const std::uint64_t id = pending_.front();
    pending_.pop_front();
    now_ += Seconds(1e-3);
    const auto waiter = waiters_.find(id);
    if (waiter == waiters_.end()) return;
    const std::coroutine_handle<> resumed = waiter->second;
    waiters_.erase(waiter);
    resumed.resume();
  }
  void hurry(Seconds by) { now_ += by; }

  void header(Rank from, std::span<const std::byte> bytes) {
    if (!handler_ || placed_.contains(from)) return;  // its packet before this one is not complete
    std::vector<PacketPart> parts;
    const Placed placed = handler_->place(from, bytes, parts);
    expect(placed != (reliable_ ? Placed::dropped : Placed::broken));
    if (placed == Placed::broken) over_ = true;
    if (placed != Placed::accepted) {
      expect(parts.empty());
      return;
    }
    expect(parts.size() <= max_packet_parts);
    for (const PacketPart& part : parts) {
      check(part.into);
      const bool pairs = call_.omni.pairs > 0;
      expect(part.into.space == (rank_ < call_.omni.workers && !pairs ? Space::data : Space::scratch));
      expect(part.reduce == (rank_ >= call_.omni.workers && !pairs));
    }
    placed_[from].assign(bytes.begin(), bytes.end());
  }
  void arrive(Rank from) {
    const auto placed = placed_.find(from);
    if (placed == placed_.end() || !handler_) return;
    const std::vector<std::byte> bytes = std::move(placed->second);
    placed_.erase(placed);
    handler_->arrived(from, bytes);
  }
  void ask() const {
    if (!handler_) return;
    const Rank rank = handler_->waiting_for();
    expect(rank >= -1 && rank < layout_.ranks() && rank != rank_);
  }
  bool over() const { return over_; }
  // Of the packet that the stream's peer would send now, as far as this rank's own packets tell.
  std::uint32_t round_of(std::uint16_t stream) { return rounds_[stream]; }
  // Of pairs, the last key that this rank said would come next or wanted.
  std::uint64_t key_of(std::uint16_t stream) { return next_[stream]; }

  // Endpoint.
  Rank rank() const override { return rank_; }
  const Layout& layout() const override { return layout_; }
  Token send_all(std::span<const Rank> to, Lane lane, Slice from) override {
    expect(to.size() == 1 && to[0] >= 0 && to[0] < layout_.ranks() && lane == farewell_lane &&
           from.length == 0);
    return post();
  }
  Token receive_reduce(Rank from, Lane lane, Slice into, Slice, Arrival how) override {
    expect(how == Arrival::store);
    return send(from, lane, into);
  }
  Token receive_reduce_all(std::span<const Rank>, Lane, Slice, Arrival) override { return none(); }
  void copy(Slice, Slice) override { none(); }
  Packets* packets() override { return this; }
  bool done(Token token) const override {
    return token.id == 0 || std::find(pending_.begin(), pending_.end(), token.id) == pending_.end();
  }
  void resume_when_done(Token token, std::coroutine_handle<> waiter) override {
    expect(!done(token) && !waiters_.contains(token.id));
    waiters_[token.id] = waiter;
  }

  // Packets.
  bool reliable() const override { return reliable_; }
  void handle(PacketHandler* handler) override { handler_ = handler; }
  Token send_packet(std::span<const Rank> to, std::span<const std::byte> header,
                    std::span<const Slice> parts) override {
    expect(header.size() <= max_header(call_) && !to.empty());
    for (const Rank rank : to) expect(rank >= 0 && rank < layout_.ranks() && rank != rank_);
    for (const Slice& part : parts) check(part);
    note_round(header);
    return post();
  }
  void collect(Slice into, std::span<const std::uint64_t> elements) override {
    check(into);
    check(elements, into);
  }
  void distribute(std::span<const std::uint64_t> elements, Slice from) override {
    check(from);
    check(elements, from);
  }
  void combine(Slice into, std::span<const std::uint32_t> places, Slice from) override {
    check(into);
    check(from);
    expect(places.size() * size_of(call_.type) == from.length);
    for (const std::uint32_t place : places) expect(place < into.length / size_of(call_.type));
  }
  void neutral(Slice into) override { check(into); }
  void conclude(Slice into, Rank missing) override {
    check(into);
    expect(missing >= 0 && missing <= call_.omni.workers);
  }
  NonZeroBlocks& non_zero() override { return *this; }
  Seconds now() const override { return now_; }
  Token timer(Seconds) override { return post(); }
  void cancel(Token token) override {
    std::erase(pending_, token.id);
    waiters_.erase(token.id);
  }
  Token idle() override { return post(); }
  PacketCounts& counts() override { return counts_; }
  void give_up(Rank peer, std::string what) override {
    expect(peer >= 0 && peer < layout_.ranks() && !what.empty());
    over_ = true;
  }

  // NonZeroBlocks.
  std::uint64_t blocks() const override { return shape_.blocks(); }
  std::uint64_t known() const override { return known_; }
  bool operator[](std::uint64_t block) const override {
    expect(block < known_);
    return pattern_ >> block % 8 & 1;
  }
  void values(std::uint64_t block, std::vector<std::uint64_t>& elements) const override {
    expect(block < known_);
    const std::uint64_t begin = block * call_.omni.block;
    for (std::uint64_t i = begin; i < std::min(begin + call_.omni.block, call_.elements); ++i) {
      if (pattern_ >> i % 7 & 1) elements.push_back(i);
    }
  }
  void look_further() override { known_ = std::min(known_ + 3, shape_.blocks()); }

 private:
  Token post() {
    pending_.push_back(++last_);
    return {last_};
  }
  static Token none() {
    expect(false);
    return {};
  }
  void note_round(std::span<const std::byte> header) {
    if (call_.omni.pairs > 0) {
      PairHeader packet;
      expect(decode(header, packet));
      rounds_[packet.start.stream] = packet.start.round + (packet.kind == PairHeader::Kind::merged);
      if (packet.next != no_key) next_[packet.start.stream] = packet.next;
      return;
    }
    const std::optional<OmniHeader> packet = decode(header);
    expect(packet.has_value());
    rounds_[packet->stream] = packet->round + (packet->kind == OmniHeader::Kind::result);
  }
  void check(std::span<const std::uint64_t> elements, Slice slice) const {
    expect(elements.size() * size_of(call_.type) == slice.length);
    for (const std::uint64_t element : elements) expect(element < call_.elements);
  }
  void check(Slice slice) const {
    const std::uint64_t size = slice.space == Space::data ? call_.bytes() : scratch_;
    expect(slice.length > 0 && slice.offset <= size && slice.length <= size - slice.offset);
  }

  const Call call_;
  const OmniShape shape_;
  const Rank rank_;
  const bool reliable_;
  const std::uint8_t pattern_;
  const Layout layout_;
  const std::uint64_t scratch_;
  PacketHandler* handler_ = nullptr;
  PacketCounts counts_;
  Seconds now_;
  std::uint64_t last_ = 0, known_ = 0;
  std::deque<std::uint64_t> pending_;
  std::map<std::uint64_t, std::coroutine_handle<>> waiters_;
  std::map<Rank, std::vector<std::byte>> placed_;
  std::map<std::uint16_t, std::uint32_t> rounds_;
  std::map<std::uint16_t, std::uint64_t> next_;
  bool over_ = false;
};

// A header whose fields make sense often enough to be accepted.
void likely_packet(World& world, Input& input, const Call& call, Rank from) {
  OmniHeader packet;
  const std::uint8_t what = input.byte();
  const bool blocks = (world.rank() >= call.omni.workers) != (what % 16 == 15);
  packet.kind = blocks ? OmniHeader::Kind::blocks : OmniHeader::Kind::result;
  packet.stream = std::uint16_t((what >> 4) % (call.omni.streams + 1));
  const std::uint8_t late = input.byte();
  packet.round = world.round_of(packet.stream) + (late >= 0xf0 ? 1u : late >= 0xe0 ? 0xffffffffu : 0u);
  packet.mask = input.byte();
  for_each_column(packet.mask, [&](std::uint32_t c) {
    const std::uint8_t row = input.byte();
    packet.row[c] = row >= 0xc0 ? no_row : row % 16;
  });
  std::array<std::byte, max_block_header_bytes> bytes;
  const std::size_t length = encode(packet, HeaderBytes(bytes));
  world.header(from, std::span(bytes).first(length));
}

void likely_pairs(World& world, Input& input, const Call& call, Rank from) {
  PairHeader packet;
  const std::uint8_t what = input.byte();
  const bool pairs = (world.rank() >= call.omni.workers) != (what % 16 == 15);
  packet.kind = pairs ? PairHeader::Kind::pairs : PairHeader::Kind::merged;
  packet.key_bytes = std::uint8_t(call.omni.key_bytes);
  packet.start.stream = std::uint16_t((what >> 4) % (call.omni.streams + 1));
  const std::uint8_t late = input.byte();
  packet.start.round = world.round_of(packet.start.stream) + (late >= 0xf0   ? 1u
                                                              : late >= 0xe0 ? 0xffffffffu
                                                                             : 0u);
  std::uint64_t key = world.key_of(packet.start.stream);
  for (int left = late % 6; left > 0; --left) {
    packet.keys.push_back(key);
    const std::uint8_t step = input.byte();
    // The next one of the stream's mostly, sometimes of its next block.
    key += step < 0x80 ? 1 : 1 + std::uint64_t(step % 4) * call.omni.block * (call.omni.streams - 1);
  }
  packet.next = input.byte() >= 0xa0 ? no_key : key;
  std::vector<std::byte> bytes;
  encode(packet, bytes);
  world.header(from, bytes);
}

void raw_packet(World& world, Input& input, Rank from) {
  const std::size_t wanted = input.byte();
  const std::size_t length = std::min(wanted, std::size_t(input.end - input.at));
  std::vector<std::byte> bytes(length);
  if (length > 0) std::memcpy(bytes.data(), input.at, length);
  input.at += length;
  if (PairHeader pairs; decode(bytes, pairs)) {
    std::vector<std::byte> again;
    encode(pairs, again);
    expect(again == bytes);
  }
  if (const auto header = decode(bytes)) {
    std::array<std::byte, max_block_header_bytes> again;
    expect(encode(*header, HeaderBytes(again)) == length);
    expect(std::memcmp(again.data(), bytes.data(), length) == 0);
  }
  world.header(from, bytes);
}

template <class Program>
void play(Input& input, Rank rank, const Call& call, bool reliable) {
  World world(rank, call, reliable, input.byte());
  const Layout layout = Layout::uniform(call.omni.workers + call.omni.aggregators, 1);
  if (!check_omni(layout, call)) return;
  const auto likely = call.omni.pairs > 0 ? likely_pairs : likely_packet;
  Program program(world, call);
  Task task = program.run();
  task.start();
  while (!input.empty() && !world.over() && !task.finished()) {
    const std::uint8_t action = input.byte();
    Rank from = (action >> 4) % Rank(layout.ranks());
    if (from == rank) from = (from + 1) % layout.ranks();
    switch (action % 8) {
      case 0:
      case 1:
        likely(world, input, call, from);
        break;
      case 2:
        likely(world, input, call, from);
        [[fallthrough]];
      case 3:
        world.arrive(from);
        break;
      case 4:
        raw_packet(world, input, from);
        break;
      case 5:
        world.finish_one();
        break;
      case 6:
        world.hurry(Seconds(0.1 * (action >> 4)));
        break;
      default:
        world.ask();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{data, data + size};
  const std::uint8_t kind = input.byte(), form = input.byte();
  Call call;
  call.elements = 1 + input.byte();
  call.omni.workers = 1 + kind / 16 % 4;
  call.omni.aggregators = 1 + kind / 64;
  call.omni.block = 3;
  call.omni.streams = 1 + form % 4;
  call.omni.fusion = 1 + form / 4 % 8;
  const bool reliable = kind & 1;
  call.omni.acked = !reliable || (kind & 2);
  const bool worker = kind & 4;
  if (kind & 8) {
    call.omni.fusion = 1;
    call.omni.pairs = 1 + form / 4 % 8;
    call.omni.key_bytes = form & 32 ? 8 : 4;
    worker ? play<PairWorker>(input, 0, call, reliable)
           : play<PairAggregator>(input, call.omni.workers, call, reliable);
  } else {
    worker ? play<BlockWorker>(input, 0, call, reliable)
           : play<BlockAggregator>(input, call.omni.workers, call, reliable);
  }
  return 0;
}
