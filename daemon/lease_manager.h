// Who holds the node, and the one thread that plays a lease's phases. It lives as long as the daemon, so
// workers, which die with the thread that started them, die with the daemon and not before.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/lease.h"
#include "daemon/tally.h"

namespace ringtrue::daemon {

class LeaseManager {
 public:
  // The other side of a lease. Both are called from the lease manager's thread and must not block.
  class Client {
   public:
    virtual ~Client() = default;
    virtual void send(rpc::Event event) = 0;
    // The lease is over and everything is gone. Nothing is sent after it. An empty `why`: the operator
    // released it.
    virtual void ended(const Error& why) = 0;
    virtual bool is_local() const { return false; }  // on this machine; from any thread
  };

  using Ticket = std::uint64_t;

  struct Status {
    std::string holder;  // empty: free
    Seconds held{0};
    std::string phase;
    std::uint64_t rejected_connections = 0;
  };

  // As StartWorkers; it tells how each of the processes ended.
  using StartTold = std::function<Result<std::unique_ptr<worker::WorkerGroup>>(
      const run::Member& member, Deadline deadline, worker::Told told)>;
  LeaseManager(std::string node, Limits limits, StartTold start_workers);
  ~LeaseManager();  // stops

  // Takes the node for `client`, or says who has it. The answer, with `sequence`, goes to the client when the
  // workers have started, or have failed to, which ends the lease.
  Result<Ticket> acquire(wire::Acquire acquire, std::uint64_t sequence, Deadline deadline,
                         std::shared_ptr<Client> client);
  // Queues a command of a lease; abort takes effect at once.
  void command(Ticket ticket, rpc::Command command);
  // The client is gone: the phase in progress is stopped, the workers are killed. `why` is for the log.
  void leave(Ticket ticket, const std::string& why);

  Status status() const;
  const Tally& tally() const { return tally_; }  // without a lock
  void set_limits(Limits limits);                // of leases to come

  // No new leases; the present one ends once it is between two runs.
  void drain();
  bool wait_until_free(Deadline deadline);
  bool is_free() const;
  // Ends the lease and the thread; everything afterwards is refused.
  void stop();

 private:
  struct Holding {
    Ticket ticket = 0;
    std::string holder;
    std::shared_ptr<Client> client;
    std::unique_ptr<Lease> lease;  // null once it is over
    std::int64_t since = 0;        // now_ns
    std::size_t queued = 0;        // commands that wait
    bool leaving = false;          // the client is gone, or will be: the next one may queue up behind
    std::uint64_t sequence = 0;    // of the acquire
    Deadline deadline = Deadline::never();  // for the workers to start
  };
  struct Item {
    enum class Kind { acquire, command, leave, nudge } kind = Kind::nudge;
    std::shared_ptr<Holding> holding;
    rpc::Command command;
    std::int64_t arrived = 0;
    std::string why;  // of leave
  };

  void serve();
  void start(const std::shared_ptr<Holding>& holding);
  void play(Item& item);
  void end(std::shared_ptr<Holding> holding, const Error& why);
  Error stopped() const;
  void leave_locked(Holding& holding, const std::string& why);
  void push_locked(Item item);
  std::shared_ptr<Holding> holding_locked(Ticket ticket) const;

  Tally tally_;
  const std::string node_;
  const StartWorkers start_workers_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Limits limits_;
  std::deque<Item> items_;
  std::shared_ptr<Holding> current_;  // the youngest, what others are told of; null: free
  std::shared_ptr<Holding>
      active_;  // of the thread: whose workers exist; older than current_ while being ended
  Ticket last_ticket_ = 0;
  std::uint64_t rejected_connections_ = 0;  // of leases that are over
  bool draining_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ringtrue::daemon
