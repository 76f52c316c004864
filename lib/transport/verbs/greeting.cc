#include "transport/verbs/greeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/ip.h"
#include "base/text.h"
#include "run/rdma.h"
#include "transport/fields.h"
#include "transport/verbs/rails.h"

namespace ringtrue::transport::verbs {

namespace {

constexpr std::uint32_t magic = 0x31765452;  // "RTv1"
constexpr std::size_t max_name = 96, max_reason = 1024, max_rails = 64;

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

bool may_be_at(const Greeting::Rail& from, const Greeting::Rail& to, const std::vector<IpNetwork>& networks) {
  const bool one_subnet = std::equal(from.gid.begin(), from.gid.begin() + 8, to.gid.begin());
  if (to.layer == LinkLayer::infiniband && (one_subnet || (flid(from) != 0 && flid(to) != 0))) return true;
  if (!is_of_one(to.gid)) return false;
  const bool of_our_link = is_link_local(from.gid) && is_ipv4(from.gid) == is_ipv4(to.gid) && one_subnet;
  if (is_link_local(to.gid) && of_our_link) return true;
  return std::any_of(networks.begin(), networks.end(),
                     [&](const IpNetwork& network) { return network.holds(to.gid); });
}

// `greeting` is const where `fields` writes.
constexpr auto each_field = [](auto& fields, auto& greeting) {
  fields.text(greeting.why_not, max_reason);
  if (!greeting.why_not.empty()) return;
  fields.field(greeting.ring_address);
  fields.field(greeting.slots);
  fields.field(greeting.slot_bytes);
  fields.list(greeting.rails, max_rails, [&](auto& rail) {
    fields.text(rail.name, max_name);
    fields.field(rail.layer);
    fields.field(rail.global);
    fields.field(rail.lid);
    fields.field(rail.gid);
    fields.field(rail.mtu);
    fields.field(rail.ring_key);
    fields.list(rail.queue_pairs, run::max_queue_pairs, [&](auto& number) { fields.field(number); });
  });
};

bool is_valid(const Greeting& greeting) {
  if (!greeting.why_not.empty()) return true;
  const auto valid_number = [](const Greeting::Rail::Number& n) {
    return n.queue_pair <= number_bits && n.packet_sequence <= number_bits;
  };
  const auto valid_rail = [&](const Greeting::Rail& rail) {
    return rail.layer <= LinkLayer::ethernet && run::is_path_mtu(rail.mtu) && !rail.queue_pairs.empty() &&
           std::ranges::all_of(rail.queue_pairs, valid_number);
  };
  return greeting.slots >= run::min_slots && greeting.slots <= run::max_slots && greeting.slot_bytes > 0 &&
         greeting.slot_bytes % slot_unit == 0 && greeting.slot_bytes <= run::max_slot_bytes &&
         !greeting.rails.empty() && std::ranges::all_of(greeting.rails, valid_rail);
}

}  // namespace

std::vector<std::byte> encode(const Greeting& greeting) {
  return encode_offer(magic, greeting, each_field);
}

std::optional<Greeting> decode(std::span<const std::byte> bytes) {
  auto greeting = decode_offer<Greeting>(magic, bytes, max_greeting, each_field);
  return greeting && is_valid(*greeting) ? greeting : std::nullopt;
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

std::string outside(const Greeting& ours, const Greeting& theirs, const std::vector<IpNetwork>& networks) {
  for (const auto& [r, t] : pair_rails(ours, theirs)) {
    const Greeting::Rail &from = ours.rails[r], &to = theirs.rails[t];
    if (route(from, to).global && !may_be_at(from, to, networks))
      return fmt::format("{} ({}), outside of this node's networks ({})", ringtrue::to_text(to.gid),
                         one_line(to.name, 96), to_text(networks));
  }
  return {};
}

}  // namespace ringtrue::transport::verbs
