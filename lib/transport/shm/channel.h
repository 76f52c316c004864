// One rank's end of a shared-memory channel. See layout.h for the rendezvous.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "transport/faulty/script.h"
#include "transport/shm/layout.h"
#include "transport/transport.h"

namespace ringtrue::transport::shm {

class Transport;

class Channel;

// A receive from several channels at once; alive until all have sent and the bytes are moved. One source
// after the other is counted in; then `missing` counts the members that have yet to be finished.
struct GroupReceive {
  std::uint64_t token = 0;
  Destination destination;
  std::vector<Channel*> from;
  std::vector<std::uint64_t> number;     // of the message in each channel
  std::vector<const std::byte*> source;  // where each peer's bytes are, once known
  std::size_t missing = 0;
};

class Channel final : public transport::Channel {
 public:
  Channel(Transport& transport, Hop hop, Owner& owner, const Reducer& reducer, faulty::Script script);

  void send(std::uint64_t token, const std::byte* from, std::uint64_t length, bool more = false) override;
  void receive(std::uint64_t token, const Destination& destination) override;
  Gatherer* gatherer() override;

 private:
  friend class Transport;

  struct Post {
    std::uint64_t token = 0;
    std::uint64_t address = 0;  // from, or into
    std::uint64_t with = 0;
    std::uint64_t length = 0;
    std::int64_t posted = 0;
    std::uint32_t sequence = 0;  // as the sender counts
    Arrival how = Arrival::store;
    bool broken_value = false;
    bool finished = false;  // moved here, possibly before the messages in front of it
    bool counted = false;   // by its group
    bool up_to = false, receiver_moves = false, discard = false;
    std::uint64_t* came = nullptr;
    std::shared_ptr<GroupReceive> group;
  };
  // This rank's part in one direction: posts in order, the first `published` of them stand in slots.
  struct Side {
    Direction* direction = nullptr;  // null: nothing is ever posted that way
    std::uint32_t index = 0;         // of the direction, in the plan
    int side = 0;                    // 0 sender, 1 receiver
    std::uint64_t next = 0;          // number of the message at the front of `posts`
    std::size_t published = 0;
    std::deque<Post> posts;
    Traffic* traffic = nullptr;
  };

  void enqueue_send(Post post);
  void publish(Side& side);  // puts waiting posts into slots while there are free ones
  void advance(Side& side);  // takes finished messages off the front, then publishes
  void meet(Side& side, Post& post, std::uint64_t number);  // both halves are there: move the bytes
  void count_in(Post& post, Slot& slot);
  void move_group(std::shared_ptr<GroupReceive> group);
  void receive_in_group(const std::shared_ptr<GroupReceive>& group, std::size_t place);
  void finish(Side& side, Post& post, std::uint64_t number, std::int64_t moving_ns);
  bool broken(const Slot& slot, std::uint64_t number);
  Slot& slot(Side& side, std::uint64_t number) const;

  Transport& transport_;
  Side outgoing_, incoming_;
  std::uint32_t sends_ = 0;
};

}  // namespace ringtrue::transport::shm
