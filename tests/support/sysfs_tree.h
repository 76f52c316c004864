// A machine's /sys and /proc as files under a folder of their own, removed at the end.
//
//   SysfsTree tree;
//   tree.file("/proc/cmdline", "quiet iommu=pt\n");
//   tree.pci("0000:3a:00.0/0000:3b:00.0", {.device_class = 0x020700, .vendor = 0x15b3, .device = 0x1021});
//     the function 0000:3b:00.0 below the port 0000:3a:00.0 of host bridge 0000:3a, as on real machines:
//     a folder in /sys/devices and a link in /sys/bus/pci/devices
#pragma once

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace ringtrue::test {

struct PciFunction {
  unsigned device_class = 0x060400, vendor = 0x8086, device = 0x2030;
  std::string speed = "16.0 GT/s PCIe", width = "16", max_speed = "16.0 GT/s PCIe", max_width = "16";
  int numa = 0;
  std::string power = "active";
  std::string physical = {};  // address: a virtual function of it
  std::string driver = {};
};

class SysfsTree {
 public:
  SysfsTree() {
    for (const char* folder : {"/dev/shm", "/tmp"}) {  // memory first: hundreds of files
      std::string name = fmt::format("{}/ringtrue-sysfs-XXXXXX", folder);
      if (!::mkdtemp(name.data())) continue;
      root_ = name;
      return;
    }
    throw std::runtime_error("no temporary folder");
  }
  ~SysfsTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  SysfsTree(const SysfsTree&) = delete;
  SysfsTree& operator=(const SysfsTree&) = delete;

  const std::string& root() const { return root_; }

  void file(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  void folder(const std::string& path) { std::filesystem::create_directories(root_ + path); }
  void remove(const std::string& path) { std::filesystem::remove_all(root_ + path); }
  // A relative link, as the kernel makes them; `to` is a path below the root.
  void link(const std::string& path, const std::string& to) {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::filesystem::create_symlink(
        std::filesystem::path(to).lexically_relative(std::filesystem::path(path).parent_path()), whole);
  }

  // Returns the function's folder. `chain`: addresses from the root port down, with "/" between; the host
  // bridge is that of the first one.
  std::string pci(const std::string& chain, const PciFunction& f = {}) {
    const std::string address = chain.substr(chain.find_last_of('/') + 1);
    const std::string folder = "/sys/devices/pci" + chain.substr(0, chain.find(':', 5)) + "/" + chain;
    file(folder + "/class", fmt::format("0x{:06x}\n", f.device_class));
    file(folder + "/vendor", fmt::format("0x{:04x}\n", f.vendor));
    file(folder + "/device", fmt::format("0x{:04x}\n", f.device));
    file(folder + "/numa_node", fmt::format("{}\n", f.numa));
    file(folder + "/power/runtime_status", f.power + "\n");
    if (!f.speed.empty()) {
      file(folder + "/current_link_speed", f.speed + "\n");
      file(folder + "/current_link_width", f.width + "\n");
      file(folder + "/max_link_speed", f.max_speed + "\n");
      file(folder + "/max_link_width", f.max_width + "\n");
    }
    if (!f.driver.empty()) link(folder + "/driver", "/sys/bus/pci/drivers/" + f.driver);
    link("/sys/bus/pci/devices/" + address, folder);
    if (!f.physical.empty()) link(folder + "/physfn", "/sys/bus/pci/devices/" + f.physical);
    return folder;
  }

  // A netdev below a PCI function's folder; an empty one makes a virtual netdev. Returns its folder.
  std::string netdev(const std::string& name, const std::string& device, const std::string& speed_Mbps,
                     int type = 1, int mtu = 1500) {
    const std::string folder = (device.empty() ? "/sys/devices/virtual" : device) + "/net/" + name;
    file(folder + "/type", fmt::format("{}\n", type));
    file(folder + "/mtu", fmt::format("{}\n", mtu));
    file(folder + "/operstate", "up\n");
    file(folder + "/carrier", "1\n");
    file(folder + "/carrier_changes", "2\n");
    file(folder + "/flags", "0x1003\n");
    file(folder + "/dev_port", "0\n");
    file(folder + "/speed", speed_Mbps + "\n");
    file(folder + "/statistics/rx_crc_errors", "0\n");
    if (!device.empty()) link(folder + "/device", device);
    link("/sys/class/net/" + name, folder);
    return folder;
  }

  // An RDMA device with one port, below a PCI function's folder; an empty one: without hardware (rxe).
  std::string rdma(const std::string& name, const std::string& device, const std::string& rate,
                   const std::string& layer = "InfiniBand", const std::string& state = "4: ACTIVE",
                   const std::string& physical = "5: LinkUp") {
    const std::string folder = (device.empty() ? "/sys/devices/virtual" : device) + "/infiniband/" + name;
    const std::string port = folder + "/ports/1";
    file(folder + "/fw_ver", "28.39.1002\n");
    file(folder + "/board_id", "MT_0000000838\n");
    file(folder + "/node_guid", "506b:4b03:00c1:9c16\n");
    file(port + "/state", state + "\n");
    file(port + "/phys_state", physical + "\n");
    file(port + "/rate", rate + "\n");
    file(port + "/link_layer", layer + "\n");
    file(port + "/lid", "0x1a\n");
    file(port + "/gids/0", "fe80:0000:0000:0000:506b:4b03:00c1:9c17\n");
    file(port + "/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    if (!device.empty()) link(folder + "/device", device);
    link("/sys/class/infiniband/" + name, folder);
    return folder;
  }

 private:
  std::string root_;
};

}  // namespace ringtrue::test
