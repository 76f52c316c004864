#include "transport/faulty/script.h"

#include <algorithm>

namespace ringtrue::transport::faulty {

using collective::Fault;

Script::Script(const std::vector<Fault>& faults, collective::Rank from, collective::Rank to)
    : from_(from), to_(to) {
  for (const Fault& fault : faults)
    if (fault.concerns(from, to)) faults_.push_back(fault);
  free_at_.resize(faults_.size());
}

Fate Script::next(std::uint64_t bytes, std::int64_t now) {
  Fate fate;
  if (faults_.empty()) return fate;
  ++messages_;
  std::int64_t when = now;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const Fault& fault = faults_[i];
    switch (fault.kind) {
      case Fault::Kind::delay:
        when = std::max(when, now + std::int64_t(fault.time.value * 1e9));
        break;
      case Fault::Kind::throttle:
        // The message is over when its last byte could have passed at this rate.
        free_at_[i] = std::max(free_at_[i], now) + std::int64_t(double(bytes) / fault.rate.value * 1e9);
        when = std::max(when, free_at_[i]);
        break;
      case Fault::Kind::cut:
        fate.breaks |= bytes_ >= fault.after.value;
        break;
      case Fault::Kind::stall:
        fate.silent |= bytes_ >= fault.after.value;
        break;
      case Fault::Kind::drop:
        fate.vanishes |= messages_ == fault.nth;
        break;
      case Fault::Kind::corrupt_frame:
        fate.broken_frame |= messages_ == fault.nth;
        break;
      case Fault::Kind::corrupt_value:
        fate.broken_value |= messages_ == fault.nth;
        break;
      case Fault::Kind::loss:
        fate.lost |= fault.strikes(from_, to_, messages_);
        break;
      case Fault::Kind::duplicate:
        fate.doubled |= fault.strikes(from_, to_, messages_);
        break;
      case Fault::Kind::reorder:
        if (fault.strikes(from_, to_, messages_)) fate.late = 1 + int(fault.draw(from_, to_, messages_) & 1);
        break;
      case Fault::Kind::corrupt:
        if (!fault.strikes(from_, to_, messages_)) break;
        fate.broken = true;
        fate.broken_bit = fault.draw(from_, to_, ~messages_);
        break;
    }
  }
  bytes_ += bytes;
  last_ = std::max(last_, when);
  fate.not_before = last_ > now ? last_ : 0;
  return fate;
}

}  // namespace ringtrue::transport::faulty
