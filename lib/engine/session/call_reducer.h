// The arithmetic of one call, as transports ask for it.
#pragma once

#include <algorithm>

#include "collective/types.h"
#include "engine/kernels/reduce.h"
#include "transport/transport.h"

namespace ringtrue::engine {

class CallReducer final : public transport::Reducer {
 public:
  CallReducer(const collective::Call& call, int ranks)
      : call_(call), ranks_(ranks), unit_(size_of(call.type)) {}

  std::uint64_t element_bytes() const override { return unit_; }
  void reduce(std::byte* into, const std::byte* with, const std::byte* incoming, std::uint64_t bytes,
              collective::Arrival how) const override {
    engine::reduce(call_.type, call_.operation, into, with, incoming, bytes / unit_);
    if (how == collective::Arrival::reduce_last)
      finish(call_.type, call_.operation, into, bytes / unit_, ranks_);
  }
  void reduce_many(std::byte* into, const std::byte* const* incoming, int count, std::uint64_t bytes,
                   collective::Arrival how) const override {
    for (int at = 0; at < count; at += reduce_many_limit)
      engine::reduce_many(call_.type, call_.operation, into,
                          reinterpret_cast<const void* const*>(incoming + at),
                          std::min(count - at, reduce_many_limit), bytes / unit_);
    if (how == collective::Arrival::reduce_last)
      finish(call_.type, call_.operation, into, bytes / unit_, ranks_);
  }

 private:
  collective::Call call_;
  int ranks_;
  std::uint64_t unit_;
};

}  // namespace ringtrue::engine
