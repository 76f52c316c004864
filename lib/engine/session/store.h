// Where a rank's data is between its calls, and how a call gets at it. One for each rank; the rank's thread.
#pragma once

#include <coroutine>

#include "collective/endpoint.h"
#include "collective/packets.h"
#include "engine/kernels/nonzero.h"
#include "engine/session/endpoint.h"
#include "engine/values/job.h"
#include "run/job.h"

namespace ringtrue::engine {

// What a store is made for.
struct StoreSetup {
  RankEndpoint& endpoint;  // plays in the host's memory
  transport::Loop& loop;
  FailureListener& listener;
  const run::Job& job;
  const JobValues& values;
};

class Store {
 public:
  virtual ~Store() = default;
  // As JobValues has them.
  virtual void fill(bool fresh) = 0;
  virtual Mismatch check(bool everything) = 0;

  // What the next call is played on.
  virtual collective::Endpoint& begin_call() = 0;
  // ... what is not zero there; after begin_call(), for algorithms that use packets. nullptr: the rank has no
  // data.
  virtual collective::NonZeroBlocks* non_zero() = 0;
  // The program has ended. co_await ended(): until its result is where it belongs.
  virtual void end_call() {}
  virtual bool has_ended() const { return true; }
  virtual void resume_when_ended(std::coroutine_handle<>) {}
  struct Ended {
    Store& store;
    bool await_ready() const { return store.has_ended(); }
    void await_suspend(std::coroutine_handle<> waiter) const { store.resume_when_ended(waiter); }
    void await_resume() const {}
  };
  Ended ended() { return Ended{*this}; }
};

// The memory that the endpoint plays in. Aggregators have nothing in it.
class HostStore final : public Store {
 public:
  explicit HostStore(const StoreSetup& setup)
      : setup_(setup), has_data_(setup.endpoint.rank() < setup.job.workers()) {}

  void fill(bool fresh) override {
    if (has_data_) setup_.values.fill(setup_.endpoint.rank(), setup_.endpoint.data(), fresh);
  }
  Mismatch check(bool everything) override {
    if (!has_data_) return {};
    return setup_.values.check(setup_.endpoint.rank(), setup_.endpoint.data(), everything);
  }
  collective::Endpoint& begin_call() override { return setup_.endpoint; }
  collective::NonZeroBlocks* non_zero() override {
    if (!has_data_) return nullptr;
    const collective::Call& call = setup_.job.call;
    scanner_.start(call.type, setup_.endpoint.data(), call.elements, call.omni.block);
    return &scanner_;
  }

 private:
  StoreSetup setup_;
  bool has_data_;
  NonZeroScanner scanner_;
};

}  // namespace ringtrue::engine
