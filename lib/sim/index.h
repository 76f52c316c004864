// Memory for millions of small things, found by number or by key with few accesses: std::deque and
// absl::flat_hash_map take a fifth longer over a million hops.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/area.h"
#include "base/splitmix64.h"

namespace ringtrue::sim {

// Things by number that stay where they are, in areas that double.
template <class T>
class StableVector {
 public:
  StableVector() = default;
  StableVector(const StableVector&) = delete;
  StableVector& operator=(const StableVector&) = delete;
  ~StableVector() {
    for (std::uint32_t i = 0; i < size_; ++i) (*this)[i].~T();
  }

  std::uint32_t size() const { return size_; }
  T& operator[](std::uint32_t number) { return *at(number); }
  const T& operator[](std::uint32_t number) const { return *at(number); }
  T& add() {
    if (area_of(size_) == areas_.size()) areas_.push_back(make_area((first << areas_.size()) * sizeof(T)));
    return *new (at(size_++)) T();
  }

 private:
  static constexpr std::size_t first = 64;  // things in the first area
  static std::size_t area_of(std::uint32_t number) {
    return std::size_t(std::bit_width(number / first + 1)) - 1;
  }
  T* at(std::uint32_t number) const {
    const std::size_t area = area_of(number);
    return reinterpret_cast<T*>(areas_[area].get()) + (number - first * ((std::size_t(1) << area) - 1));
  }

  std::vector<Area> areas_;
  std::uint32_t size_ = 0;
};

// A table from keys to numbers that only grows.
class Index {
 public:
  static constexpr std::uint32_t none = ~0u;

  // The number of `key`; `fresh`, which is not `none`, where it had none.
  std::uint32_t find_or_add(std::uint64_t key, std::uint32_t fresh) {
    if (2 * (used_ + 1) > size_) grow();
    Slot& slot = place(key);
    if (slot.value == none) {
      slot = {key, fresh};
      ++used_;
    }
    return slot.value;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = none;
  };

  Slot* slots() const { return reinterpret_cast<Slot*>(area_.get()); }
  Slot& place(std::uint64_t key) {
    std::size_t at = splitmix64(key) & (size_ - 1);
    while (slots()[at].value != none && slots()[at].key != key) at = (at + 1) & (size_ - 1);
    return slots()[at];
  }

  void grow() {
    const Area old = std::move(area_);
    const std::size_t before = size_;
    size_ = before ? 2 * before : 64;
    area_ = make_area(size_ * sizeof(Slot));
    std::uninitialized_default_construct_n(slots(), size_);
    for (std::size_t i = 0; i < before; ++i) {
      const Slot& slot = reinterpret_cast<const Slot*>(old.get())[i];
      if (slot.value != none) place(slot.key) = slot;
    }
  }

  Area area_;
  std::size_t size_ = 0, used_ = 0;
};

}  // namespace ringtrue::sim
