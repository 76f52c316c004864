// The arithmetic that transports are tested with: int32 sums.
#pragma once

#include <cstring>

#include "transport/transport.h"

namespace ringtrue::test {

class Adder final : public transport::Reducer {
 public:
  std::uint64_t element_bytes() const override { return 4; }
  void reduce(std::byte* into, const std::byte* with, const std::byte* incoming, std::uint64_t bytes,
              transport::Arrival) const override {
    for (std::uint64_t at = 0; at < bytes; at += 4) {
      std::uint32_t a, b;  // sums may wrap
      std::memcpy(&a, with + at, 4);
      std::memcpy(&b, incoming + at, 4);
      a += b;
      std::memcpy(into + at, &a, 4);
    }
  }
  void reduce_many(std::byte* into, const std::byte* const* incoming, int count, std::uint64_t bytes,
                   transport::Arrival how) const override {
    for (int i = 0; i < count; ++i) reduce(into, into, incoming[i], bytes, how);
  }
};

}  // namespace ringtrue::test
