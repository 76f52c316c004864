#include "cases.h"

namespace ringtrue::diagnosis {

using namespace topology;
using namespace test;

namespace {

// NCCL's file of a machine at 8 GT/s with GPUs of AMD, whose boards have switches of their own; one of the
// machine's switches has `lanes` above it.
Cluster gpus_on_boards(int lanes) {
  return hgx([&](Node& n) {
    as_nccl(n);
    for (PciDevice& d : n.pci) d.link.speed_GTps.value = 8;
    for (const Gpu& gpu : n.gpus) {
      PciDevice& chip = pci_of(n, gpu);
      PciDevice board = pci_of(n, chip.parent);
      board.address = chip.address.substr(0, chip.address.rfind(':')) + ":1f.0";
      board.parent = chip.parent;
      board.vendor = {};
      chip.parent = board.address;
      chip.vendor.value = 0x1002;
      chip.link.speed_GTps.value = 16;
      n.pci.insert(n.pci.begin() + (&chip - n.pci.data()), board);
    }
    pci_of(n, "0000:21:00.0").link.width.value = lanes;
  });
}

}  // namespace

Cases pci_cases() {
  const auto nothing = [](Node&) {};
  return {
      {"pcie-link-degraded", "a GPU with half of its lanes",
       hgx([](Node& n) { run_at(n, n.gpus[3].address, 32, 8); }), true, "GPU3"},
      {"pcie-link-degraded", "one rail of four at half width",
       rails([](Node& n) { run_at(n, n.nics[2].address, 16, 8); }), true, "mlx5_2"},
      {"pcie-link-degraded", "a NIC one generation down",
       rails([](Node& n) { run_at(n, n.nics[1].address, 8, 16); }), true, "mlx5_1"},
      {"pcie-link-degraded", "a busy GPU at a low speed", hgx([](Node& n) {
         run_at(n, n.gpus[0].address, 8, 16);
         n.gpus[0].utilization.value = 90;
       }),
       true, "GPU0"},
      {"pcie-link-degraded", "a switch below a narrow uplink",
       hgx([](Node& n) { run_at(n, "0000:11:00.0", 32, 8); }), true, "0000:11:00.0"},
      {"pcie-link-degraded", "an idle GPU that lost lanes, too",
       hgx([](Node& n) { run_at(n, n.gpus[3].address, 2.5, 4); }), true, "GPU3"},
      {"pcie-link-degraded", "all GPUs idle at 2.5 GT/s", hgx([](Node& n) {
         for (const Gpu& g : n.gpus) run_at(n, g.address, 2.5, 16);
       })},
      {"pcie-link-degraded", "a GPU of unknown activity at 2.5 GT/s", hgx([](Node& n) {
         run_at(n, n.gpus[0].address, 2.5, 16);
         n.gpus[0].utilization = {};
       })},
      {"pcie-link-degraded",
       "a card of 16 lanes in a slot of 8",
       rails([](Node& n) {
         run_at(n, n.nics[2].address, 16, 8);
         port_above(n, n.nics[2].address).link.max_width.value = 8;
       }),
       false,
       {},
       {"nic-pcie-bound"}},
      {"pcie-link-degraded",
       "a port of 16 lanes above a card of 8",
       rails([](Node& n) {
         run_at(n, n.nics[2].address, 16, 8);
         pci_of(n, n.nics[2]).link.max_width.value = 8;
       }),
       false,
       {},
       {"nic-pcie-bound"}},
      {"pcie-link-degraded", "an empty root port", rails([](Node& n) {
         add_bridge(n, "0000:f0:01.0", "", PciKind::root_port, pcie(16, 16), 0, "0000:f0");
         pci_of(n, "0000:f0:01.0").link.speed_GTps.value = 2.5;
         pci_of(n, "0000:f0:01.0").link.width.value = 0;
       })},
      {"pcie-link-degraded", "virtual functions that say 0 or 255", rails([](Node& n) {
         for (int f = 1; f < 8; ++f) {
           PciDevice vf = pci_of(n, n.nics[0]);
           vf.physical_function = vf.address;
           vf.address.back() = char('0' + f);
           vf.virtual_function = true;
           vf.link.speed_GTps = {};
           vf.link.width.value = f % 2 ? 0 : 255;
           n.pci.push_back(vf);
         }
       })},
      {"pcie-link-degraded", "speeds that nobody knows", rails([](Node& n) {
         for (PciDevice& d : n.pci) d.link.speed_GTps = {}, d.link.width.value = 0;
       })},
      {"pcie-link-degraded", "a sleeping device", rails([](Node& n) {
         run_at(n, n.nics[2].address, 2.5, 16);
         pci_of(n, n.nics[2]).power.value = "suspended";
       })},

      {"pcie-link-limited", "a card of 16 lanes in a slot of 8", rails([](Node& n) {
         run_at(n, n.nics[2].address, 16, 8);
         port_above(n, n.nics[2].address).link.max_width.value = 8;
       }),
       true, "mlx5_2"},
      {"pcie-link-limited", "a root port of 16 GT/s x16 above a device of 2.5 GT/s x1", rails([](Node& n) {
         run_at(n, n.nics[2].address, 2.5, 1);
         pci_of(n, n.nics[2]).link = pcie(2.5, 1);
       }),
       true, "0000:60:02.0"},
      {"pcie-link-limited", "links whose ends are alike", rails(nothing)},
      {"pcie-link-limited", "a disk below a port that could do more", rails([](Node& n) {
         add_bridge(n, "0000:f0:01.0", "", PciKind::root_port, pcie(16, 16), 0, "0000:f0");
         add_pci(n, "0000:f1:00.0", "0000:f0:01.0", PciKind::endpoint, 0x010802, 0x144d, 0xa80a, pcie(16, 4),
                 0, "0000:f0");
         pci_of(n, "0000:f0:01.0").link.width.value = 4;
       })},

      {"pcie-uplink-slower", "NCCL's file: a switch at half the width of its GPU", hgx([](Node& n) {
         as_nccl(n);
         pci_of(n, "0000:21:00.0").link.width.value = 8;
       }),
       true, "0000:21:00.0"},
      {"pcie-uplink-slower", "hwloc's file: a switch whose rate alone is known", hgx([](Node& n) {
         for (PciDevice& d : n.pci)
           d.link = PciLink{{}, {}, {}, {}, {BytesPerSecond(15.75e9), origin::hwloc}};
         pci_of(n, "0000:31:00.0").link.rate.value = BytesPerSecond(3.94e9);
       }),
       true, "0000:31:00.0"},
      {"pcie-uplink-slower", "NCCL's file: a port for management above a GPU of Grace", hgx([](Node& n) {
         as_nccl(n);
         for (Gpu& gpu : n.gpus) gpu.c2c = {true, origin::nccl_xml};
         pci_of(n, "0000:21:00.0").link.width.value = 1;
       })},
      {"pcie-uplink-slower", "NCCL's file: 8 GT/s everywhere", hgx([](Node& n) {
         as_nccl(n);
         for (PciDevice& d : n.pci) d.link.speed_GTps.value = 8;
       })},
      {"pcie-uplink-slower", "NCCL's file: NICs at 8 GT/s below switches at 16", hgx([](Node& n) {
         as_nccl(n);
         for (PciDevice& d : n.pci) d.link.speed_GTps.value = 16;
         for (const Nic& nic : n.nics) pci_of(n, nic).link.speed_GTps.value = 8;
       })},
      {"pcie-uplink-slower", "hwloc's file: the ports above idle GPUs", hgx([](Node& n) {
         for (PciDevice& d : n.pci)
           d.link = PciLink{{}, {}, {}, {}, {BytesPerSecond(15.75e9), origin::hwloc}};
         for (const Gpu& g : n.gpus) {
           pci_of(n, g).link.rate.value = BytesPerSecond(4e9);
           port_above(n, g.address).link.rate.value = BytesPerSecond(4e9);
         }
       })},
      {"pcie-uplink-slower", "hwloc's file of a virtual machine: switches that its hypervisor drew",
       hgx([](Node& n) {
         for (PciDevice& d : n.pci) {
           d.link = PciLink{{}, {}, {}, {}, {BytesPerSecond(63e9), origin::hwloc}};
           if (d.kind == PciKind::switch_upstream || d.kind == PciKind::switch_downstream)
             d.vendor.value = 0x1d0f;
           if (d.kind == PciKind::switch_upstream) d.link.rate.value = BytesPerSecond(1.97e9);
         }
       })},
      {"pcie-uplink-slower", "GPUs of AMD, whose boards are faster inside than their slots",
       gpus_on_boards(16)},
      {"pcie-uplink-slower", "GPUs of AMD below a switch slower than their boards", gpus_on_boards(8), true,
       "0000:21:00.0"},
      {"pcie-uplink-slower", "a switch whose maximum is known and low", hgx([](Node& n) {
         for (const char* end : {"0000:21:00.0", "0000:20:01.0"}) pci_of(n, end).link = pcie(16, 16);
       })},

      {"nic-pcie-bound", "a 400 Gbit/s port behind 16 GT/s, by NCCL's file", hgx([](Node& n) {
         as_nccl(n);
         pci_of(n, n.nics[5]).link.speed_GTps.value = 16;
       }),
       true, "mlx5_5"},
      {"nic-pcie-bound", "an HDR port in a slot of 8 lanes", rails([](Node& n) {
         run_at(n, n.nics[2].address, 16, 8);
         port_above(n, n.nics[2].address).link.max_width.value = 8;
       }),
       true, "mlx5_2"},
      {"nic-pcie-bound", "NCCL's file: two ports of a card, of which its slot fills one", hgx([](Node& n) {
         as_nccl(n);
         Nic& nic = n.nics[5];
         pci_of(n, nic).link.speed_GTps.value = 16;
         nic.ports[0].rate.value = nic.ports[0].max_rate.value = BytesPerSecond(25e9);
         nic.ports.push_back(nic.ports[0]);
         nic.ports[1].number = 2;
         nic.model.value = "of its own kind";
       })},
      {"nic-pcie-bound", "ports that their slots carry", rails(nothing)},
      {"nic-pcie-bound",
       "a slow uplink above a switch that GPUs share",
       hgx([](Node& n) {
         as_nccl(n);
         pci_of(n, "0000:21:00.0").link.width.value = 8;
       }),
       false,
       {},
       {"pcie-uplink-slower"}},
      {"nic-pcie-bound", "a NIC at 100 Gbit/s on 8 GT/s x16", rails([](Node& n) {
         for (Nic& nic : n.nics) {
           nic.ports[0].rate.value = nic.ports[0].max_rate.value = BytesPerSecond(12.5e9);
           pci_of(n, nic).link = port_above(n, nic.address).link = pcie(8, 16);
         }
       })},

      {"gpu-link-unlike-sisters", "one GPU in a slot of 8 lanes", rails([](Node& n) {
         run_at(n, n.gpus[1].address, 16, 8);
         port_above(n, n.gpus[1].address).link.max_width.value = 8;
       }),
       true, "GPU1"},
      {"gpu-link-unlike-sisters", "NCCL's file: one GPU a generation down", hgx([](Node& n) {
         as_nccl(n);
         pci_of(n, n.gpus[6]).link.speed_GTps.value = 16;
       }),
       true, "GPU6"},
      {"gpu-link-unlike-sisters", "one GPU awake, the others at 2.5 GT/s", hgx([](Node& n) {
         for (const Gpu& g : n.gpus) run_at(n, g.address, 2.5, 16);
         run_at(n, n.gpus[0].address, 32, 16);
       })},
      {"gpu-link-unlike-sisters", "all in slots of 8 lanes", rails([](Node& n) {
         for (const Gpu& g : n.gpus) {
           run_at(n, g.address, 16, 8);
           port_above(n, g.address).link.max_width.value = 8;
         }
       })},
  };
}

}  // namespace ringtrue::diagnosis
