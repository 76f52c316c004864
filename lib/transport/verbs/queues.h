// What the queue pairs of one thread on one device share: a completion queue that can never overflow, and,
// where the device has them, a shared receive queue.
//
// A source of its loop: it polls while the loop looks for work, and sleeps on the completion channel.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "transport/loop.h"
#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {

class Queues final : public Source, public Watcher {
 public:
  // Told on the loop's thread.
  class User {
   public:
    virtual ~User() = default;
    // Of its `line`-th queue pair. Takes notes, starts writes; what takes time is for take().
    virtual void completed(std::size_t line, const Completion& completion) = 0;
    // Does a piece of what it asked for with soon(). True: there is more.
    virtual bool take() = 0;
    virtual void broken(Error error) = 0;  // nothing completes any more
  };

  struct Shape {
    int hops = 0;   // ends that will have queue pairs here, at most
    int lines = 1;  // queue pairs of each
    int sends = 0;  // places in each one's send queue
    // Receives that each end may need before the completions of those before are looked at.
    int receives = 0;
  };
  // Errors: unavailable, where the device has too little room.
  static Result<std::unique_ptr<Queues>> make(Device& device, Loop& loop, Shape shape);
  ~Queues() override;

  // With its receives posted.
  Result<std::unique_ptr<QueuePair>> make_queue_pair(int port, int pkey_index, int inline_bytes);
  int sends() const { return shape_.sends; }

  // What completes before open() is kept for it, what completes after close() is dropped. Where the queue is
  // broken already, open() says so.
  void add(QueuePair& pair) { lines_[pair.number()].pair = &pair; }
  void open(std::uint32_t queue_pair, User* user, std::size_t line);
  void close(std::uint32_t queue_pair);
  void remove(std::uint32_t queue_pair) { lines_.erase(queue_pair); }

  // take() is called from work(), each time in its turn.
  void soon(User* user) { takers_.push_back(user); }
  void forget(User* user) { std::erase(takers_, user); }

  bool work() override;
  bool prepare_to_sleep() override;
  void awake() override {}
  void ready(std::uint32_t epoll_events) override;  // the completion channel

 private:
  struct Line {
    QueuePair* pair = nullptr;
    User* user = nullptr;
    std::size_t number = 0;  // of the user's lines
    bool closed = false;
    int taken = 0;  // receives since the last were posted
    std::vector<Completion> early;
  };

  Queues(Device& device, Loop& loop, Shape shape) : device_(device), loop_(loop), shape_(shape) {}
  bool poll();
  void refill(Line& line);
  void break_down(Error error);

  Device& device_;
  Loop& loop_;
  Shape shape_;
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<SharedReceiveQueue> shared_;
  int own_receives_ = 0;                           // of a queue pair, where none are shared
  int refill_at_ = 1;                              // receives taken before others are posted
  int taken_ = 0;                                  // shared ones, since the last were posted
  std::unordered_map<std::uint32_t, Line> lines_;  // by the queue pair's number
  std::deque<User*> takers_;
  bool armed_ = false;
  std::optional<Error> broken_;
};

}  // namespace ringtrue::transport::verbs
