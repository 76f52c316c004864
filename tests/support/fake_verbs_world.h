// What is behind FakeFabric: its devices, queues and connections, all below one mutex. For fake_verbs*.cc
// alone.
#pragma once

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <mutex>
#include <random>

#include "tests/support/fake_verbs.h"

namespace ringtrue::transport::verbs {
namespace fake {

// Of ibv_wc_status.
enum Status {
  success,
  local_length = 1,
  local_protection = 4,
  flushed = 5,
  remote_access = 10,
  retries = 12,
  rnr = 13
};

class Eventfd {
 public:
  ~Eventfd() { ::close(fd_); }
  int fd() const { return fd_; }
  void ring() const { (void)!::write(fd_, &one, sizeof one); }
  std::uint64_t take() const {
    std::uint64_t count = 0;
    return ::read(fd_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  static constexpr std::uint64_t one = 1;
  int fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

struct Card {  // a device of a node, opened or not
  int node = 0;
  FakeDevice is;
  std::uint64_t pinned = 0;
};

struct Context {  // an opened device
  Card* card = nullptr;
  Eventfd bell;
  std::deque<Event> events;
  int objects = 0;
  bool open = true;
};
using ContextPtr = std::shared_ptr<Context>;

struct Mapping {
  ContextPtr context;
  FakeFabric::LiveRegion is;
  std::uint64_t pinned = 0;  // of the host's memory
};

struct Pair;

struct Queue {
  struct Entry {
    Completion completion;
    std::shared_ptr<Pair> pair;
    std::uint64_t posted = 0;  // number of the pair's write that it completes; 0: of a receive
  };
  ContextPtr context;
  std::size_t capacity = 0;
  std::deque<Entry> entries;
  Eventfd bell;
  bool armed = false, broken = false, open = true;
  int users = 0;
};

struct Receives {  // of one queue pair, or shared
  ContextPtr context;
  int capacity = 0, posted = 0, unpolled = 0, users = 0;
  bool shared = false, open = true;
};

struct Pair {
  enum class State { init, ready_to_receive, ready_to_send, error, gone };
  struct Posted {
    Write write;
    std::vector<std::byte> inlined = {};
    std::uint64_t number = 0, order = 0;  // of this pair, of the fabric
  };
  std::uint32_t number = 0;
  ContextPtr context;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Receives> receives;
  int port = 1, sends = 0, max_inline = 0;
  State state = State::init;
  Path path;
  RetryLimits limits;
  std::uint32_t packet_sequence = 0;
  std::deque<Posted> waiting;
  std::uint64_t posted = 0, freed = 0;
};
using PairPtr = std::shared_ptr<Pair>;

inline tl::unexpected<Error> refuse(std::string what) {
  return fail(Cause::unavailable, std::move(what));
}

}  // namespace fake

struct FakeFabric::World {
  using Card = fake::Card;
  using Context = fake::Context;
  using ContextPtr = fake::ContextPtr;
  using Mapping = fake::Mapping;
  using Pair = fake::Pair;
  using PairPtr = fake::PairPtr;

  mutable std::mutex mutex;
  std::deque<Card> cards;
  std::vector<std::weak_ptr<Context>> contexts;
  std::map<std::uint32_t, PairPtr> pairs;
  std::map<std::uint32_t, Mapping> regions;
  std::vector<std::pair<const std::byte*, std::uint64_t>> gpu;
  std::vector<std::string> complaints;
  Live live;
  Totals totals;
  std::uint32_t next_number = 0x100, next_key = 0x1000;
  std::uint64_t next_order = 0, delivered = 0;
  bool holding = false, shuffling = false;
  std::minstd_rand random;
  struct Failure {
    std::uint64_t in = 0;  // 0: none is wanted
    int status = 0;
    std::uint32_t vendor_error = 0;
    bool now() { return in != 0 && --in == 0; }
  } write_failure, completion_failure;
  std::function<std::int64_t()> clock;

  template <class... Values>
  void complain(fmt::format_string<Values...> text, Values&&... values) {
    complaints.push_back(fmt::format(text, std::forward<Values>(values)...));
  }
  std::string name(const Context& context) const {
    return fmt::format("{} of node {}", context.card->is.name, context.card->node);
  }

  void raise(Context& context, const Event& event);
  void raise(const Card& card, const Event& event);
  // `posted`: the number of the write that completes; 0: a receive does.
  void complete(const PairPtr& pair, Completion completion, std::uint64_t posted);
  // All that is outstanding is flushed, receives as well unless they are shared.
  void break_pair(const PairPtr& pair);
  void flush(const PairPtr& pair);
  const Gid* gid_of(const Pair& pair) const;
  static const FakePort& port_of(const Pair& pair);
  // Whether `path` leads to the port on which `pair` is.
  static bool leads_to(const Path& path, const Pair& pair);
  const Mapping* region(const ContextPtr& context, std::uint32_t key, std::uint64_t at,
                        std::uint64_t bytes) const;
  // The status with which the head of `pair` completes; nullopt: it has to wait for a receive.
  std::optional<int> try_write(const PairPtr& pair, const Pair::Posted& posted, PairPtr& peer);
  // Delivers the first write that waits at `pair`. False: it cannot go on.
  bool deliver_head(const PairPtr& pair);
  void carry_out(const Pair::Posted& posted, const PairPtr& peer);
  PairPtr next_pair();
  bool waits_for_receive(const Pair& pair) const;
  std::size_t deliver(std::size_t most);
  void go_on();
};

namespace fake {

using World = FakeFabric::World;
using Lock = std::lock_guard<std::mutex>;
std::unique_ptr<Device> open(World& world, ContextPtr context);

}  // namespace fake
}  // namespace ringtrue::transport::verbs
