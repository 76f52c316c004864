#include "transport/verbs/greeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "transport/fields.h"
#include "transport/verbs/rails.h"

namespace ringtrue::transport::verbs {

namespace {

constexpr std::uint32_t magic = 0x31765452;  // "RTv1"
constexpr std::size_t max_name = 96, max_reason = 1024, max_rails = 64, max_queue_pairs = 16;
constexpr std::uint32_t min_slots = 2, max_slots = 64, slot_unit = 64, max_slot_bytes = 4 << 20;
constexpr std::uint32_t number_bits = 0xffffff;

bool is_mtu(int mtu) {
  return mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
}

std::uint16_t two_bytes(const Greeting::Rail& rail, std::size_t at) {
  return std::uint16_t(std::to_integer<unsigned>(rail.gid[at]) << 8 |
                       std::to_integer<unsigned>(rail.gid[at + 1]));
}
// An InfiniBand GID: 10 bits fixed, 22 bits 0, FLID (0: not routed), subnet; 64 bits of the port.
std::uint16_t flid(const Greeting::Rail& rail) {
  return two_bytes(rail, 4);
}
std::uint16_t subnet(const Greeting::Rail& rail) {
  return two_bytes(rail, 6);
}
bool is_routed(const Greeting::Rail& a, const Greeting::Rail& b) {
  return a.layer == LinkLayer::infiniband && subnet(a) != subnet(b);
}

std::string mismatch(const Greeting::Rail& our, const Greeting::Rail& their) {
  const auto between = [&](const char* what, const auto& mine, const auto& others) {
    return fmt::format("{} {} {}, {} {}", our.name, what, mine, their.name, others);
  };
  if (our.layer != their.layer) {
    const bool ethernet = our.layer == LinkLayer::ethernet;
    return between("is", ethernet ? "Ethernet" : "InfiniBand", ethernet ? "InfiniBand" : "Ethernet");
  }
  if (our.layer == LinkLayer::ethernet && is_ipv4(our.gid) != is_ipv4(their.gid))
    return between("has", is_ipv4(our.gid) ? "an IPv4 GID" : "an IPv6 GID",
                   is_ipv4(their.gid) ? "an IPv4 GID" : "an IPv6 GID");
  if (is_routed(our, their) && !(our.global && their.global) && (flid(our) == 0 || flid(their) == 0))
    return between("is in subnet", fmt::format("{:#06x}", subnet(our)),
                   fmt::format("{:#06x}", subnet(their))) +
           ", and no GID of theirs is routed";
  for (const Greeting::Rail* rail : {&our, &their})
    if (!rail->global && rail->lid == 0) return fmt::format("{} has no LID", rail->name);
  return {};
}

}  // namespace

std::vector<std::byte> encode(const Greeting& greeting) {
  FieldWriter out;
  out.put(magic);
  out.text(greeting.why_not, max_reason);
  if (!greeting.why_not.empty()) return std::move(out.bytes);
  out.put(greeting.ring_address);
  out.put(greeting.slots);
  out.put(greeting.slot_bytes);
  out.put(std::uint16_t(greeting.rails.size()));
  for (const Greeting::Rail& rail : greeting.rails) {
    out.text(rail.name, max_name);
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
  if (bytes.size() > max_greeting) return std::nullopt;
  FieldReader in(bytes);
  Greeting greeting;
  if (in.get<std::uint32_t>() != magic) return std::nullopt;
  greeting.why_not = in.text(max_reason);
  if (!in.good) return std::nullopt;
  if (!greeting.why_not.empty()) return in.over() ? std::optional(greeting) : std::nullopt;
  greeting.ring_address = in.get<std::uint64_t>();
  greeting.slots = in.get<std::uint32_t>();
  greeting.slot_bytes = in.get<std::uint32_t>();
  const std::size_t rails = in.get<std::uint16_t>();
  if (!in.good || greeting.slots < min_slots || greeting.slots > max_slots || greeting.slot_bytes == 0 ||
      greeting.slot_bytes % slot_unit != 0 || greeting.slot_bytes > max_slot_bytes || rails == 0 ||
      rails > max_rails)
    return std::nullopt;
  for (std::size_t r = 0; r < rails; ++r) {
    Greeting::Rail rail;
    rail.name = in.text(max_name);
    const auto layer = in.get<std::uint8_t>(), global = in.get<std::uint8_t>();
    rail.layer = LinkLayer(layer);
    rail.global = global != 0;
    rail.lid = in.get<std::uint16_t>();
    rail.gid = in.get<std::array<std::byte, 16>>();
    rail.mtu = in.get<std::uint16_t>();
    rail.ring_key = in.get<std::uint32_t>();
    const std::size_t queue_pairs = in.get<std::uint16_t>();
    if (!in.good || layer > 1 || global > 1 || !is_mtu(rail.mtu) || queue_pairs == 0 ||
        queue_pairs > max_queue_pairs)
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

std::vector<std::pair<std::size_t, std::size_t>> pair_rails(const Greeting& ours, const Greeting& theirs) {
  using Rail = Greeting::Rail;
  const auto one_network = [](const Rail& a, const Rail& b) {
    return a.layer == b.layer && !is_routed(a, b);
  };
  const std::function<bool(const Rail&, const Rail&)> passes[] = {
      [&](const Rail& a, const Rail& b) { return a.name == b.name && one_network(a, b); },
      [&](const Rail& a, const Rail& b) { return a.layer == LinkLayer::infiniband && one_network(a, b); },
      [](const Rail& a, const Rail& b) { return a.name == b.name; },
      [](const Rail& a, const Rail& b) { return mismatch(a, b).empty(); },
  };
  std::map<std::size_t, std::size_t> pairs;
  std::set<std::size_t> taken;
  for (const auto& fit : passes)
    for (std::size_t r = 0; r < ours.rails.size(); ++r)
      for (std::size_t t = 0; t < theirs.rails.size() && !pairs.contains(r); ++t)
        if (!taken.contains(t) && fit(ours.rails[r], theirs.rails[t])) {
          pairs.emplace(r, t);
          taken.insert(t);
        }
  return {pairs.begin(), pairs.end()};
}

Route route(const Greeting::Rail& from, const Greeting::Rail& to) {
  const bool routed = is_routed(from, to);
  return {from.global || to.global || routed, routed && flid(to) != 0 ? flid(to) : to.lid};
}

std::string mismatch(const Greeting& ours, const Greeting& theirs) {
  for (const Greeting* end : {&ours, &theirs})
    if (!end->why_not.empty()) return end->why_not;
  const auto pairs = pair_rails(ours, theirs);
  if (pairs.empty()) return mismatch(ours.rails.at(0), theirs.rails.at(0));
  for (const auto& [r, t] : pairs)
    if (auto why = mismatch(ours.rails[r], theirs.rails[t]); !why.empty()) return why;
  return {};
}

}  // namespace ringtrue::transport::verbs
