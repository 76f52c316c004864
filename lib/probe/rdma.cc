// RDMA devices and their ports: /sys/class/infiniband, then the answer of verbs (its form: library/verbs.cc).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "probe/probe.h"
#include "probe/reading.h"
#include "topology/links.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using nlohmann::json;

constexpr const char* top = "/sys/class/infiniband";
constexpr std::size_t max_devices = 4096, max_ports = 64;
constexpr int max_gids = 64, empty_gids_at_the_end = 4;

// "4: ACTIVE" -> "active"
std::optional<std::string> word_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::string_view line = *text;
  const auto colon = line.find(':');
  const auto word = formats::trim(colon == line.npos ? line : line.substr(colon + 1));
  return word.empty() ? std::nullopt : std::optional(formats::lower(word));
}

LinkLayer layer_of(std::string_view text) {
  const std::string layer = formats::lower(text);
  return layer == "infiniband" ? LinkLayer::infiniband
         : layer == "ethernet" ? LinkLayer::ethernet
                               : LinkLayer::unknown;
}

// "200 Gb/sec (4X HDR)". What it says of InfiniBand is the signalling rate of old speeds, so that the data
// rate is looked up; Ethernet rates are reported in the notation of InfiniBand speeds.
void read_rate(const std::string& text, Port& port) {
  const auto unit = text.find(" Gb/sec");
  const double number = unit == std::string::npos ? 0 : formats::real(text.substr(0, unit)).value_or(0);
  if (port.layer == LinkLayer::infiniband) {
    const auto open = text.find('('), lanes = text.find("X ", open), close = text.find(')', open);
    if (open != std::string::npos && lanes != std::string::npos && close != std::string::npos &&
        lanes < close) {
      if (const auto width = formats::decimal(text.substr(open + 1, lanes - open - 1));
          width && *width >= 1 && *width <= 12)
        port.width.offer(int(*width), origin::sysfs);
      port.speed.offer(text.substr(lanes + 2, close - lanes - 2), origin::sysfs);
      if (port.width.known()) port.rate.offer(infiniband_rate(*port.speed, *port.width), origin::sysfs);
    }
  }
  if (number > 0) port.rate.offer(BytesPerSecond(number * 1e9 / 8), origin::sysfs);
}

void read_gids(Folder& folder, Port& port) {
  int empty = 0;
  for (int i = 0; i < max_gids && empty < empty_gids_at_the_end; ++i) {
    const auto gid = folder.text(fmt::format("gids/{}", i));
    if (!gid) break;
    const bool set = gid->find_first_not_of("0:") != std::string::npos;
    // The first one's prefix is there before the port has an address.
    if (set && !gid->ends_with(":0000:0000:0000:0000")) port.gids.push_back(*gid);
    empty = set ? 0 : empty + 1;
  }
  if (port.layer != LinkLayer::infiniband || port.gids.empty() || port.gids[0].size() != 39) return;
  port.guid.offer(formats::guid(port.gids[0].substr(20)), origin::sysfs);
}

Port read_port(Source& source, const std::string& device, int number, Node& node) {
  Port port;
  port.number = number;
  Folder folder(source, fmt::format("{}/{}/ports/{}", top, device, number));
  port.layer = layer_of(folder.text("link_layer").value_or(""));
  port.state.offer(word_of(folder.text("state")), origin::sysfs);
  port.physical_state.offer(word_of(folder.text("phys_state")), origin::sysfs);
  // A port that is down names the least that it knows ("2.5 Gb/sec (1X SDR)"), which is no link's rate.
  const auto rate = folder.text("rate");
  if (rate && !port.state.is("down")) read_rate(*rate, port);
  if (const auto lid = formats::hexadecimal(folder.text("lid").value_or(""));
      lid && *lid > 0 && *lid <= 0xffff)
    port.lid.offer(int(*lid), origin::sysfs);
  read_gids(folder, port);
  folder.add_gap(node, fmt::format("{}/{}", device, number));
  return port;
}

// ---- a device

// Soft-RoCE and soft-iWARP ride on a netdev.
std::string netdev_below(Folder& folder) {
  if (const auto parent = folder.text("parent"); parent && !parent->empty()) return *parent;
  return folder.text("ports/1/gid_attrs/ndevs/0").value_or("");
}

std::string model(const Nic& nic, const std::string& board, const std::string& type, const Node& node) {
  constexpr std::pair<std::uint32_t, const char*> mellanox[] = {
      {0x1003, "ConnectX-3"},    {0x1007, "ConnectX-3 Pro"}, {0x1013, "ConnectX-4"},
      {0x1015, "ConnectX-4 Lx"}, {0x1017, "ConnectX-5"},     {0x1019, "ConnectX-5 Ex"},
      {0x101b, "ConnectX-6"},    {0x101d, "ConnectX-6 Dx"},  {0x101f, "ConnectX-6 Lx"},
      {0x1021, "ConnectX-7"},    {0x1023, "ConnectX-8"},     {0xa2d6, "BlueField-2"},
      {0xa2dc, "BlueField-3"}};
  std::string name = type;
  if (const PciDevice* device = node.find_pci(nic.address); device && device->vendor.is(0x15b3))
    for (const auto& [id, words] : mellanox)
      if (device->device.is(id)) name = words;
  if (board.empty()) return name;
  return name.empty() ? board : fmt::format("{} ({})", name, board);
}

Nic& nic_of(Source& source, Folder& folder, Node& node) {
  const auto path = folder.link("device");
  const PciPlace place = path ? pci_place(*path) : PciPlace();
  // A subfunction ("mlx5_core.sf.4") shares its function's link, and is no NIC of its own.
  const bool subfunction = path && path->find(".sf.") != std::string::npos;
  if (!place.addresses.empty() && !subfunction) {
    Nic& nic = hardware_nic(node, place.addresses.back());
    if (nic.rdma.empty()) return nic;
  }
  Nic nic;
  nic.virtual_device = place.addresses.empty() || subfunction;
  if (!place.addresses.empty()) {
    nic.address = place.addresses.back();
  } else if (const std::string below = netdev_below(folder); !below.empty()) {
    nic.netdevs = {below};
    const auto device = source.link(fmt::format("/sys/class/net/{}/device", below));
    const PciPlace at = device ? pci_place(*device) : PciPlace();
    if (!at.addresses.empty()) nic.address = at.addresses.back();
  }
  return node.nics.emplace_back(std::move(nic));
}

void read_device(Source& source, const std::string& name, Node& node) {
  Folder folder(source, fmt::format("{}/{}", top, name));
  const auto ports = folder.list("ports");
  if (ports.empty() && !folder.failed()) {
    node.gaps.push_back({origin::sysfs, name, half_removed});
    if (!folder.text("node_guid")) return;
  }
  Nic& nic = nic_of(source, folder, node);
  nic.name = nic.rdma = name;
  nic.firmware.offer(folder.text("fw_ver"), origin::sysfs);
  nic.guid.offer(formats::guid(folder.text("node_guid").value_or("")), origin::sysfs);
  const std::string type =
      model(nic, folder.text("board_id").value_or(""), folder.text("hca_type").value_or(""), node);
  if (!type.empty()) nic.model.offer(type, origin::sysfs);
  for (const auto& entry : ports) {
    const auto number = parse_number<std::int64_t>(entry);
    if (number && *number >= 1 && *number <= 255 && nic.ports.size() < max_ports)
      nic.ports.push_back(read_port(source, name, int(*number), node));
  }
  std::sort(nic.ports.begin(), nic.ports.end(),
            [](const Port& a, const Port& b) { return a.number < b.number; });
  folder.add_gap(node, name);
}

// ---- verbs

void add_port(const json& told, Port& port) {
  if (port.layer == LinkLayer::unknown) port.layer = layer_of(get<std::string>(told, "layer").value_or(""));
  port.state.offer(get<std::string>(told, "state"), origin::verbs);
  port.physical_state.offer(get<std::string>(told, "physical_state"), origin::verbs);
  if (port.gids.empty())
    for (const json& gid : list(told, "gids"))
      if (gid.is_string() && port.gids.size() < max_gids)
        port.gids.push_back(formats::clean(gid.get_ref<const std::string&>()));
  // Of Ethernet, these are an InfiniBand speed and path MTU that the port does not have.
  if (port.layer != LinkLayer::infiniband) return;
  port.lid.offer(positive(told, "lid", 0xffff), origin::verbs);
  port.max_mtu.offer(positive(told, "max_mtu", 1 << 20), origin::verbs);
  const auto speed = get<std::string>(told, "supported_speed");
  port.max_width.offer(positive(told, "supported_width", 12), origin::verbs);
  if (speed && port.max_width.known())
    port.max_rate.offer(infiniband_rate(*speed, *port.max_width), origin::verbs);
  if (port.state.is("down")) return;
  port.mtu.offer(positive(told, "active_mtu", 1 << 20), origin::verbs);
  port.speed.offer(get<std::string>(told, "active_speed"), origin::verbs);
  port.width.offer(positive(told, "active_width", 12), origin::verbs);
  if (port.speed.known() && port.width.known())
    port.rate.offer(infiniband_rate(*port.speed, *port.width), origin::verbs);
}

void add_verbs(Source& source, Node& node) {
  const json answer = answer_of(source, origin::verbs, "MTU of InfiniBand ports", node);
  if (answer.is_null()) return;
  node.system.rdma_core.offer(get<std::string>(answer, "rdma_core"), origin::verbs);
  for (const json& told : list(answer, "devices")) {
    const auto name = get<std::string>(told, "name");
    const auto nic = std::find_if(node.nics.begin(), node.nics.end(),
                                  [&](const Nic& n) { return name && n.rdma == *name; });
    if (nic == node.nics.end()) continue;
    nic->firmware.offer(get<std::string>(told, "firmware"), origin::verbs);
    nic->guid.offer(formats::guid(get<std::string>(told, "node_guid").value_or("")), origin::verbs);
    if (const auto error = get<std::string>(told, "error"))
      node.gaps.push_back({origin::verbs, nic->name, *error});
    for (const json& port_told : list(told, "ports")) {
      const auto index = positive(port_told, "port", 255);
      for (Port& port : nic->ports)
        if (index && port.number == *index) add_port(port_told, port);
    }
  }
}

}  // namespace

void probe_rdma(Source& source, Node& node) {
  const auto devices = source.list(top);
  if (!devices) {
    // No such folder: no RDMA driver is loaded, which is no gap.
    if (devices.error().cause != Cause::bad_input)
      node.gaps.push_back({origin::sysfs, "RDMA devices", devices.error().what});
    return;
  }
  if (devices->empty()) return;
  for (std::size_t i = 0; i < std::min(devices->size(), max_devices); ++i)
    read_device(source, (*devices)[i], node);
  add_verbs(source, node);
}

}  // namespace ringtrue::probe
