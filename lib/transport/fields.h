// What goes over wires, as bytes. Headers are structs as they lie in memory. Offers, which ends tell each
// other before they are connected, are fields one after another, and texts of printable ASCII; their reader
// takes anything: what is not there reads as zero, and `good` turns false for good.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace ringtrue::transport {

static_assert(std::endian::native == std::endian::little, "what goes over wires is little endian");

template <class T>
constexpr std::array<std::byte, sizeof(T)> to_bytes(const T& value) {
  static_assert(std::has_unique_object_representations_v<T>, "no byte of it may be padding");
  return std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
}
// `bytes` has as many, or more.
template <class T>
T from_bytes(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

inline bool printable(char c) {
  return c >= ' ' && c <= '~';
}

class FieldWriter {
 public:
  template <class T>
  void put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  }
  // What is not printable would not be taken at the other end.
  void text(const std::string& text, std::size_t longest) {
    const std::size_t length = std::min(text.size(), longest);
    put(std::uint16_t(length));
    for (const char c : text.substr(0, length)) put(printable(c) ? c : '?');
  }
  std::vector<std::byte> bytes;
};

class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  T get() {
    T value{};
    good &= left_.size() >= sizeof value;
    if (!good) return value;
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  std::string text(std::size_t longest) {
    const std::size_t length = get<std::uint16_t>();
    good &= length <= longest && length <= left_.size();
    if (!good) return {};
    std::string text(reinterpret_cast<const char*>(left_.data()), length);
    left_ = left_.subspan(length);
    good &= std::all_of(text.begin(), text.end(), printable);
    return text;
  }
  bool over() const { return left_.empty(); }
  bool good = true;

 private:
  std::span<const std::byte> left_;
};

}  // namespace ringtrue::transport
