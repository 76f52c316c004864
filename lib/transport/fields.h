// What ends tell each other before they are connected, as bytes: fixed fields in this machine's order, and
// texts of printable ASCII. A reader takes anything: what is not there reads as zero, and `good` turns false
// for good.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace ringtrue::transport {

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
