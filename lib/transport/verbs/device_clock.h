// Our time of what a device stamped by its own clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ringtrue::transport::verbs {

class DeviceClock {
 public:
  // When it happened, by now_ns(), seen at `now`. It was earlier than it is seen: by as much as the quickest
  // one was, while the clocks drift apart by 600 millionths at most: oscillators, and ours while NTP slews
  // it.
  std::int64_t ours(std::int64_t stamp, std::int64_t now) {
    std::int64_t ahead = now - stamp;
    if (ahead_) ahead = std::min(ahead, *ahead_ + std::max<std::int64_t>(0, stamp - stamp_) * 6 / 10'000);
    ahead_ = ahead;
    stamp_ = stamp;
    return stamp + ahead;
  }

 private:
  std::optional<std::int64_t> ahead_;  // now_ns() minus the device's clock, at least
  std::int64_t stamp_ = 0;             // when
};

}  // namespace ringtrue::transport::verbs
