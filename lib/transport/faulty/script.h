// What a fault script does to the messages of one hop. Transports ask for each message's fate just below
// their framing, on the sending side, so that the receiver's checks and reassembly see the damage.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/fault.h"

namespace ringtrue::transport::faulty {

struct Fate {
  std::int64_t not_before = 0;  // on now_ns()'s clock; 0: at once. Never falls from message to message.
  bool vanishes = false;        // sent as far as the sender can tell, and gone
  bool breaks = false;          // the connection breaks before this message
  bool silent = false;          // nothing moves from here on
  bool broken_frame = false;    // its description is changed on the way
  bool broken_value = false;    // its payload is changed on the way
  // Only of transports that may lose packets:
  bool lost = false;
  bool doubled = false;          // it arrives twice
  int late = 0;                  // it arrives after so many of the hop's next messages: 0, 1 or 2
  bool broken = false;           // a bit of it, anywhere, is changed on the way
  std::uint64_t broken_bit = 0;  // ... counted modulo its length
};

class Script {
 public:
  Script() = default;
  // Keeps those of `faults` that concern the hop from -> to.
  Script(const std::vector<collective::Fault>& faults, collective::Rank from, collective::Rank to);

  bool empty() const { return faults_.empty(); }
  // Of the hop's next message.
  Fate next(std::uint64_t bytes, std::int64_t now);

 private:
  std::vector<collective::Fault> faults_;
  collective::Rank from_ = 0, to_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::int64_t> free_at_;  // by fault: a throttled hop is busy until then
  std::int64_t last_ = 0;
};

}  // namespace ringtrue::transport::faulty
