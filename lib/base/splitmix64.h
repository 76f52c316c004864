// splitmix64 (Steele, Lea, Flood 2014): a generator, and a hash of 64 bits; the same on every machine.
#pragma once

#include <cstdint>

namespace ringtrue {

// As a hash: what a generator in `state` draws next.
constexpr std::uint64_t splitmix64(std::uint64_t state) {
  state += 0x9e3779b97f4a7c15;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  std::uint64_t operator()() {
    const std::uint64_t drawn = splitmix64(state_);
    state_ += 0x9e3779b97f4a7c15;
    return drawn;
  }

 private:
  std::uint64_t state_;
};

}  // namespace ringtrue
