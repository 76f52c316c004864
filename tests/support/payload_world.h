// A world that moves real bytes in one thread: all ranks' programs, played in an order drawn from a seed, so
// that many interleavings are seen. It holds every post to the contract in collective/endpoint.h.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "collective/algorithm.h"
#include "tests/support/reference.h"

namespace ringtrue::test {

class PayloadWorld {
 public:
  using Algorithm = collective::Algorithm;
  using Arrival = collective::Arrival;
  using Call = collective::Call;
  using Lane = collective::Lane;
  using Layout = collective::Layout;
  using Slice = collective::Slice;
  using Space = collective::Space;
  using Token = collective::Token;

  PayloadWorld(const Algorithm& algorithm, Layout layout, Call call, std::uint64_t seed)
      : algorithm_(algorithm), layout_(std::move(layout)), call_(call), random_(seed) {
    for (Rank r = 0; r < layout_.ranks(); ++r) {
      ranks_.push_back(std::make_unique<Player>(*this, r));
      ranks_.back()->data = input_of(call_.type, call_.operation, r, call_.elements);
      ranks_.back()->scratch.resize(algorithm_.scratch_bytes(layout_, r, call_));
    }
  }

  // Flips one bit in the payload of the nth message (from 1), which goes into its first element.
  void corrupt(std::uint64_t nth) { corrupt_ = nth; }

  std::vector<std::byte>& data(Rank rank) { return ranks_[std::size_t(rank)]->data; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes_sent(Rank rank) const { return ranks_[std::size_t(rank)]->bytes_sent; }
  std::size_t max_outstanding() const { return max_outstanding_; }

  // Plays all ranks to their end, `times` calls one after another. Returns what went wrong first; empty if
  // nothing did.
  std::string play(int times = 1) {
    for (int i = 0; i < times && problem_.empty(); ++i) {
      for (auto& rank : ranks_) {
        rank->program = algorithm_.program(*rank, call_);
        ready_.push_back(rank.get());
        rank->started = false;
      }
      while (problem_.empty() && step()) {
      }
      if (!problem_.empty()) break;
      for (auto& rank : ranks_) {
        if (!rank->program.finished()) complain(rank->me, "never finishes");
        for (const Post& post : rank->posts) {
          if (!post.finished()) complain(rank->me, "leaves a post behind");
        }
        rank->posts.clear();
        rank->outstanding.clear();
      }
      for (const auto& [key, wire] : wires_) {
        if (!wire.sends.empty() || !wire.receives.empty())
          complain(std::get<0>(key), "leaves a message unmatched");
      }
    }
    return problem_;
  }

 private:
  struct Post {
    Lane lane = 0;
    Slice slice;  // read by a send, written by a receive
    Slice with;   // receive_reduce: also read
    bool receive = false;
    Arrival how = Arrival::store;
    std::vector<Rank> peers;  // receives: in the order in which they are combined
    std::size_t moved = 0;    // transfers that are over
    std::coroutine_handle<> waiter;
    bool finished() const { return moved == peers.size(); }
  };

  struct Player final : collective::Endpoint {
    Player(PayloadWorld& w, Rank r) : world(w), me(r) {}
    Rank rank() const override { return me; }
    const Layout& layout() const override { return world.layout_; }
    Token send_all(std::span<const Rank> to, Lane lane, Slice from) override {
      return world.post(*this, {lane, from, {}, false, Arrival::store, {to.begin(), to.end()}, 0, {}});
    }
    Token receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) override {
      return world.post(*this, {lane, into, with, true, how, {from}, 0, {}});
    }
    Token receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) override {
      return world.post(*this, {lane, into, into, true, how, {from.begin(), from.end()}, 0, {}});
    }
    void copy(Slice into, Slice from) override {
      if (!world.check_read(*this, from) || !world.check_write(*this, into, -1)) return;
      std::memcpy(world.at(*this, into), world.at(*this, from), from.length);
    }
    bool done(Token token) const override { return token.id == 0 || posts[token.id - 1].finished(); }
    void resume_when_done(Token token, std::coroutine_handle<> waiter) override {
      if (posts[token.id - 1].waiter) world.complain(me, "waits twice for one token");
      posts[token.id - 1].waiter = waiter;
    }

    PayloadWorld& world;
    Rank me;
    collective::Task program;
    bool started = false;
    std::vector<std::byte> data, scratch;
    std::deque<Post> posts;                // token id - 1
    std::vector<std::size_t> outstanding;  // posts that are not finished
    std::vector<std::coroutine_handle<>> resumable;
    std::uint64_t bytes_sent = 0;
  };

  struct Wire {
    std::deque<std::size_t> sends, receives;  // posts of the source, of the destination
  };
  using Key = std::tuple<Rank, Rank, Lane>;

  void complain(Rank rank, const std::string& what) {
    if (problem_.empty()) problem_ = "rank " + std::to_string(rank) + " " + what;
  }

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
    if (slice.offset + slice.length > size) return complain(rank.me, "leaves its buffer"), false;
    if (slice.offset % element || slice.length % element) return complain(rank.me, "cuts an element"), false;
    return true;
  }
  bool check_read(Player& rank, const Slice& slice) {
    for (const std::size_t i : rank.outstanding) {
      if (rank.posts[i].receive && overlap(rank.posts[i].slice, slice)) {
        return complain(rank.me, "reads what is being received"), false;
      }
    }
    return inside(rank, slice);
  }
  // `lender`: a rank that the very same slice may still be on its way to (two-shot's exception).
  bool check_write(Player& rank, const Slice& slice, Rank lender) {
    for (const std::size_t i : rank.outstanding) {
      const Post& other = rank.posts[i];
      const bool lent = !other.receive && other.slice == slice && other.peers == std::vector<Rank>{lender};
      if ((overlap(other.slice, slice) && !lent) || overlap(other.with, slice)) {
        return complain(rank.me, "receives into what is being sent or received"), false;
      }
    }
    return inside(rank, slice);
  }

  Token post(Player& rank, Post post) {
    if (!problem_.empty()) return {};
    if (post.peers.empty()) return {};
    if (post.receive) {
      const bool plain = post.how == Arrival::store;
      if (!plain && !check_read(rank, post.with)) return {};
      if (!check_write(rank, post.slice, plain ? post.peers[0] : -1)) return {};
      // Nobody may look at a destination before the token is done.
      if (!(post.with == post.slice) && !lent_out(rank, post.slice)) {
        std::memset(at(rank, post.slice), 0xa5, post.slice.length);
      }
    } else if (!check_read(rank, post.slice)) {
      return {};
    }
    const std::size_t id = rank.posts.size();
    for (const Rank peer : post.peers) {
      if (peer < 0 || peer >= layout_.ranks() || peer == rank.me) {
        return complain(rank.me, "names a peer that is none"), Token{};
      }
      const Key key = post.receive ? Key{peer, rank.me, post.lane} : Key{rank.me, peer, post.lane};
      Wire& wire = wires_[key];
      (post.receive ? wire.receives : wire.sends).push_back(id);
      if (!wire.sends.empty() && !wire.receives.empty()) active_.push_back(key);
    }
    rank.posts.push_back(std::move(post));
    rank.outstanding.push_back(id);
    max_outstanding_ = std::max(max_outstanding_, rank.outstanding.size());
    return Token{std::uint32_t(id + 1)};
  }

  bool lent_out(Player& rank, const Slice& slice) {
    for (const std::size_t i : rank.outstanding) {
      if (!rank.posts[i].receive && overlap(rank.posts[i].slice, slice)) return true;
    }
    return false;
  }

  // One thing that may happen next, drawn at random. False if nothing can.
  bool step() {
    const std::size_t choices = ready_.size() + active_.size();
    if (choices == 0) return false;
    const std::size_t pick = random_() % choices;
    if (pick < ready_.size()) {
      Player* rank = ready_[pick];
      ready_[pick] = ready_.back();
      ready_.pop_back();
      resume(*rank);
    } else {
      const Key key = active_[pick - ready_.size()];
      active_[pick - ready_.size()] = active_.back();
      active_.pop_back();
      transfer(key);
    }
    return true;
  }

  void resume(Player& rank) {
    if (!rank.started) {
      rank.started = true;
      return rank.program.start();
    }
    const auto waiter = rank.resumable.back();
    rank.resumable.pop_back();
    waiter.resume();
  }

  void transfer(const Key& key) {
    const auto [source, destination, lane] = key;
    Wire& wire = wires_[key];
    if (wire.sends.empty() || wire.receives.empty()) return;
    Player &from = *ranks_[std::size_t(source)], &to = *ranks_[std::size_t(destination)];
    const std::size_t sent = wire.sends.front(), received = wire.receives.front();
    Post &send = from.posts[sent], &receive = to.posts[received];
    if (receive.peers[receive.moved] != source) return;  // not its turn to be combined; advance() tries again
    if (send.slice.length != receive.slice.length) return complain(source, "sends another length");
    if (receive.how == Arrival::store && lent_out(to, receive.slice)) {
      return complain(destination, "gets a slice back before it was read");
    }
    wire.sends.pop_front();
    wire.receives.pop_front();
    active_.push_back(key);

    std::vector<std::byte> bytes(at(from, send.slice), at(from, send.slice) + send.slice.length);
    from.bytes_sent += bytes.size();
    if (++messages_ == corrupt_ && !bytes.empty()) bytes[0] ^= std::byte{1};
    if (receive.how == Arrival::store) {
      std::memcpy(at(to, receive.slice), bytes.data(), bytes.size());
    } else {
      const bool last = receive.how == Arrival::reduce_last && receive.moved + 1 == receive.peers.size();
      reduce(call_.type, call_.operation, at(to, receive.slice), at(to, receive.with), bytes.data(),
             bytes.size(), last, layout_.ranks());
    }
    advance(from, sent);
    advance(to, received);
  }

  void advance(Player& rank, std::size_t id) {
    Post& post = rank.posts[id];
    if (++post.moved < post.peers.size()) {
      if (post.receive) active_.push_back({post.peers[post.moved], rank.me, post.lane});
      return;
    }
    std::erase(rank.outstanding, id);
    if (!post.waiter) return;
    rank.resumable.push_back(post.waiter);
    post.waiter = nullptr;
    ready_.push_back(&rank);
  }

  const Algorithm& algorithm_;
  Layout layout_;
  Call call_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Player>> ranks_;
  std::map<Key, Wire> wires_;
  std::vector<Key> active_;     // wires that may have both a send and a receive; may name one twice
  std::vector<Player*> ready_;  // to be started or resumed, once for each time that it is listed
  std::string problem_;
  std::uint64_t corrupt_ = 0, messages_ = 0;
  std::size_t max_outstanding_ = 0;
};

}  // namespace ringtrue::test
