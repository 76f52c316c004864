#include "cases.h"

namespace ringtrue::diagnosis {

using namespace topology;
using namespace test;

namespace {

void put_down(Nic& nic) {
  nic.ports[0].state.value = "down";
  nic.ports[0].physical_state.value = "polling";
}

// Second functions of all cards, as mlx5 shows the second port of a card.
Node two_ports(const std::string& name, bool second_up) {
  Node n = four_rails(name);
  for (int i = 0; i < 4; ++i) {
    PciDevice d = pci_of(n, n.nics[std::size_t(i)]);
    Nic nic = n.nics[std::size_t(i)];
    d.address.back() = '1';
    nic.address = d.address;
    nic.name = nic.rdma = fmt::format("mlx5_{}", 4 + i);
    nic.netdevs = {fmt::format("ib{}", 4 + i)};
    nic.ports[0].rate.value = BytesPerSecond(6.25e9);
    nic.ports[0].max_rate.value = BytesPerSecond(6.25e9);
    if (!second_up) put_down(nic);
    n.pci.push_back(d);
    n.nics.push_back(nic);
  }
  return n;
}

// All NICs are virtual functions, as a guest sees them.
void pass_through(Node& n) {
  for (Nic& nic : n.nics) {
    nic.virtual_device = true;
    pci_of(n, nic).virtual_function = true;
  }
}

Nic& add_eth(Node& n, const std::string& name, const std::string& state) {
  PciDevice d = pci_of(n, n.nics[0]);
  d.address = "0000:05:00.0";
  d.parent.clear();
  d.device.value = 0x1563;
  d.vendor.value = 0x8086;
  n.pci.push_back(d);
  Nic nic;
  nic.name = name;
  nic.address = d.address;
  nic.netdevs = {name};
  Port p;
  p.layer = LinkLayer::ethernet;
  p.state = from(origin::sysfs, state);
  p.rate = {BytesPerSecond(0.125e9), origin::ethtool};
  p.max_rate = {BytesPerSecond(1.25e9), origin::ethtool};
  nic.ports = {p};
  return n.nics.emplace_back(nic);
}

// Nodes with one rail each, of which nobody tells what it can do.
template <class Change>
Cluster only_rails(int nodes, Change change) {
  Cluster cluster = changed(nodes, four_rails, [](Node&) {});
  for (Node& node : cluster.nodes) {
    node.nics.resize(1);
    node.nics[0].ports[0].max_rate = {};
    node.nics[0].ports[0].max_width = {};
  }
  cluster.fabric.reset();
  change(cluster.nodes[0]);
  return cluster;
}

}  // namespace

Cases port_cases() {
  const auto nothing = [](Node&) {};
  return {
      {"port-down", "one rail of four", rails([](Node& n) { put_down(n.nics[2]); }), true, "mlx5_2/1"},
      {"port-down", "one rail of eight on one of four nodes",
       changed(4, hgx_h100, [](Node& n) { put_down(n.nics[7]); }), true, "mlx5_7/1"},
      {"port-down", "all rails of a node", rails([](Node& n) {
         for (Nic& nic : n.nics) put_down(nic);
       }),
       true},
      {"port-down", "all rails of all nodes",
       [] {
         Cluster c = cluster_of(3, four_rails);
         for (Node& n : c.nodes)
           for (Nic& nic : n.nics) put_down(nic);
         return c;
       }(),
       true},
      {"port-down", "all rails, while the management network is up", rails([](Node& n) {
         for (Nic& nic : n.nics) put_down(nic);
         add_eth(n, "eno1", "active");
       }),
       true},
      {"port-down", "the unused second ports of all cards", one(two_ports("node0", false))},
      {"port-down", "the unused second ports of all cards of a fleet",
       cluster_of(3, [](const std::string& name) { return two_ports(name, false); })},
      {"port-down", "an unplugged management port", rails([](Node& n) { add_eth(n, "eno2", "down"); })},
      {"port-down", "a virtual device", rails([](Node& n) {
         Nic& nic = add_eth(n, "veth0", "down");
         nic.virtual_device = true;
         nic.address.clear();
       })},
      {"port-down", "the same port of all nodes",
       [] {
         Cluster c = cluster_of(4, hgx_h100);
         for (Node& n : c.nodes) put_down(n.nics[7]);
         return c;
       }()},

      {"port-down", "a virtual function that was passed through to this machine", rails([](Node& n) {
         pass_through(n);
         put_down(n.nics[2]);
       }),
       true, "mlx5_2/1"},
      {"port-down", "virtual functions of a host that are down", rails([](Node& n) {
         Node guest = n;
         pass_through(guest);
         for (Nic nic : guest.nics) {
           PciDevice vf = pci_of(guest, nic);
           nic.name = nic.rdma = nic.name + "v";
           nic.address = vf.address = vf.address.substr(0, vf.address.size() - 1) + "4";
           put_down(nic);
           n.pci.push_back(vf);
           n.nics.push_back(nic);
         }
       })},

      {"port-not-active", "no subnet manager yet",
       rails([](Node& n) { n.nics[1].ports[0].state.value = "init"; }), true, "mlx5_1/1"},
      {"port-not-active", "all active", rails(nothing)},
      {"port-not-active", "a virtual device", rails([](Node& n) {
         n.nics[1].ports[0].state.value = "init";
         n.nics[1].virtual_device = true;
       })},

      {"port-rate-degraded", "one rail at EDR of HDR", rails([](Node& n) {
         n.nics[1].ports[0].rate.value = BytesPerSecond(12.5e9);
         n.nics[1].ports[0].speed.value = "EDR";
       }),
       true, "mlx5_1/1"},
      {"port-rate-degraded", "one lane of four", rails([](Node& n) {
         n.nics[1].ports[0].rate.value = BytesPerSecond(6.25e9);
         n.nics[1].ports[0].width.value = 1;
       }),
       true, "mlx5_1/1"},
      {"port-rate-degraded", "Ethernet that agreed on 25 of 100 Gbit/s",
       [] {
         Node n = pcie_box("node0");
         n.nics[0].ports[0].rate.value = BytesPerSecond(3.125e9);
         return one(n);
       }(),
       true, "mlx5_0/1"},
      {"port-rate-degraded", "all rails alike below what the cards can do", rails([](Node& n) {
         for (Nic& nic : n.nics) nic.ports[0].max_rate.value = BytesPerSecond(50e9);
       })},
      {"port-rate-degraded", "the management network at 1 of 10 Gbit/s",
       rails([](Node& n) { add_eth(n, "eno1", "active"); })},
      {"port-rate-degraded",
       "a port that is down shows an old rate",
       rails([](Node& n) {
         put_down(n.nics[1]);
         n.nics[1].ports[0].rate.value = BytesPerSecond(1e9);
       }),
       false,
       {},
       {"port-down"}},

      {"rail-unlike-sisters", "one rail slower, its maximum unknown", rails([](Node& n) {
         n.nics[3].ports[0].rate.value = BytesPerSecond(12.5e9);
         n.nics[3].ports[0].max_rate = {};
         n.nics[3].ports[0].width = {};
       }),
       true, "mlx5_3"},
      {"rail-unlike-sisters", "one rail with a lesser PCIe link that still carries its port",
       rails([](Node& n) {
         for (Nic& nic : n.nics)
           nic.ports[0].rate.value = nic.ports[0].max_rate.value = BytesPerSecond(12.5e9);
         run_at(n, n.nics[3].address, 8, 16);
         port_above(n, n.nics[3].address).link.max_speed_GTps.value = 8;
       }),
       true, "mlx5_3"},
      {"rail-unlike-sisters", "all alike", rails(nothing)},
      {"rail-unlike-sisters", "one node's only rail at half width, nobody tells its maximum",
       only_rails(4,
                  [](Node& n) {
                    n.nics[0].ports[0].rate.value = BytesPerSecond(12.5e9);
                    n.nics[0].ports[0].width.value = 2;
                  }),
       true, "mlx5_0"},
      {"rail-unlike-sisters", "two nodes, of which none is the majority",
       only_rails(2,
                  [](Node& n) {
                    n.nics[0].ports[0].rate.value = BytesPerSecond(12.5e9);
                    n.nics[0].ports[0].width.value = 2;
                  })},
      {"rail-unlike-sisters", "three of a kind in lesser slots, away from the GPUs", hgx([](Node& n) {
         for (int i = 0; i < 3; ++i) {
           const std::string bus = fmt::format("0000:f{}:", i);
           const std::string root = bus.substr(0, bus.size() - 1);
           add_bridge(n, bus + "01.0", "", PciKind::root_port, pcie(16, 16), 0, root);
           PciDevice device = pci_of(n, n.nics[0]);
           device.address = fmt::format("0000:f{}:02.0", i);
           device.parent = bus + "01.0";
           device.root = root;
           device.link = pcie(16, 16);
           n.pci.push_back(device);
           Nic nic = n.nics[0];
           nic.name = nic.rdma = fmt::format("mlx5_{}", 20 + i);
           nic.netdevs.clear();
           nic.address = device.address;
           nic.ports[0].rate.value = nic.ports[0].max_rate.value = BytesPerSecond(25e9);
           n.nics.push_back(nic);
         }
         for (Nic& nic : n.nics) nic.ports[0].rate.value = nic.ports[0].max_rate.value = BytesPerSecond(25e9);
       })},
      {"rail-unlike-sisters", "NICs of another model", rails([](Node& n) {
         n.nics[3].ports[0].rate.value = n.nics[3].ports[0].max_rate.value = BytesPerSecond(12.5e9);
         n.nics[3].model.value = "MT_0000000999";
       })},
  };
}

Cases counter_cases() {
  const auto count = [](const char* device, const char* counter, std::uint64_t before, std::uint64_t after,
                        double seconds = 10, bool saturated = false, bool reset = false) {
    return rails([&](Node& n) { rises(n, device, counter, before, after, seconds, saturated, reset); });
  };
  return {
      {"symbol-errors", "rising", count("mlx5_1/1", "symbol_error", 100, 512), true, "mlx5_1/1"},
      {"symbol-errors", "rising up to the counter's end",
       count("mlx5_1/1", "symbol_error", 65000, 65535, 10, true), true, "mlx5_1/1"},
      {"symbol-errors", "old and constant", count("mlx5_1/1", "symbol_error", 412, 412)},
      {"symbol-errors", "one within ten seconds", count("mlx5_1/1", "symbol_error", 0, 1)},
      {"symbol-errors", "at its end before and after",
       count("mlx5_1/1", "symbol_error", 65535, 65535, 10, true)},
      {"symbol-errors", "reset in between", count("mlx5_1/1", "symbol_error", 9000, 400, 10, false, true)},
      {"symbol-errors", "of a virtual device", rails([](Node& n) {
         n.nics[1].virtual_device = true;
         rises(n, "mlx5_1/1", "symbol_error", 0, 9000);
       })},

      {"link-error-recovery", "ten a minute", count("mlx5_1/1", "link_error_recovery", 0, 10, 60), true,
       "mlx5_1/1"},
      {"link-error-recovery", "four a minute", count("mlx5_1/1", "link_error_recovery", 0, 4, 60)},

      {"port-receive-errors", "eleven a second", count("mlx5_1/1", "port_rcv_errors", 0, 110), true,
       "mlx5_1/1"},
      {"port-receive-errors", "nine a second", count("mlx5_1/1", "port_rcv_errors", 0, 90)},

      {"port-discards", "two hundred a second", count("mlx5_1/1", "port_xmit_discards", 0, 2000), true,
       "mlx5_1/1"},
      {"port-discards", "fifty a second", count("mlx5_1/1", "port_xmit_discards", 0, 500)},

      {"port-fatal-errors", "the link went down once", count("mlx5_1/1", "link_downed", 4, 5), true,
       "mlx5_1/1"},
      {"port-fatal-errors", "a buffer overrun", count("mlx5_1/1", "excessive_buffer_overrun_errors", 0, 1),
       true, "mlx5_1/1"},
      {"port-fatal-errors", "link integrity", count("mlx5_1/1", "local_link_integrity_errors", 0, 1), true},
      {"port-fatal-errors", "retries given up", count("mlx5_1/1", "rnr_nak_retry_err", 0, 1), true},
      {"port-fatal-errors", "it went down long ago", count("mlx5_1/1", "link_downed", 5, 5)},

      {"carrier-changes", "three times in a window", count("ib1", "carrier_changes", 2, 5), true, "ib1"},
      {"carrier-changes", "once down and up", count("ib1", "carrier_changes", 2, 4)},
      {"carrier-changes", "of a veth", rails([](Node& n) {
         Nic nic;
         nic.name = "veth1";
         nic.netdevs = {"veth1"};
         nic.virtual_device = true;
         n.nics.push_back(nic);
         rises(n, "veth1", "carrier_changes", 0, 50);
       })},

      {"roce-retransmissions", "packets out of sequence", count("mlx5_1/1", "out_of_sequence", 0, 7), true},
      {"roce-retransmissions", "traffic alone", count("mlx5_1/1", "rx_write_requests", 0, 70000)},

      {"roce-congestion", "pauses received", count("ib1", "rx_prio3_pause", 0, 70), true, "ib1"},
      {"roce-congestion", "congestion notifications", count("mlx5_1/1", "rp_cnp_handled", 0, 70), true},
      {"roce-congestion", "old ones", count("mlx5_1/1", "rp_cnp_handled", 70, 70)},

      {"pcie-errors", "a fatal one at a GPU", count("0000:21:00.0", "aer_fatal", 0, 1), true, "0000:21:00.0"},
      {"pcie-errors", "many corrected ones", count("0000:21:00.0", "aer_correctable", 0, 5000), true},
      {"pcie-errors", "old ones", count("0000:21:00.0", "aer_correctable", 5000, 5000)},
      {"pcie-errors", "a few corrected ones", count("0000:21:00.0", "aer_correctable", 0, 5)},

      {"counter-saturated", "symbol errors at their end",
       count("mlx5_1/1", "symbol_error", 65535, 65535, 10, true), true, "mlx5_1/1"},
      {"counter-saturated", "traffic at its end",
       count("mlx5_1/1", "port_xmit_data", 4294967295, 4294967295, 10, true)},
      {"counter-saturated", "high and not at its end", count("mlx5_1/1", "symbol_error", 65000, 65001)},
  };
}

}  // namespace ringtrue::diagnosis
