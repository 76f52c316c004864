// A world for collectives that send packets: real bytes, one thread, every next event drawn from a seed, and
// a clock of its own. It is either reliable, or loses, doubles and reorders packets. It holds every program
// to the contract in collective/packets.h.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collective/algorithm.h"
#include "collective/packets.h"
#include "tests/support/sparse_reference.h"

namespace ringtrue::test {

using collective::Lane;
using collective::PacketHandler;
using collective::PacketPart;
using collective::Placed;
using collective::Slice;
using collective::Space;
using collective::Token;

struct Weather {
  bool reliable = true;
  double loss = 0, duplicate = 0, reorder = 0;  // shares; for worlds that are not reliable
};

class PacketWorld {
 public:
  using Call = collective::Call;

  PacketWorld(collective::Layout layout, Call call, std::uint64_t seed, Weather weather = {})
      : layout_(std::move(layout)), call_(call), weather_(weather), random_(seed) {
    const collective::Algorithm& algorithm = **collective::find_algorithm("omnireduce");
    for (Rank r = 0; r < layout_.ranks(); ++r) {
      ranks_.push_back(std::make_unique<Player>(*this, r));
      if (r < call_.omni.workers) ranks_.back()->data.resize(call_.bytes());
      ranks_.back()->scratch.resize(algorithm.scratch_bytes(layout_, r, call_), std::byte{0x5a});
    }
  }

  std::vector<std::byte>& data(Rank rank) { return player(rank).data; }
  const collective::PacketCounts& counts(Rank rank) { return player(rank).counts_; }
  const std::vector<collective::RoundSeen>& rounds(Rank rank) { return player(rank).rounds; }
  Rank given_up() const { return given_up_; }
  const std::string& given_up_because() const { return given_up_because_; }
  double now() const { return now_; }
  std::uint64_t packet_bytes(Rank rank) { return player(rank).packet_bytes; }
  std::uint64_t max_packet() const { return longest_; }
  Rank waiting_for(Rank rank) { return player(rank).handler ? player(rank).handler->waiting_for() : -1; }
  // From now on no packet from or to it arrives.
  void silence(Rank rank) { silent_.insert(rank); }
  // Sees every header before it is placed; false: the run is to stop.
  using Probe = std::function<bool(PacketHandler&, Rank from, Rank to, std::span<const std::byte> header)>;
  void probe(Probe probe) { probe_ = std::move(probe); }

  // Plays one call to its end. What went wrong first; empty if nothing did.
  std::string play() {
    lines_.clear();  // late packets of the call before: datagrams say which call they belong to
    for (auto& rank : ranks_) {
      rank->begin();
      ready_.push_back({rank.get(), nullptr});
    }
    while (problem_.empty() && given_up_ < 0 && !stopped_ && step()) {
    }
    if (!problem_.empty() || given_up_ >= 0 || stopped_) return problem_;
    for (auto& rank : ranks_) {
      if (!rank->program.finished()) complain(rank->me, "never finishes");
      if (rank->handler) complain(rank->me, "leaves its handler behind");
      if (rank->undone() > 0) complain(rank->me, "leaves a token behind");
    }
    for (const auto& [pair, line] : lines_) {
      if (weather_.reliable && !line.empty()) complain(pair.first, "leaves a packet behind");
    }
    for (const auto& [key, count] : farewells_) {
      if (!count.sends.empty() || !count.receives.empty())
        complain(std::get<0>(key), "leaves a message behind");
    }
    return problem_;
  }

 private:
  struct Packet {
    Rank from = 0;
    std::uint64_t token = 0;
    std::vector<std::byte> header;
    std::vector<Slice> parts;
    std::vector<std::byte> payload;  // once departed
    bool departed = false, placed = false;
    std::vector<PacketPart> into;
  };

  struct Player final : collective::Endpoint, collective::Packets {
    Player(PacketWorld& w, Rank r) : world(w), me(r) {}

    void begin() {
      program = (*collective::find_algorithm("omnireduce"))->program(*this, world.call_);
      blocks = std::make_unique<FakeBlocks>(world.call_.type, world.call_.omni.block, data, world.random_());
      counts_ = {};
      rounds.clear();
    }

    // Endpoint
    Rank rank() const override { return me; }
    const collective::Layout& layout() const override { return world.layout_; }
    collective::Packets* packets() override { return this; }
    Token send_all(std::span<const Rank> to, Lane lane, Slice from) override {
      return to.size() == 1 ? world.farewell(*this, me, to[0], lane, from) : unused("send_all");
    }
    Token receive_reduce(Rank from, Lane lane, Slice into, Slice, collective::Arrival how) override {
      return how == collective::Arrival::store ? world.farewell(*this, from, me, lane, into)
                                               : unused("receive_reduce");
    }
    Token receive_reduce_all(std::span<const Rank>, Lane, Slice, collective::Arrival) override {
      return unused("receive_reduce_all");
    }
    void copy(Slice, Slice) override { unused("copy"); }
    Token unused(const char* what) { return world.complain(me, std::string("calls ") + what), Token{}; }
    bool done(Token token) const override { return token.id == 0 || operations[token.id - 1].left == 0; }
    void resume_when_done(Token token, std::coroutine_handle<> waiter) override {
      if (done(token)) world.complain(me, "waits for what is done");
      if (operations[token.id - 1].waiter) world.complain(me, "waits twice for one token");
      operations[token.id - 1].waiter = waiter;
    }

    // Packets
    bool reliable() const override { return world.weather_.reliable; }
    void handle(PacketHandler* h) override {
      if (bool(h) == bool(handler)) world.complain(me, "sets its handler twice");
      handler = h;
    }
    Token send_packet(std::span<const Rank> to, std::span<const std::byte> header,
                      std::span<const Slice> parts) override {
      return world.send_packet(*this, to, header, parts);
    }
    void neutral(Slice into) override {
      if (!world.check_write(*this, into)) return;
      fill_neutral(world.call_.type, world.call_.operation, world.at(*this, into), into.length);
    }
    void conclude(Slice into, Rank missing) override {
      if (missing < 0 || missing >= world.call_.omni.workers) world.complain(me, "miscounts its workers");
      if (!world.check_write(*this, into)) return;
      conclude_sum(world.call_.type, world.call_.operation, world.at(*this, into), into.length,
                   world.call_.omni.workers, missing);
    }
    void collect(Slice into, std::span<const std::uint64_t> elements) override {
      if (!world.check_write(*this, into) || !world.check_elements(*this, elements, into.length)) return;
      const std::uint64_t size = collective::size_of(world.call_.type);
      for (std::size_t i = 0; i < elements.size(); ++i)
        std::memcpy(world.at(*this, into) + i * size, &data[elements[i] * size], size);
    }
    void distribute(std::span<const std::uint64_t> elements, Slice from) override {
      if (!world.inside(*this, from) || !world.check_elements(*this, elements, from.length)) return;
      if (world.arriving(*this, from, false)) world.complain(me, "reads what is arriving");
      const std::uint64_t size = collective::size_of(world.call_.type);
      for (std::size_t i = 0; i < elements.size(); ++i)
        std::memcpy(&data[elements[i] * size], world.at(*this, from) + i * size, size);
    }
    void combine(Slice into, std::span<const std::uint32_t> places, Slice from) override {
      if (!world.check_write(*this, into) || !world.inside(*this, from)) return;
      if (world.arriving(*this, from, false)) world.complain(me, "reads what is arriving");
      const std::uint64_t size = collective::size_of(world.call_.type);
      if (places.size() * size != from.length) world.complain(me, "miscounts its places");
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i] * size >= into.length || (i > 0 && places[i] <= places[i - 1]))
          return world.complain(me, "names places that are none");
        std::byte* at = world.at(*this, into) + places[i] * size;
        reduce(world.call_.type, world.call_.operation, at, at, world.at(*this, from) + i * size, size, false,
               1);
      }
    }
    collective::NonZeroBlocks& non_zero() override { return *blocks; }
    Seconds now() const override { return Seconds(world.now_); }
    Token timer(Seconds from_now) override {
      const Token token = open(1);
      world.timers_.emplace(world.now_ + from_now.value, std::pair{this, token.id});
      return token;
    }
    void cancel(Token timer) override {
      if (done(timer)) return;
      std::erase_if(world.timers_, [&](const auto& t) { return t.second == std::pair{this, timer.id}; });
      operations[timer.id - 1] = {};
    }
    Token idle() override {
      const Token token = open(1);
      world.idle_.push_back({this, token.id});
      return token;
    }
    collective::PacketCounts& counts() override { return counts_; }
    void seen(const collective::RoundSeen& round) override { rounds.push_back(round); }
    bool wants_rounds() const override { return true; }
    void give_up(Rank peer, std::string what) override {
      world.given_up_ = peer;
      world.given_up_because_ = std::move(what);
    }

    Token open(std::size_t parts) {
      operations.push_back({parts, nullptr});
      return Token{operations.size()};
    }
    void part_done(std::uint64_t id) {
      auto& operation = operations[id - 1];
      if (--operation.left > 0 || !operation.waiter) return;
      world.ready_.push_back({this, std::exchange(operation.waiter, nullptr)});
    }
    std::size_t undone() const {
      return std::size_t(std::count_if(operations.begin(), operations.end(),
                                       [](const Posted& operation) { return operation.left > 0; }));
    }
    struct Posted {
      std::size_t left = 0;  // parts that are not done
      std::coroutine_handle<> waiter;
    };
    PacketWorld& world;
    Rank me;
    std::vector<std::byte> data, scratch;
    std::unique_ptr<FakeBlocks> blocks;
    PacketHandler* handler = nullptr;
    std::deque<Posted> operations;  // token id - 1
    collective::PacketCounts counts_;
    std::vector<collective::RoundSeen> rounds;
    std::uint64_t packet_bytes = 0;
    collective::Task program;  // goes first
  };

  Player& player(Rank rank) { return *ranks_[std::size_t(rank)]; }
  void complain(Rank rank, const std::string& what) {
    if (problem_.empty()) problem_ = "rank " + std::to_string(rank) + " " + what;
  }
  bool drawn(double share) { return share > 0 && std::uniform_real_distribution<double>()(random_) < share; }

  static bool overlap(const Slice& a, const Slice& b) {
    return a.space == b.space && a.length && b.length && a.offset < b.offset + b.length &&
           b.offset < a.offset + a.length;
  }
  std::byte* at(Player& rank, const Slice& slice) {
    return (slice.space == Space::data ? rank.data : rank.scratch).data() + slice.offset;
  }
  bool inside(Player& rank, const Slice& slice) {
    const std::size_t size = slice.space == Space::data ? rank.data.size() : rank.scratch.size();
    const std::uint64_t element = collective::size_of(call_.type);
    if (slice.length == 0) return complain(rank.me, "names an empty slice"), false;
    if (slice.offset + slice.length > size) return complain(rank.me, "leaves its buffer"), false;
    if (slice.offset % element || slice.length % element) return complain(rank.me, "cuts an element"), false;
    return true;
  }
  // Whether packets on their way out still need the slice. A worker may get a block's sum while a copy of the
  // block, sent once more than needed, has not left.
  bool needed(Player& rank, const Slice& slice) {
    for (auto& [pair, line] : lines_) {
      if (pair.first != rank.me) continue;
      for (const Packet& packet : line) {
        if (packet.departed) continue;
        for (const Slice& part : packet.parts) {
          if (overlap(part, slice)) return true;
        }
      }
    }
    return false;
  }
  bool arriving(Player& rank, const Slice& slice, bool reduce) {
    for (auto& [pair, line] : lines_) {
      if (pair.second != rank.me || line.empty() || !line.front().placed) continue;
      for (const PacketPart& part : line.front().into) {
        if (overlap(part.into, slice) && !(reduce && part.reduce)) return true;
      }
    }
    return false;
  }
  bool check_elements(Player& rank, std::span<const std::uint64_t> elements, std::uint64_t bytes) {
    if (elements.size() * collective::size_of(call_.type) != bytes)
      return complain(rank.me, "miscounts its elements"), false;
    for (const std::uint64_t element : elements) {
      if (element >= call_.elements) return complain(rank.me, "names an element that is none"), false;
    }
    return true;
  }
  bool check_write(Player& rank, const Slice& slice) {
    if (!inside(rank, slice)) return false;
    if (needed(rank, slice)) return complain(rank.me, "writes what is being sent"), false;
    if (arriving(rank, slice, false)) return complain(rank.me, "writes what is arriving"), false;
    return true;
  }

  Token send_packet(Player& rank, std::span<const Rank> to, std::span<const std::byte> header,
                    std::span<const Slice> parts) {
    if (header.empty() || header.size() > collective::max_header_bytes)
      complain(rank.me, "sends a long header");
    if (parts.size() > collective::max_packet_parts) complain(rank.me, "sends too many parts");
    if (to.empty()) complain(rank.me, "sends to nobody");
    std::uint64_t bytes = header.size();
    for (const Slice& part : parts) {
      if (!inside(rank, part)) return {};
      const bool again = !weather_.reliable && part.space == Space::data;
      if (!again && arriving(rank, part, false)) complain(rank.me, "sends what is arriving");
      bytes += part.length;
    }
    longest_ = std::max(longest_, bytes);
    rank.packet_bytes += bytes * to.size();
    const Token token = rank.open(to.size());
    for (const Rank peer : to) {
      if (peer < 0 || peer >= layout_.ranks() ||
          (peer < call_.omni.workers) == (rank.me < call_.omni.workers)) {
        return complain(rank.me, "names a peer that is none"), Token{};
      }
      Packet packet;
      packet.from = rank.me;
      packet.token = token.id;
      packet.header.assign(header.begin(), header.end());
      packet.parts.assign(parts.begin(), parts.end());
      lines_[{rank.me, peer}].push_back(std::move(packet));
    }
    return token;
  }

  using Line = std::deque<Packet>;
  using Pair = std::pair<Rank, Rank>;

  void depart(const Pair& pair, Line& line, std::size_t i) {
    Packet& packet = line[i];
    Player& from = player(pair.first);
    for (const Slice& part : packet.parts) {
      packet.payload.insert(packet.payload.end(), at(from, part), at(from, part) + part.length);
    }
    packet.departed = true;
    from.part_done(packet.token);
    if (weather_.reliable) return;
    const bool silent = silent_.contains(pair.first) || silent_.contains(pair.second);
    Packet moved = std::move(packet);
    line.erase(line.begin() + std::ptrdiff_t(i));
    const std::size_t first = !line.empty() && line.front().placed ? 1 : 0;
    // Between those that have departed: they are the line's beginning.
    const auto insert = [&](Packet p) {
      std::size_t end = first;
      while (end < line.size() && line[end].departed) ++end;
      const std::size_t where = drawn(weather_.reorder) ? first + random_() % (end - first + 1) : end;
      line.insert(line.begin() + std::ptrdiff_t(where), std::move(p));
    };
    if (silent || drawn(weather_.loss)) return;
    if (drawn(weather_.duplicate)) insert(moved);
    insert(std::move(moved));
  }

  void deliver(const Pair& pair, Line& line) {
    Packet& packet = line.front();
    Player& to = player(pair.second);
    if (!to.handler) {
      if (!weather_.reliable) line.pop_front();
      return;
    }
    if (!packet.placed) {
      if (probe_ && !probe_(*to.handler, pair.first, pair.second, packet.header)) {
        stopped_ = true;
        return;
      }
      const Placed placed = to.handler->place(pair.first, packet.header, packet.into);
      if (placed == Placed::broken) return complain(pair.second, "calls a packet broken");
      if (placed == Placed::dropped) {
        if (weather_.reliable) complain(pair.second, "drops a packet");
        if (!packet.into.empty()) complain(pair.second, "places what it drops");
        line.pop_front();
        return;
      }
      if (packet.into.size() != packet.parts.size()) return complain(pair.second, "places other parts");
      for (std::size_t i = 0; i < packet.parts.size(); ++i) {
        const PacketPart& part = packet.into[i];
        if (part.into.length != packet.parts[i].length) return complain(pair.second, "places other lengths");
        if (!inside(to, part.into)) return;
        const bool again = !weather_.reliable && part.into.space == Space::data;
        if (!again && needed(to, part.into)) complain(pair.second, "receives into what is being sent");
        if (arriving(to, part.into, part.reduce)) complain(pair.second, "receives twice into one place");
        for (std::size_t k = 0; k < i; ++k) {
          if (overlap(packet.into[k].into, part.into)) complain(pair.second, "places parts upon another");
        }
      }
      packet.placed = true;
      // Nobody may look at it before it has arrived.
      for (const PacketPart& part : packet.into) {
        if (!part.reduce) std::memset(at(to, part.into), 0xa5, part.into.length);
      }
      return;
    }
    const std::byte* bytes = packet.payload.data();
    for (const PacketPart& part : packet.into) {
      std::byte* into = at(to, part.into);
      if (part.reduce) {
        reduce(call_.type, call_.operation, into, into, bytes, part.into.length, false, 1);
      } else {
        std::memcpy(into, bytes, part.into.length);
      }
      bytes += part.into.length;
    }
    const std::vector<std::byte> header = std::move(packet.header);
    line.pop_front();
    to.handler->arrived(pair.first, header);
  }

  // Zero-byte messages.
  struct Farewell {
    std::deque<std::uint64_t> sends, receives;
  };
  using Key = std::tuple<Rank, Rank, Lane>;
  Token farewell(Player& rank, Rank from, Rank to, Lane lane, Slice slice) {
    if (slice.length != 0 || lane != collective::farewell_lane || !call_.omni.acked) {
      complain(rank.me, "sends what is no farewell");
    }
    const Token token = rank.open(1);
    Farewell& both = farewells_[{from, to, lane}];
    (rank.me == from ? both.sends : both.receives).push_back(token.id);
    return token;
  }

  // One thing that may happen next, drawn at random. False if nothing can.
  bool step() {
    struct Event {
      enum { resume, idle, depart, deliver, meet } kind;
      std::size_t index = 0;
      const Pair* pair = nullptr;
      const Key* key = nullptr;
    };
    std::vector<Event> events;
    for (std::size_t i = 0; i < ready_.size(); ++i) events.push_back({Event::resume, i});
    for (std::size_t i = 0; i < idle_.size(); ++i) events.push_back({Event::idle, i});
    for (auto& [pair, line] : lines_) {
      const auto next = std::find_if(line.begin(), line.end(), [](const Packet& p) { return !p.departed; });
      if (next != line.end()) events.push_back({Event::depart, std::size_t(next - line.begin()), &pair});
      if (line.empty() || !line.front().departed) continue;
      if (player(pair.second).handler || !weather_.reliable) events.push_back({Event::deliver, 0, &pair});
    }
    for (auto& [key, both] : farewells_) {
      if (!both.sends.empty() && !both.receives.empty()) events.push_back({Event::meet, 0, nullptr, &key});
    }
    // Now and then the ranks are slower than their timers.
    const bool early = !weather_.reliable && drawn(0.01);
    if (events.empty() || early) {
      if (timers_.empty()) return !events.empty();
      const double next = timers_.begin()->first;
      now_ = std::max(now_, events.empty() ? next : std::min(next, now_ + 0.02));
    } else {
      now_ += 1e-7 * double(random_() % 100);
    }
    while (!timers_.empty() && timers_.begin()->first <= now_) {
      const auto [owner, token] = timers_.begin()->second;
      timers_.erase(timers_.begin());
      owner->part_done(token);
    }
    if (events.empty() || early) return true;

    const Event event = events[random_() % events.size()];
    switch (event.kind) {
      case Event::resume: {
        const Ready ready = ready_[event.index];
        ready_.erase(ready_.begin() + std::ptrdiff_t(event.index));
        if (ready.waiter) {
          ready.waiter.resume();
        } else {
          ready.player->program.start();
        }
        break;
      }
      case Event::idle: {
        const auto [owner, token] = idle_[event.index];
        idle_.erase(idle_.begin() + std::ptrdiff_t(event.index));
        owner->part_done(token);
        break;
      }
      case Event::depart:
        depart(*event.pair, lines_[*event.pair], event.index);
        break;
      case Event::deliver:
        deliver(*event.pair, lines_[*event.pair]);
        break;
      case Event::meet: {
        Farewell& both = farewells_[*event.key];
        player(std::get<0>(*event.key)).part_done(both.sends.front());
        player(std::get<1>(*event.key)).part_done(both.receives.front());
        both.sends.pop_front();
        both.receives.pop_front();
        break;
      }
    }
    return true;
  }

  struct Ready {
    Player* player = nullptr;
    std::coroutine_handle<> waiter;  // null: the program's beginning
  };

  collective::Layout layout_;
  Call call_;
  Weather weather_;
  std::mt19937_64 random_;
  double now_ = 1;
  std::multimap<double, std::pair<Player*, std::uint64_t>> timers_;
  std::vector<Ready> ready_;
  std::vector<std::pair<Player*, std::uint64_t>> idle_;
  std::map<Pair, Line> lines_;
  std::map<Key, Farewell> farewells_;
  std::set<Rank> silent_;
  Probe probe_;
  bool stopped_ = false;
  std::string problem_, given_up_because_;
  Rank given_up_ = -1;
  std::uint64_t longest_ = 0;
  std::vector<std::unique_ptr<Player>> ranks_;  // their programs go first
};

}  // namespace ringtrue::test
