#include "transport/verbs/rails.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace ringtrue::transport::verbs {
namespace {

using Raw = std::array<std::byte, 16>;

bool is_mapped(const Raw& raw) {
  constexpr std::array<unsigned char, 12> before = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(raw.data(), before.data(), before.size()) == 0;
}

// How gladly a GID is used: the lower the better.
int order(const Gid& gid) {
  if (is_mapped(gid.raw)) return 0;
  const bool link_local = gid.raw[0] == std::byte(0xfe) && (gid.raw[1] & std::byte(0xc0)) == std::byte(0x80);
  return link_local ? 2 : 1;
}

// The address as a RoCE v2 GID holds it.
std::optional<Raw> to_raw(const std::string& address) {
  Raw raw{};
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), raw.data()) == 1) return raw;
  raw.fill(std::byte(0));
  raw[10] = raw[11] = std::byte(0xff);
  if (::inet_pton(AF_INET, address.c_str(), raw.data() + 12) == 1) return raw;
  return std::nullopt;
}

struct Candidate {
  Rail rail;
  bool at_data_address = false;
};

tl::unexpected<Error> unusable(std::string what, std::string next) {
  return fail(Cause::unavailable, std::move(what), {}, std::move(next));
}

// The port as a rail, or why it is none.
Result<Candidate> look_at(const Device& device, int number, const Settings& settings,
                          const std::optional<Raw>& data_address) {
  const PortName name{device.name(), number};
  auto state = device.port(number);
  if (!state) return tl::unexpected(state.error());
  const bool ethernet = state->layer == LinkLayer::ethernet;
  if (!state->active)
    return unusable(fmt::format("{} is {}", to_text(name), state->state),
                    !ethernet && state->state != "down"
                        ? "an InfiniBand port needs a subnet manager (opensm) to become active"
                        : "check the cable and the switch's port, and that the interface is up (ip link)");
  std::vector<Gid> gids = device.gids(number);
  std::stable_sort(gids.begin(), gids.end(), [&](const Gid& a, const Gid& b) {
    const auto rank = [&](const Gid& gid) {
      return std::tuple(gid.raw != data_address, order(gid), gid.index);
    };
    return rank(a) < rank(b);
  });
  const auto v2 = [](const Gid& gid) { return gid.type == Gid::Type::roce_v2; };
  Candidate candidate{{name, std::move(*state), {}, ethernet || settings.gid_index >= 0}};
  candidate.at_data_address = ethernet && data_address &&
                              std::any_of(gids.begin(), gids.end(),
                                          [&](const Gid& gid) { return v2(gid) && gid.raw == data_address; });
  if (!candidate.rail.global && candidate.rail.port.lid == 0)
    return unusable(fmt::format("{} has no LID", to_text(name)), "is a subnet manager (opensm) running?");
  const int wanted = candidate.rail.global ? settings.gid_index : 0;
  const auto found = std::find_if(
      gids.begin(), gids.end(), [&](const Gid& gid) { return wanted >= 0 ? gid.index == wanted : v2(gid); });
  if (found != gids.end())
    candidate.rail.gid = *found;
  else if (candidate.rail.global && wanted >= 0)
    return unusable(fmt::format("{} has no GID at index {}", to_text(name), wanted),
                    "leave the GID index out, and it is chosen");
  else if (candidate.rail.global)
    return unusable(fmt::format("{} has no RoCE v2 GID", to_text(name)),
                    "give its network interface an IP address; RoCE v1 is not used");
  return candidate;
}

const Device* find(const std::vector<std::unique_ptr<Device>>& devices, const std::string& name) {
  for (const auto& device : devices)
    if (device->name() == name) return device.get();
  return nullptr;
}

Result<std::vector<Rail>> named_rails(const std::vector<std::unique_ptr<Device>>& devices,
                                      const Settings& settings, const std::optional<Raw>& data_address) {
  std::vector<Rail> rails;
  rails.reserve(settings.ports.size());
  for (const PortName& name : settings.ports) {
    const Device* device = find(devices, name.device);
    if (!device) {
      std::vector<std::string> there;
      there.reserve(devices.size());
      for (const auto& each : devices) there.push_back(each->name());
      return unusable(fmt::format("no RDMA device {}", name.device),
                      fmt::format("this node has {}", fmt::join(there, ", ")));
    }
    if (name.port > device->limits().ports)
      return unusable(fmt::format("{} has no port {}", name.device, name.port),
                      fmt::format("its ports are 1 to {}", device->limits().ports));
    auto candidate = look_at(*device, name.port, settings, data_address);
    if (!candidate) return tl::unexpected(candidate.error());
    rails.push_back(std::move(candidate->rail));
  }
  return rails;
}

double total_rate(const std::vector<Rail>& rails, LinkLayer layer) {
  double sum = 0;
  for (const Rail& rail : rails)
    if (rail.port.layer == layer) sum += rail.port.rate.value;
  return sum;
}

}  // namespace

Result<std::vector<Rail>> choose_rails(const std::vector<std::unique_ptr<Device>>& devices,
                                       const Settings& settings, const std::string& data_address) {
  if (devices.empty()) return unusable("no RDMA device", "");
  const auto address = to_raw(data_address);
  if (!settings.ports.empty()) return named_rails(devices, settings, address);

  std::vector<Rail> rails, at_data_address;
  std::vector<std::string> whys;
  std::string next;
  for (const auto& device : devices)
    for (int number = 1; number <= device->limits().ports; ++number) {
      auto candidate = look_at(*device, number, settings, address);
      if (!candidate) {
        whys.push_back(candidate.error().what);
        if (next.empty()) next = candidate.error().next;
      } else {
        if (candidate->at_data_address) at_data_address.push_back(candidate->rail);
        rails.push_back(std::move(candidate->rail));
      }
    }
  if (!at_data_address.empty()) rails = std::move(at_data_address);
  if (rails.empty()) return unusable(fmt::format("no usable RDMA port: {}", fmt::join(whys, ", ")), next);
  const double infiniband = total_rate(rails, LinkLayer::infiniband),
               ethernet = total_rate(rails, LinkLayer::ethernet);
  const LinkLayer slower = infiniband < ethernet ? LinkLayer::infiniband : LinkLayer::ethernet;
  if (std::any_of(rails.begin(), rails.end(), [&](const Rail& rail) { return rail.port.layer != slower; }))
    std::erase_if(rails, [&](const Rail& rail) { return rail.port.layer == slower; });
  std::sort(rails.begin(), rails.end(), [](const Rail& a, const Rail& b) { return a.name < b.name; });
  return rails;
}

std::string to_text(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_mapped(gid.raw))
    ::inet_ntop(AF_INET, gid.raw.data() + 12, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, gid.raw.data(), text, sizeof text);
  return text;
}

}  // namespace ringtrue::transport::verbs
