#include "transport/verbs/greeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ringtrue::transport::verbs {

namespace {

constexpr std::uint32_t magic = 0x31765452;  // "RTv1"
constexpr std::size_t longest_name = 96, longest_reason = 1024, most_rails = 64, most_queue_pairs = 16;
constexpr std::uint32_t least_slots = 2, most_slots = 64, slot_unit = 64, most_slot_bytes = 4 << 20;
constexpr std::uint32_t number_bits = 0xffffff;

class Writer {
 public:
  template <class T>
  void put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  }
  // What is no printable ASCII would not be taken at the other end.
  void text(const std::string& text, std::size_t longest) {
    const std::size_t length = std::min(text.size(), longest);
    put(std::uint16_t(length));
    for (const char c : text.substr(0, length)) put(c >= ' ' && c <= '~' ? c : '?');
  }
  std::vector<std::byte> bytes;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  T get() {
    T value{};
    if (left_.size() < sizeof value) {
      good = false;
      return value;
    }
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
    good &= std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    return text;
  }
  bool over() const { return left_.empty(); }
  bool good = true;

 private:
  std::span<const std::byte> left_;
};

bool is_mtu(int mtu) {
  return mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
}

bool is_ipv4(const Greeting::Rail& rail) {
  constexpr std::array<std::byte, 12> mapped{
      {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};
  return std::equal(mapped.begin(), mapped.end(), rail.gid.begin());
}

}  // namespace

std::vector<std::byte> encode(const Greeting& greeting) {
  Writer out;
  out.put(magic);
  out.text(greeting.why_not, longest_reason);
  if (!greeting.why_not.empty()) return std::move(out.bytes);
  out.put(greeting.ring_address);
  out.put(greeting.slots);
  out.put(greeting.slot_bytes);
  out.put(std::uint16_t(greeting.rails.size()));
  for (const Greeting::Rail& rail : greeting.rails) {
    out.text(rail.name, longest_name);
    out.put(std::uint8_t(rail.layer));
    out.put(std::uint8_t(rail.global));
    out.put(rail.lid);
    out.put(rail.gid);
    out.put(std::uint16_t(rail.mtu));
    out.put(rail.ring_key);
    out.put(std::uint16_t(rail.queue_pairs.size()));
    for (const auto& number : rail.queue_pairs) {
      out.put(number.queue_pair);
      out.put(number.packet_sequence);
    }
  }
  return std::move(out.bytes);
}

std::optional<Greeting> decode(std::span<const std::byte> bytes) {
  if (bytes.size() > longest_greeting) return std::nullopt;
  Reader in(bytes);
  Greeting greeting;
  if (in.get<std::uint32_t>() != magic) return std::nullopt;
  greeting.why_not = in.text(longest_reason);
  if (!in.good) return std::nullopt;
  if (!greeting.why_not.empty()) return in.over() ? std::optional(greeting) : std::nullopt;
  greeting.ring_address = in.get<std::uint64_t>();
  greeting.slots = in.get<std::uint32_t>();
  greeting.slot_bytes = in.get<std::uint32_t>();
  const std::size_t rails = in.get<std::uint16_t>();
  if (!in.good || greeting.slots < least_slots || greeting.slots > most_slots || greeting.slot_bytes == 0 ||
      greeting.slot_bytes % slot_unit != 0 || greeting.slot_bytes > most_slot_bytes || rails == 0 ||
      rails > most_rails)
    return std::nullopt;
  for (std::size_t r = 0; r < rails; ++r) {
    Greeting::Rail rail;
    rail.name = in.text(longest_name);
    const auto layer = in.get<std::uint8_t>(), global = in.get<std::uint8_t>();
    rail.layer = LinkLayer(layer);
    rail.global = global != 0;
    rail.lid = in.get<std::uint16_t>();
    rail.gid = in.get<std::array<std::byte, 16>>();
    rail.mtu = in.get<std::uint16_t>();
    rail.ring_key = in.get<std::uint32_t>();
    const std::size_t queue_pairs = in.get<std::uint16_t>();
    if (!in.good || layer > 1 || global > 1 || !is_mtu(rail.mtu) || queue_pairs == 0 ||
        queue_pairs > most_queue_pairs)
      return std::nullopt;
    for (std::size_t q = 0; q < queue_pairs; ++q) {
      const auto number = in.get<std::uint32_t>(), sequence = in.get<std::uint32_t>();
      if (!in.good || number > number_bits || sequence > number_bits) return std::nullopt;
      rail.queue_pairs.push_back({number, sequence});
    }
    greeting.rails.push_back(std::move(rail));
  }
  return in.over() ? std::optional(std::move(greeting)) : std::nullopt;
}

std::string mismatch(const Greeting& ours, const Greeting& theirs) {
  for (const Greeting* end : {&ours, &theirs})
    if (!end->why_not.empty()) return end->why_not;
  for (std::size_t r = 0; r < std::min(ours.rails.size(), theirs.rails.size()); ++r) {
    const Greeting::Rail &our = ours.rails[r], &their = theirs.rails[r];
    const auto between = [&](const char* what, const char* mine, const char* others) {
      return fmt::format("{} {} {}, {} {}", our.name, what, mine, their.name, others);
    };
    if (our.layer != their.layer) {
      const bool ethernet = our.layer == LinkLayer::ethernet;
      return between("is", ethernet ? "Ethernet" : "InfiniBand", ethernet ? "InfiniBand" : "Ethernet");
    }
    if (our.layer == LinkLayer::ethernet && is_ipv4(our) != is_ipv4(their))
      return between("has", is_ipv4(our) ? "an IPv4 GID" : "an IPv6 GID",
                     is_ipv4(our) ? "an IPv6 GID" : "an IPv4 GID");
    for (const Greeting::Rail* rail : {&our, &their})
      if (!rail->global && rail->lid == 0) return fmt::format("{} has no LID", rail->name);
  }
  return {};
}

}  // namespace ringtrue::transport::verbs
