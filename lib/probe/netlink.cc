// Netdevs: /sys/class/net, then the answer of ethtool (its form: library/ethtool.cc). Joins them to the RDMA
// devices of the same PCI function, and names all NICs.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "probe/probe.h"
#include "probe/reading.h"
#include "topology/merge.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using nlohmann::json;

constexpr const char* top = "/sys/class/net";
constexpr std::size_t max_netdevs = 8192;
constexpr int loopback = 772, ethernet = 1, infiniband = 32;
constexpr std::uint64_t max_rate = 100'000'000;  // above it: "unknown"

BytesPerSecond megabits(std::int64_t rate) {
  return BytesPerSecond(double(rate) * 1e6 / 8);
}

// "pf0vf3", "c1pf0sf2": the switch's side of a virtual function.
bool is_representor(const std::string& port_name) {
  return port_name.find("pf") != std::string::npos &&
         (port_name.find("vf") != std::string::npos || port_name.find("sf") != std::string::npos);
}

struct Netdev {
  std::string name, device;  // device: real path; empty: none
  int type = 0, dev_port = 0;
  bool has_speed = false;  // of its own
  Port port;               // what the netdev itself says
  std::optional<std::string> driver;
};

void read_state(Folder& folder, Port& port) {
  const auto flags = folder.hexadecimal("flags");
  const bool off = flags && !(*flags & 1);  // nobody has brought it up; `carrier` then says EINVAL
  const auto carrier = off ? -1 : folder.number("carrier").value_or(-1);
  const auto operstate = folder.text("operstate").value_or("unknown");
  if (off || operstate == "down" || operstate == "lowerlayerdown" || operstate == "notpresent")
    port.state.offer("down", origin::sysfs);
  else if (operstate == "up" || (operstate == "unknown" && carrier == 1))
    port.state.offer("active", origin::sysfs);
  else if (operstate != "unknown")
    port.state.offer(operstate, origin::sysfs);
  if (off)
    port.physical_state.offer("disabled", origin::sysfs);
  else if (carrier >= 0)
    port.physical_state.offer(carrier == 1 ? "linkup" : "polling", origin::sysfs);
}

std::optional<Netdev> read_netdev(Source& source, const std::string& name, Node& node) {
  Folder folder(source, fmt::format("{}/{}", top, name));
  Netdev netdev;
  netdev.name = name;
  netdev.type = int(folder.number("type").value_or(-1));
  if (netdev.type < 0 && !folder.failed()) {
    if (name != "bonding_masters") node.gaps.push_back({origin::sysfs, name, half_removed});
    return std::nullopt;
  }
  if (netdev.type == loopback || is_representor(folder.text("phys_port_name").value_or("")))
    return std::nullopt;
  netdev.device = folder.link("device").value_or("");
  netdev.driver = folder.link_name("device/driver");
  netdev.dev_port = int(std::clamp<std::int64_t>(folder.number("dev_port").value_or(0), 0, 254));
  Port& port = netdev.port;
  port.layer = netdev.type == ethernet     ? LinkLayer::ethernet
               : netdev.type == infiniband ? LinkLayer::infiniband
                                           : LinkLayer::unknown;
  read_state(folder, port);
  if (const auto mtu = folder.number("mtu"); mtu && *mtu > 0 && *mtu <= 1 << 20 && netdev.type != infiniband)
    port.mtu.offer(int(*mtu), origin::sysfs);
  // What a veth, a bridge or a tun calls its speed is a constant of the kernel's.
  const std::string kind = netdev.device.empty() ? folder.text("uevent").value_or("") : "";
  netdev.has_speed = !netdev.device.empty() || kind.find("DEVTYPE=bond") != std::string::npos ||
                     kind.find("DEVTYPE=vlan") != std::string::npos;
  if (netdev.has_speed && !port.state.is("down"))
    if (const auto speed = folder.number("speed"); speed && *speed > 0 && *speed < 100'000'000)
      port.rate.offer(megabits(*speed), origin::sysfs);
  folder.add_gap(node, name);
  return netdev;
}

void add_ethtool(const json& told, bool has_speed, Port& port) {
  port.pause_rx.offer(get<bool>(told, "pause_rx"), origin::ethtool);
  port.pause_tx.offer(get<bool>(told, "pause_tx"), origin::ethtool);
  if (has_speed && !port.state.is("down")) {
    if (const auto speed = positive(told, "speed_Mbps", max_rate))
      port.rate.offer(megabits(*speed), origin::ethtool);
    port.width.offer(positive(told, "lanes", max_rate), origin::ethtool);
  }
  const auto supported = positive(told, "supported_Mbps", max_rate);
  // A list of modes that lacks the present one is no list of all that it can do.
  if (supported && !(port.rate.known() && megabits(*supported) < *port.rate))
    port.max_rate.offer(megabits(*supported), origin::ethtool);
}

bool is_hardware(const Netdev& netdev, const Node& node, std::string& address) {
  const PciPlace place = pci_place(netdev.device);
  // A BMC's or a phone's Ethernet over USB lies below a PCI function that is no NIC.
  if (netdev.device.find("/usb") != std::string::npos || netdev.device.find(".sf.") != std::string::npos)
    return false;
  if (place.addresses.empty()) return netdev.device.starts_with("/sys/devices/platform/");
  const PciDevice* device = node.find_pci(place.addresses.back());
  if (device && device->device_class.known() && !is_nic(*device)) return false;
  address = place.addresses.back();
  return true;
}

// The port that a netdev is: of an RDMA device by its number; the others have a port a netdev.
Port* port_of(Nic& nic, const Netdev& netdev) {
  if (nic.rdma.empty()) {
    nic.ports.push_back({});
    nic.ports.back().number = int(nic.ports.size());
    return &nic.ports.back();
  }
  if (nic.ports.size() == 1) return &nic.ports[0];
  for (Port& port : nic.ports)
    if (port.number == netdev.dev_port + 1) return &port;
  return nullptr;
}

void join(const Netdev& netdev, const json& told, Node& node) {
  std::string address;
  const bool hardware = is_hardware(netdev, node, address);
  Nic* nic = nullptr;
  if (address.empty()) {
    node.nics.emplace_back();
    nic = &node.nics.back();
    nic->virtual_device = !hardware;
  } else {
    nic = &hardware_nic(node, address);
  }
  nic->netdevs.push_back(netdev.name);
  nic->driver.offer(netdev.driver, origin::sysfs);
  nic->driver.offer(get<std::string>(told, "driver"), origin::ethtool);
  if (const auto firmware = get<std::string>(told, "firmware"); firmware && *firmware != "N/A")
    nic->firmware.offer(firmware->substr(0, firmware->find(" (")), origin::ethtool);
  Port* port = port_of(*nic, netdev);
  // IP over InfiniBand says nothing of the port that the RDMA device does not know better.
  if (!port || (netdev.type == infiniband && !nic->rdma.empty())) return;
  learn(*port, netdev.port);
  add_ethtool(told, netdev.has_speed, *port);
}

// Hardware in the order of its addresses, then what rides on it.
void order_and_name(Node& node) {
  const auto soft = [&](const Nic& nic) {
    const PciDevice* device = node.find_pci(nic.address);
    return nic.virtual_device && !(device && device->virtual_function);
  };
  int nameless = 0;
  std::vector<std::tuple<bool, Nic>> sorted;
  for (Nic& nic : node.nics) sorted.emplace_back(soft(nic), std::move(nic));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    const auto& [soft_a, x] = a;
    const auto& [soft_b, y] = b;
    if (soft_a != soft_b) return soft_b;
    if (x.address.empty() != y.address.empty()) return y.address.empty();
    return !soft_a && formats::pci_before(x.address, y.address);
  });
  node.nics.clear();
  for (auto& [is_soft, nic] : sorted) {
    if (nic.name.empty() && !nic.netdevs.empty()) nic.name = nic.netdevs.front();
    if (nic.name.empty()) nic.name = fmt::format("NIC{}", nameless++);
    node.nics.push_back(std::move(nic));
  }
}

}  // namespace

void probe_netlink(Source& source, Node& node) {
  const auto names = source.list(top);
  if (!names) node.gaps.push_back({origin::sysfs, std::string(gap::netdevs), why_not(names.error(), top)});
  std::vector<Netdev> netdevs;
  for (const auto& name : names.value_or(std::vector<std::string>()))
    if (netdevs.size() < max_netdevs)
      if (auto netdev = read_netdev(source, name, node)) netdevs.push_back(std::move(*netdev));
  std::stable_sort(netdevs.begin(), netdevs.end(),
                   [](const Netdev& a, const Netdev& b) { return a.dev_port < b.dev_port; });

  const json answer = netdevs.empty() ? json()
                                      : answer_of(source, origin::ethtool,
                                                  "netdevs: fastest mode, firmware, pause frames", node);
  for (const Netdev& netdev : netdevs) {
    const auto told = answer.is_object() ? answer.find(netdev.name) : answer.end();
    join(netdev, told != answer.end() && told->is_object() ? *told : json::object(), node);
  }
  // NICs that no driver of the kernel's shows.
  for (const PciDevice& device : node.pci)
    if (is_nic(device)) (void)hardware_nic(node, device.address);
  order_and_name(node);
}

}  // namespace ringtrue::probe
