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
#include <optional>
#include <span>
#include <string>
#include <type_traits>
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

// Writer and reader have the same functions, so that one function names the fields of an offer for both.
class FieldWriter {
 public:
  template <class T>
  void field(const T& value) {
    const auto more = to_bytes(value);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  // What is not printable would not be taken at the other end.
  void text(const std::string& text, std::size_t max) {
    const std::size_t length = std::min(text.size(), max);
    field(std::uint16_t(length));
    for (const char c : text.substr(0, length)) field(printable(c) ? c : '?');
  }
  template <class Item, class Each>
  void list(const std::vector<Item>& items, std::size_t, Each each) {
    field(std::uint16_t(items.size()));
    for (const Item& item : items) each(item);
  }
  std::vector<std::byte> bytes;
};

class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  void field(T& value) {
    good &= left_.size() >= sizeof value;
    value = good ? from_bytes<T>(left_) : T{};
    if (good) left_ = left_.subspan(sizeof value);
  }
  void field(bool& value) {
    std::uint8_t byte = 0;
    field(byte);
    good &= byte <= 1;
    value = byte == 1;
  }
  void text(std::string& text, std::size_t max) {
    std::uint16_t length = 0;
    field(length);
    good &= length <= max && length <= left_.size();
    if (!good) return;
    text.assign(reinterpret_cast<const char*>(left_.data()), length);
    left_ = left_.subspan(length);
    good &= std::all_of(text.begin(), text.end(), printable);
  }
  template <class Item, class Each>
  void list(std::vector<Item>& items, std::size_t max, Each each) {
    std::uint16_t count = 0;
    field(count);
    good &= count <= max;
    for (std::size_t i = 0; i < count && good; ++i) each(items.emplace_back());
  }
  bool over() const { return left_.empty(); }
  bool good = true;

 private:
  std::span<const std::byte> left_;
};

// An offer, all of whose fields `each_field(fields, offer)` names, behind `magic`.
template <class Offer, class EachField>
std::vector<std::byte> encode_offer(std::uint32_t magic, const Offer& offer, EachField each_field) {
  FieldWriter out;
  out.field(magic);
  each_field(out, offer);
  return std::move(out.bytes);
}
// nullopt: not what encode_offer() makes, or longer than `max`.
template <class Offer, class EachField>
std::optional<Offer> decode_offer(std::uint32_t magic, std::span<const std::byte> bytes, std::size_t max,
                                  EachField each_field) {
  FieldReader in(bytes);
  std::uint32_t begin = 0;
  Offer offer;
  in.field(begin);
  each_field(in, offer);
  const bool whole = bytes.size() <= max && begin == magic && in.good && in.over();
  return whole ? std::optional(std::move(offer)) : std::nullopt;
}

}  // namespace ringtrue::transport
