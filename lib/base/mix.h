// Numbers that look drawn, from a seed, the same on every machine.
#pragma once

#include <cstdint>

namespace ringtrue {

inline constexpr std::uint64_t mix_step = 0x9e3779b97f4a7c15;

// One step of splitmix64 (Steele, Lea, Flood 2014) from `state`. The next state is state + mix_step.
constexpr std::uint64_t mixed(std::uint64_t state) {
  state += mix_step;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

}  // namespace ringtrue
