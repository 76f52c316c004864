// Arithmetic on sparse data as the tests see it, apart from the program's own: neutral elements, what missing
// blocks mean, and which blocks are not zero.
#pragma once

#include <limits>
#include <random>

#include "collective/packets.h"
#include "tests/support/reference.h"

namespace ringtrue::test {

inline bool is_zero(Type type, const std::byte* at) {
  bool zero = false;
  with_type(type, [&](auto element, auto wide) {
    std::memcpy(&element, at, sizeof element);
    zero = decltype(wide)(element) == decltype(wide)(0);
  });
  return zero;
}

// Which blocks are not zero, looked at one to eight at a time.
class FakeBlocks final : public collective::NonZeroBlocks {
 public:
  FakeBlocks(Type type, std::uint32_t block, const std::vector<std::byte>& data, std::uint64_t seed)
      : type_(type), bytes_(block * collective::size_of(type)), data_(data), random_(seed) {}
  void values(std::uint64_t block, std::vector<std::uint64_t>& elements) const override {
    (void)found_.at(block);
    const std::uint64_t size = collective::size_of(type_);
    for (std::uint64_t at = block * bytes_; at < std::min((block + 1) * bytes_, data_.size()); at += size) {
      if (!is_zero(type_, &data_[at])) elements.push_back(at / size);
    }
  }
  std::uint64_t blocks() const override { return (data_.size() + bytes_ - 1) / bytes_; }
  std::uint64_t known() const override { return found_.size(); }
  bool operator[](std::uint64_t block) const override { return found_.at(block); }
  void look_further() override {
    for (auto more = 1 + random_() % 8; more > 0 && known() < blocks(); --more) {
      const std::uint64_t begin = known() * bytes_, size = collective::size_of(type_);
      bool any = false;
      for (std::uint64_t at = begin; at < std::min(begin + bytes_, data_.size()); at += size) {
        any = any || !is_zero(type_, &data_[at]);
      }
      found_.push_back(any);
    }
  }

 private:
  Type type_;
  std::uint64_t bytes_;
  const std::vector<std::byte>& data_;
  std::mt19937_64 random_;
  std::vector<bool> found_;
};

inline void fill_neutral(Type type, Operation op, std::byte* into, std::uint64_t bytes) {
  with_type(type, [&](auto element, auto wide) {
    using E = decltype(element);
    using W = decltype(wide);
    using Limits = std::numeric_limits<W>;
    E neutral(W(op == Operation::prod ? 1 : 0));
    if constexpr (Limits::is_integer) {
      if (op == Operation::min) neutral = Limits::max();
      if (op == Operation::max) neutral = Limits::min();
    } else if constexpr (std::is_same_v<E, W>) {
      if (op == Operation::min) neutral = Limits::infinity();
      if (op == Operation::max) neutral = -Limits::infinity();
    } else {
      const int infinity = std::is_same_v<E, Bfloat16> ? 0x7f80 : 0x7c00;
      if (op == Operation::min) neutral.bits = std::uint16_t(infinity);
      if (op == Operation::max) neutral.bits = std::uint16_t(infinity | 0x8000);
    }
    for (std::uint64_t at = 0; at < bytes; at += sizeof(E)) std::memcpy(into + at, &neutral, sizeof(E));
  });
}

// Of `workers` values `missing` were zero and are not in the reduction yet.
inline void conclude_sum(Type type, Operation op, std::byte* data, std::uint64_t bytes, Rank workers,
                         Rank missing) {
  with_type(type, [&](auto element, auto wide) {
    using W = decltype(wide);
    for (std::uint64_t at = 0; at < bytes; at += sizeof element) {
      std::memcpy(&element, data + at, sizeof element);
      W value(element);
      if (missing > 0) value = combine(op, value, W(0));
      if (op == Operation::avg) value = value / W(workers);
      element = decltype(element)(value);
      std::memcpy(data + at, &element, sizeof element);
    }
  });
}

}  // namespace ringtrue::test
