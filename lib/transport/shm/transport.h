// Shared memory between the ranks of a node, in one process or in several; no copy in between.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/loop.h"
#include "transport/shm/channel.h"
#include "transport/shm/layout.h"
#include "transport/transport.h"

namespace ringtrue::transport::shm {

// The view of one thread on the node's shared memory: its mailbox and the channel ends of its ranks.
class Transport final : public Source, public Gatherer {
 public:
  struct Setup {
    std::byte* memory = nullptr;
    const Plan* plan = nullptr;      // outlives the transport
    const Layout* layout = nullptr;  // outlives the transport
    int thread = 0;                  // counted over the node
    std::vector<int> doorbells;      // eventfd by thread
  };
  explicit Transport(Setup setup);

  // The end of the channel self <-> hop.peer that `owner` holds. Both directions must be in the plan, or only
  // one of them if the other is never used.
  Channel& open(const Hop& hop, Owner& owner, const Reducer& reducer, faulty::Script script);
  void set_loop(Loop* loop) { loop_ = loop; }

  // Gatherer, for the channels of this transport.
  void receive_all(std::span<transport::Channel* const> from, std::uint64_t token,
                   const Destination& destination) override;

  // Source
  bool work() override;
  bool prepare_to_sleep() override;
  void awake() override;

  // For Channel.
  Direction* direction(Rank source, Rank destination, Lane lane, std::uint32_t& index) const;
  void notify(std::uint32_t direction, int side);  // the other end of a direction, wherever it lives
  std::byte* memory() const { return setup_.memory; }
  std::uint64_t offset(const std::byte* address) const { return std::uint64_t(address - setup_.memory); }
  Loop* loop() const { return loop_; }

 private:
  std::atomic<std::uint32_t>* cells(int thread) const;
  Mailbox& mailbox(int thread) const;
  void handle(std::uint32_t notice);

  Setup setup_;
  Loop* loop_ = nullptr;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<Channel*> by_notice_;  // [2 * direction + side] for the ends on this thread
  std::vector<int> thread_of_notice_;
  std::vector<std::uint32_t> own_notices_;  // between ranks of this thread; last in, first out
  std::uint64_t head_ = 0;
};

}  // namespace ringtrue::transport::shm
