#include "transport/verbs/rails.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ip.h"
#include "run/rail_rule.h"

namespace ringtrue::transport::verbs {
namespace {

// Preference of a GID; the lowest is used.
int order(const Gid& gid) {
  if (is_ipv4(gid.raw)) return 0;
  return is_link_local(gid.raw) ? 2 : 1;
}

struct Raws {  // of Addresses, as RoCE v2 GIDs hold them
  std::optional<IpBytes> own;
  std::vector<IpBytes> others;
};

struct Candidate {
  Rail rail;
  bool own = false, foreign = false;  // by its addresses
  std::optional<Error> why_not = {};  // why it cannot be a rail
};

Error unusable(std::string what, std::string next) {
  return {Cause::unavailable, std::move(what), {}, std::move(next)};
}

// The port as a rail.
Candidate look_at(const Device& device, int number, const run::RdmaSettings& settings,
                  const Raws& addresses) {
  Candidate candidate{{{device.name(), number}, {}, {}}};
  Rail& rail = candidate.rail;
  const std::string name = to_text(rail.name);
  const auto cannot = [&](std::string what, std::string next) {
    candidate.why_not = unusable(std::move(what), std::move(next));
    return candidate;
  };
  auto state = device.port(number);
  if (!state) return cannot(state.error().what, state.error().next);
  rail.port = std::move(*state);
  const bool ethernet = rail.port.layer == LinkLayer::ethernet;
  rail.global = ethernet || rail.port.needs_grh || settings.gid_index >= 0;
  std::vector<Gid> gids = device.gids(number);
  std::stable_sort(gids.begin(), gids.end(), [&](const Gid& a, const Gid& b) {
    const auto rank = [&](const Gid& gid) {
      return std::tuple(gid.raw != addresses.own, order(gid), gid.index);
    };
    return rank(a) < rank(b);
  });
  const auto v2 = [](const Gid& gid) { return gid.type == Gid::Type::roce_v2; };
  for (const Gid& gid : gids) {
    if (!ethernet || !v2(gid)) continue;
    const auto& others = addresses.others;
    candidate.own |= gid.raw == addresses.own;
    candidate.foreign |= std::find(others.begin(), others.end(), gid.raw) != others.end();
  }
  if (!rail.port.active)
    return cannot(fmt::format("{} is {}", name, rail.port.state),
                  !ethernet && rail.port.state != "down"
                      ? "an InfiniBand port needs a subnet manager (opensm) to become active"
                      : "check the cable and the switch's port, and that the interface is up (ip link)");
  if (!rail.global && rail.port.lid == 0)
    return cannot(fmt::format("{} has no LID", name), "is a subnet manager (opensm) running?");
  const int wanted = settings.gid_index;
  const auto is_routed = [](const Gid& gid) {
    return gid.raw[4] != std::byte(0) || gid.raw[5] != std::byte(0);
  };
  const auto find = [&](const auto& good) { return std::find_if(gids.begin(), gids.end(), good); };
  auto found = wanted >= 0 ? find([&](const Gid& gid) { return gid.index == wanted; })
               : ethernet  ? find(v2)
                           : find(is_routed);
  if (found == gids.end() && !ethernet && wanted < 0)
    found = find([](const Gid& gid) { return gid.index == 0; });
  if (found != gids.end())
    rail.gid = *found;
  else if (wanted >= 0)
    return cannot(fmt::format("{} has no GID at index {}", name, wanted),
                  "leave the GID index out, and it is chosen");
  else if (rail.global)
    return ethernet ? cannot(fmt::format("{} has no RoCE v2 GID", name),
                             "give its network interface an IP address; RoCE v1 is not used")
                    : cannot(fmt::format("{} has no GID", name), "is a subnet manager (opensm) running?");
  return candidate;
}

const Device* find(const Devices& devices, const std::string& name) {
  for (const auto& device : devices.opened)
    if (device->name() == name) return device.get();
  return nullptr;
}

Result<Choice> named_rails(const Devices& devices, const run::RdmaSettings& settings, const Raws& addresses) {
  Choice choice;
  for (const run::RdmaPort& name : settings.ports) {
    const Device* device = find(devices, name.device);
    if (const auto closed = devices.closed.find(name.device); !device && closed != devices.closed.end())
      return tl::unexpected(closed->second);
    if (!device) {
      std::vector<std::string> there;
      there.reserve(devices.opened.size());
      for (const auto& each : devices.opened) there.push_back(each->name());
      return tl::unexpected(unusable(fmt::format("no RDMA device {}", name.device),
                                     fmt::format("this node has {}", fmt::join(there, ", "))));
    }
    if (name.port > device->limits().ports)
      return tl::unexpected(unusable(fmt::format("{} has no port {}", name.device, name.port),
                                     fmt::format("its ports are 1 to {}", device->limits().ports)));
    Candidate candidate = look_at(*device, name.port, settings, addresses);
    if (candidate.why_not) return tl::unexpected(std::move(*candidate.why_not));
    choice.rails.push_back(std::move(candidate.rail));
  }
  return choice;
}

const char* fabric_of(const PortState& port) {
  return port.layer == LinkLayer::ethernet ? "Ethernet" : "InfiniBand";
}

std::string gigabits(const PortState& port) {
  return port.rate.value > 0 ? fmt::format("{:.4g} Gbit/s", port.rate.value * 8e-9) : "rate unknown";
}

// The fabric that most of the node's ports are of, where none of these is up: its rails are down, and what
// is in use stands in for them. "": there is no such one.
std::string fabric_that_is_down(const std::vector<Candidate>& used, const std::vector<Candidate>& rest) {
  std::vector<run::PortForData> ports;
  for (const auto* each : {&used, &rest})
    for (const Candidate& candidate : *each)
      if (const PortState& port = candidate.rail.port; !port.state.empty())
        ports.push_back({fabric_of(port), 0, port.active});
  return run::kind_that_is_down(ports);
}

// Why `each` is none of the rails, of which `rail` is one; `down`: see fabric_that_is_down().
LeftOut left_out(const Candidate& each, const Rail& rail, const std::string& down) {
  constexpr double far = 8;  // times: no lane that is lost and no generation that was missed makes so much
  const PortState &port = each.rail.port, &fastest = rail.port;
  const std::string name = to_text(each.rail.name);
  const bool told = !port.state.empty();
  const bool other_fabric = told && port.layer != fastest.layer && fabric_of(port) != down;
  if (other_fabric || (!each.why_not && port.rate.value * far <= fastest.rate.value))
    return {fmt::format("{} ({}, {})", name, fabric_of(port), port.active ? gigabits(port) : port.state),
            true};
  if (each.why_not) return {each.why_not->what};
  return {fmt::format("{} runs at {}, others at {}", name, gigabits(port), gigabits(fastest))};
}

}  // namespace

Result<Devices> open_devices(Library& library) {
  const auto names = library.devices();
  if (!names) return tl::unexpected(names.error());
  Devices devices;
  for (const std::string& name : *names) {
    auto device = library.open(name);
    if (device)
      devices.opened.push_back(std::move(*device));
    else
      devices.closed.emplace(name, std::move(device.error()));
  }
  return devices;
}

Result<Choice> choose_rails(const Devices& devices, const run::RdmaSettings& settings,
                            const Addresses& addresses) {
  if (devices.opened.empty())
    return tl::unexpected(devices.closed.empty() ? unusable("no RDMA device", "")
                                                 : devices.closed.begin()->second);
  Raws known{parse_ip(addresses.own), {}};
  for (const std::string& other : addresses.others.value_or(std::vector<std::string>{}))
    if (const auto raw = parse_ip(other); raw && raw != known.own) known.others.push_back(*raw);
  if (!settings.ports.empty()) return named_rails(devices, settings, known);

  std::vector<Candidate> usable, rest;
  std::vector<std::string> whys;
  std::string next;
  bool shared = !addresses.others;
  for (const auto& device : devices.opened)
    for (int number = 1; number <= device->limits().ports; ++number) {
      Candidate candidate = look_at(*device, number, settings, known);
      shared |= candidate.foreign;
      if (candidate.foreign) {
        whys.push_back(fmt::format("{} has another node's address", to_text(candidate.rail.name)));
      } else if (candidate.why_not) {
        whys.push_back(candidate.why_not->what);
        if (next.empty()) next = candidate.why_not->next;
        rest.push_back(std::move(candidate));
      } else {
        usable.push_back(std::move(candidate));
      }
    }
  for (const auto& [name, why] : devices.closed) {
    whys.push_back(why.what);
    if (next.empty()) next = why.next;
  }
  if (usable.empty())
    return tl::unexpected(unusable(fmt::format("no usable RDMA port: {}", fmt::join(whys, ", ")), next));

  const auto keep = [&](const auto& good) {
    const auto end = std::stable_partition(usable.begin(), usable.end(), good);
    std::move(end, usable.end(), std::back_inserter(rest));
    usable.erase(end, usable.end());
  };
  // Ports of one purchase have one fabric and one rate; among them a slow one would hold up the others.
  const auto kind_of = [](const Candidate& each) {
    return fmt::format("{} {}", fabric_of(each.rail.port), gigabits(each.rail.port));
  };
  std::vector<run::PortForData> ports;
  for (const Candidate& each : usable) ports.push_back({kind_of(each), each.rail.port.rate.value});
  keep([&, kind = run::kind_for_data(ports)](const Candidate& each) { return kind_of(each) == kind; });
  const auto own = [](const Candidate& each) { return each.own; };
  if (shared && std::any_of(usable.begin(), usable.end(), own)) keep(own);

  const std::string down = fabric_that_is_down(usable, rest);
  Choice choice;
  for (Candidate& each : usable) choice.rails.push_back(std::move(each.rail));
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(choice.rails.begin(), choice.rails.end(), by_name);
  std::sort(rest.begin(), rest.end(),
            [&](const Candidate& a, const Candidate& b) { return by_name(a.rail, b.rail); });
  for (const Candidate& each : rest)  // of ports that others may own, nothing is told
    if (each.own || !shared) choice.left_out.push_back(left_out(each, choice.rails.front(), down));
  for (const auto& [name, why] : devices.closed) choice.left_out.push_back({why.what});
  return choice;
}

std::string to_text(const Gid& gid) {
  return ringtrue::to_text(gid.raw);
}

}  // namespace ringtrue::transport::verbs
