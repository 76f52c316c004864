#include "probe/library/fabric_walk.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "base/fd.h"
#include "probe/live.h"

namespace ringtrue::probe::walk {
namespace {

struct Ports {
  std::vector<LocalPort> active;
  int infiniband = 0;  // ports, active or not
};

Ports find_ports(Source& files) {
  Ports found;
  const std::string top = "/sys/class/infiniband";
  const std::vector<std::string> none;
  for (const auto& device : files.list(top).value_or(none))
    for (const auto& number : files.list(top + "/" + device + "/ports").value_or(none)) {
      const std::string port = top + "/" + device + "/ports/" + number;
      // Where nothing says otherwise: the time before Ethernet, and simulators.
      if (files.read(port + "/link_layer").value_or("InfiniBand") != "InfiniBand") continue;
      ++found.infiniband;
      if (files.read(port + "/state").value_or(std::string()).find("ACTIVE") != std::string::npos)
        found.active.push_back({device, std::atoi(number.c_str())});
    }
  return found;
}

// The character device through which a port's management packets go.
Result<std::string> umad_of(Source& files, const LocalPort& port) {
  const std::string top = "/sys/class/infiniband_mad";
  for (const auto& name : files.list(top).value_or(std::vector<std::string>())) {
    if (!name.starts_with("umad") ||
        files.read(top + "/" + name + "/ibdev").value_or(std::string()) != port.device ||
        files.read(top + "/" + name + "/port").value_or(std::string()) != std::to_string(port.number))
      continue;
    std::string path = "/dev/infiniband/" + name;
    if (OwnedFd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK))) return path;
    if (errno == EACCES || errno == EPERM)
      return fail(Cause::refused, fmt::format("no permission for {}", path), {},
                  "run as root, or let ringtrue's group read and write it");
    return fail(Cause::unavailable, fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  }
  return fail(Cause::unavailable, fmt::format("no umad device for {} port {}", port.device, port.number), {},
              "modprobe ib_umad");
}

// "4xEDR", as ibnetdiscover writes it. Widths and speeds are bits.
std::string width_and_speed(ibnd_port_t* port) {
  const auto name = [&](std::uint8_t* info, MAD_FIELDS which, const auto& names) -> std::string {
    const unsigned bits = mad_get_field(info, 0, which);
    const auto bit = std::size_t(std::countr_zero(bits));
    return std::has_single_bit(bits) && bit < std::size(names) ? names[bit] : "";
  };
  constexpr const char* widths[] = {"1x", "4x", "8x", "12x", "2x"};
  constexpr const char* extended[] = {"FDR", "EDR", "HDR", "NDR", "XDR"};
  constexpr const char* speeds[] = {"SDR", "DDR", "QDR"};
  const std::string width = name(port->info, IB_PORT_LINK_WIDTH_ACTIVE_F, widths);
  std::string speed = name(port->info, IB_PORT_LINK_SPEED_EXT_ACTIVE_F, extended);
  if (speed.empty()) speed = name(port->info, IB_PORT_LINK_SPEED_ACTIVE_F, speeds);
  if (speed == "QDR" && mad_get_field(port->ext_info, 0, IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F) == 1)
    speed = "FDR10";
  return (width.empty() ? "?" : width) + (speed.empty() ? "???" : speed);
}

std::string id(const ibnd_node_t* node) {
  const char kind = node->type == IB_NODE_SWITCH ? 'S' : node->type == IB_NODE_CA ? 'H' : 'R';
  return fmt::format("\"{}-{:016x}\"", kind, node->guid);
}

void write_port(std::string& out, ibnd_port_t* port) {
  ibnd_port_t* remote = port->remoteport;
  if (!remote || !remote->node) return;
  const bool at_switch = port->node->type == IB_NODE_SWITCH;
  const bool to_switch = remote->node->type == IB_NODE_SWITCH;
  out += fmt::format("[{}]", port->portnum);
  if (!at_switch) out += fmt::format("({:x}) ", port->guid);
  out += fmt::format("\t{}[{}]", id(remote->node), remote->portnum);
  if (!to_switch) out += fmt::format("({:x}) ", remote->guid);
  out += "\t\t# ";
  if (!at_switch) out += fmt::format("lid {} lmc {} ", port->base_lid, port->lmc);
  out += fmt::format("\"{}\" lid {} {}\n", description(remote->node),
                     to_switch ? remote->node->smalid : remote->base_lid, width_and_speed(port));
}

struct Page {
  std::string& text;
  std::size_t end;
  std::size_t left_out = 0;
};

void write_node(ibnd_node_t* node, void* to) {
  Page& page = *static_cast<Page*>(to);
  std::string& out = page.text;
  if (out.size() > page.end) {
    ++page.left_out;
    return;
  }
  const bool is_switch = node->type == IB_NODE_SWITCH;
  out += fmt::format("\nvendid=0x{:x}\ndevid=0x{:x}\n", mad_get_field(node->info, 0, IB_NODE_VENDORID_F),
                     mad_get_field(node->info, 0, IB_NODE_DEVID_F));
  if (is_switch)
    out +=
        fmt::format("switchguid=0x{:x}({:x})\nSwitch\t{} {}\t\t# \"{}\" {} port 0 lid {} lmc {}\n",
                    node->guid, mad_get_field64(node->info, 0, IB_NODE_PORT_GUID_F), node->numports, id(node),
                    description(node), node->smaenhsp0 ? "enhanced" : "base", node->smalid, node->smalmc);
  else
    out += fmt::format("{}guid=0x{:x}\n{}\t{} {}\t\t# \"{}\"\n", node->type == IB_NODE_CA ? "ca" : "rt",
                       node->guid, node->type == IB_NODE_CA ? "Ca" : "Rt", node->numports, id(node),
                       description(node));
  for (int number = 1; number <= node->numports; ++number)
    if (ibnd_port_t* port = node->ports[number]) write_port(out, port);
}

// The ports of this machine that a fabric has.
struct OwnPorts {
  std::set<std::pair<std::uint64_t, int>> all;
};

void note_ports(ibnd_node_t* node, void* to) {
  for (int number = 1; number <= node->numports; ++number)
    if (const ibnd_port_t* port = node->ports[number]; port && port->remoteport)
      static_cast<OwnPorts*>(to)->all.emplace(node->guid, number);
}

}  // namespace

std::string description(const ibnd_node_t* node) {
  std::string text(node->nodedesc, ::strnlen(node->nodedesc, sizeof node->nodedesc));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e || c == '"') c = ' ';
  return text;
}

std::size_t write_fabric(const LocalPort& from, ibnd_fabric_t* fabric, std::size_t max_bytes,
                         std::string& text) {
  text += fmt::format("#\n# Initiated from {} port {}\n#\n", from.device, from.number);
  Page page{text, max_bytes};
  for (const int type : {IB_NODE_SWITCH, IB_NODE_CA, IB_NODE_ROUTER})
    ibnd_iter_nodes_type(fabric, write_node, type, &page);
  return page.left_out;
}

Result<void> each_fabric(const std::string& root, const Visit& visit) {
  if (!root.empty())
    return fail(Cause::unavailable, fmt::format("files under {} have no fabric to walk", root));
  Files files;
  const Ports ports = find_ports(files);
  if (ports.infiniband == 0)
    return fail(Cause::bad_input, "no InfiniBand port here; Ethernet has no fabric to walk");
  if (ports.active.empty())
    return fail(Cause::unavailable,
                "no InfiniBand port is active: without a subnet manager there is no fabric", {},
                "see `ibstat`, and whether opensm runs");
  OwnPorts seen;
  bool any = false;
  Error last;
  for (const LocalPort& port : ports.active) {
    std::string guid =
        files.read(fmt::format("/sys/class/infiniband/{}/node_guid", port.device)).value_or("");
    std::erase(guid, ':');
    if (seen.all.contains({std::strtoull(guid.c_str(), nullptr, 16), port.number})) continue;
    if (const auto umad = umad_of(files, port); !umad) {
      last = umad.error();
      continue;
    }
    ibnd_config_t config{};
    config.max_smps = 8;
    config.timeout_ms = 200;
    config.retries = 2;
    config.flags = IBND_CONFIG_MLX_EPI;
    std::string device = port.device;
    const std::unique_ptr<ibnd_fabric_t, decltype(&ibnd_destroy_fabric)> fabric(
        ibnd_discover_fabric(device.data(), port.number, nullptr, &config), ibnd_destroy_fabric);
    if (!fabric) {
      last = Error{Cause::unavailable,
                   fmt::format("the fabric at {} port {} cannot be walked", port.device, port.number),
                   {},
                   "try `ibnetdiscover` there"};
      continue;
    }
    any = true;
    ibnd_iter_nodes_type(fabric.get(), note_ports, IB_NODE_CA, &seen);
    visit(port, fabric.get());
  }
  if (!any) return tl::unexpected(last);
  return {};
}

}  // namespace ringtrue::probe::walk
