// InfiniBand fabrics made for tests, and what its tools would write of them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/splitmix64.h"

namespace infiniband {

struct Port {
  int node = -1, port = 0;  // -1: no cable
};

// LIDs count from 1: hosts first, then switches.
struct Fabric {
  struct Switch {
    std::string name;
    std::vector<int> next;  // by host: its port towards it, 0: none
    std::vector<Port> at;   // by port, from 1: what the cable leads to; hosts are below `hosts`
  };
  int hosts = 0;
  std::vector<Switch> switches;  // number hosts + i
  std::vector<Port> host_at;     // by host: its switch

  int max_lid() const { return hosts + int(switches.size()); }
  void connect(int a, int b) {  // of two switches, by their places in the list
    Switch &x = switches[std::size_t(a)], &y = switches[std::size_t(b)];
    const int p = int(x.at.size()), q = int(y.at.size());
    x.at.push_back({hosts + b, q}), y.at.push_back({hosts + a, p});
  }
  void hang(int host, int at) {
    Switch& s = switches[std::size_t(at)];
    host_at[std::size_t(host)] = {hosts + at, int(s.at.size())};
    s.at.push_back({host, 1});
  }
  // The first cable from a to the k-th of those that lead to b.
  int port_to(int a, int b, int k = 0) const {
    const auto& at = switches[std::size_t(a)].at;
    for (int p = 1; p < int(at.size()); ++p)
      if (at[std::size_t(p)].node == hosts + b && k-- == 0) return p;
    return 0;
  }

  std::string guid(int node) const {
    return fmt::format("{:016x}", (node < hosts ? 0x1000 : 0x200000) + node);
  }
  std::string port_guid(int host) const { return fmt::format("{:016x}", 0x800000 + host); }
  std::string host_name(int host) const { return fmt::format("node{} mlx5_0", host); }

  std::string ibnetdiscover() const {
    std::string out = "#\n# Topology file: generated\n#\n";
    for (std::size_t i = 0; i < switches.size(); ++i) {
      const Switch& s = switches[i];
      out += fmt::format("\nvendid=0x2c9\nSwitch\t{} \"S-{}\"\t\t# \"{}\" enhanced port 0 lid {} lmc 0\n",
                         s.at.size(), guid(hosts + int(i)), s.name, hosts + int(i) + 1);
      for (std::size_t p = 1; p < s.at.size(); ++p) {
        const Port& to = s.at[p];
        out += to.node < hosts
                   ? fmt::format("[{}]\t\"H-{}\"[{}]({}) \t\t# \"{}\" lid {} 4xHDR\n", p, guid(to.node),
                                 to.port, port_guid(to.node), host_name(to.node), to.node + 1)
                   : fmt::format("[{}]\t\"S-{}\"[{}]\t\t# \"{}\" lid {} 4xHDR\n", p, guid(to.node), to.port,
                                 switches[std::size_t(to.node - hosts)].name, to.node + 1);
      }
    }
    return out;
  }

  enum class Spelling { ibroute, dump_fts, lfts, fdbs };
  // The table of one switch; rows of hosts only, and of the switch itself.
  std::string table(int at, Spelling how) const {
    const Switch& s = switches[std::size_t(at)];
    const int own = hosts + at + 1;
    std::string out;
    if (how == Spelling::ibroute)
      out = fmt::format("Unicast lids [0x0-{:#x}] of switch Lid {} guid 0x{} ({}):\n", max_lid(), own,
                        guid(hosts + at), s.name);
    if (how == Spelling::dump_fts)
      out =
          fmt::format("Unicast lids [0x0-{:#x}] of switch DR path slid 0; dlid 0; 0,33,32 guid 0x{} ({}):\n",
                      max_lid(), guid(hosts + at), s.name);
    if (how == Spelling::ibroute || how == Spelling::dump_fts)
      out += "  Lid  Out   Destination\n       Port     Info \n";
    if (how == Spelling::lfts)
      out = fmt::format("Unicast lids [0-{}] of switch Lid {} guid 0x{} ('{}'):\n", max_lid(), own,
                        guid(hosts + at), s.name);
    if (how == Spelling::fdbs)
      out = fmt::format("dump_ucast_routes: Switch 0x{}\nLID    : Port : Hops : Optimal\n", guid(hosts + at));
    int rows = 0;
    for (int host = 0; host < hosts; ++host) {
      const int port = s.next[std::size_t(host)];
      if (how == Spelling::fdbs) {
        out += port == 0 ? fmt::format("0x{:04X} : UNREACHABLE\n", host + 1)
                         : fmt::format("0x{:04X} : {:03}  : 02   : yes\n", host + 1, port);
      } else if (port > 0) {
        out += fmt::format("0x{:04x} {:03} {}Channel Adapter portguid 0x{}: '{}'{}\n", host + 1, port,
                           how == Spelling::lfts ? "# " : ": (", port_guid(host), host_name(host),
                           how == Spelling::lfts ? "" : ")");
      }
      ++rows;
    }
    if (how != Spelling::fdbs)
      out += fmt::format("0x{:04x} 000 {}Switch portguid 0x{}: '{}'{}\n", own,
                         how == Spelling::lfts ? "# " : ": (", guid(hosts + at), s.name,
                         how == Spelling::lfts ? "" : ")");
    if (how == Spelling::lfts) out += fmt::format("{} lids dumped\n", max_lid());
    if (how == Spelling::ibroute || how == Spelling::dump_fts)
      out += fmt::format("{} valid lids dumped \n", rows);
    return out;
  }
  std::string tables(Spelling how) const {
    std::string out;
    for (std::size_t i = 0; i < switches.size(); ++i) out += table(int(i), how) + "\n";
    return out;
  }

  // What ibtracert says of a way; `plain`: with -n.
  std::string trace(int from, int to, bool plain) const {
    const auto hop = [&](const std::string& before, const char* type, const std::string& id, int port,
                         int lid, const std::string& name) {
      return plain ? fmt::format("{}{{0x{}}}[{}]\n", before, id, port)
                   : fmt::format("{}{} {{0x{}}}[{}] lid {}-{} \"{}\"\n", before, type, id, port, lid, lid,
                                 name);
    };
    std::string out = plain ? fmt::format("From {{0x{}}}[1]\n", guid(from))
                            : fmt::format("From ca {{0x{}}} portnum 1 lid {}-{} \"{}\"\n", guid(from),
                                          from + 1, from + 1, host_name(from));
    int left = 1;
    for (Port at = host_at[std::size_t(from)]; at.node >= hosts;) {
      const Switch& s = switches[std::size_t(at.node - hosts)];
      out += hop(fmt::format("[{}] -> ", left), "switch port", guid(at.node), at.port, at.node + 1, s.name);
      left = s.next[std::size_t(to)];
      at = s.at[std::size_t(left)];
      if (at.node == to)
        out += hop(fmt::format("[{}] -> ", left), "ca port", port_guid(to), 1, to + 1, host_name(to));
    }
    return out + (plain ? fmt::format("To {{0x{}}}[1]\n", guid(to))
                        : fmt::format("To ca {{0x{}}} portnum 1 lid {}-{} \"{}\"\n", guid(to), to + 1, to + 1,
                                      host_name(to)));
  }
};

inline Fabric empty(int hosts, int switches) {
  Fabric f;
  f.hosts = hosts;
  f.host_at.resize(std::size_t(hosts));
  f.switches.resize(std::size_t(switches));
  for (auto& s : f.switches) s.next.assign(std::size_t(hosts), 0), s.at.resize(1);
  return f;
}

// Leaves of `below` hosts, each with one cable to each spine; by destination in turn (d-mod-k).
inline Fabric two_levels(int leaves, int below, int spines) {
  Fabric f = empty(leaves * below, leaves + spines);
  for (int l = 0; l < leaves; ++l) f.switches[std::size_t(l)].name = fmt::format("leaf{:02}", l);
  for (int s = 0; s < spines; ++s) f.switches[std::size_t(leaves + s)].name = fmt::format("spine{:02}", s);
  for (int host = 0; host < f.hosts; ++host) f.hang(host, host / below);
  for (int l = 0; l < leaves; ++l)
    for (int s = 0; s < spines; ++s) f.connect(l, leaves + s);
  for (int host = 0; host < f.hosts; ++host) {
    for (int l = 0; l < leaves; ++l)
      f.switches[std::size_t(l)].next[std::size_t(host)] =
          l == host / below ? f.host_at[std::size_t(host)].port : f.port_to(l, leaves + host % spines);
    for (int s = 0; s < spines; ++s)
      f.switches[std::size_t(leaves + s)].next[std::size_t(host)] = f.port_to(leaves + s, host / below);
  }
  return f;
}

// Pods of `leaves` leaves and as many switches above them, with `below` hosts a leaf; each of the latter has
// `leaves` cables to cores of its own.
inline Fabric three_levels(int pods, int leaves, int below) {
  const int upper = leaves, cores = upper * leaves;
  Fabric f = empty(pods * leaves * below, pods * (leaves + upper) + cores);
  const auto leaf = [&](int pod, int l) { return pod * (leaves + upper) + l; };
  const auto agg = [&](int pod, int a) { return pod * (leaves + upper) + leaves + a; };
  const auto core = [&](int a, int c) { return pods * (leaves + upper) + a * leaves + c; };
  for (int p = 0; p < pods; ++p)
    for (int i = 0; i < leaves; ++i) {
      f.switches[std::size_t(leaf(p, i))].name = fmt::format("p{} leaf{}", p, i);
      f.switches[std::size_t(agg(p, i))].name = fmt::format("p{} agg{}", p, i);
    }
  for (int a = 0; a < upper; ++a)
    for (int c = 0; c < leaves; ++c)
      f.switches[std::size_t(core(a, c))].name = fmt::format("core{}.{}", a, c);
  for (int host = 0; host < f.hosts; ++host) f.hang(host, leaf(host / below / leaves, host / below % leaves));
  for (int p = 0; p < pods; ++p)
    for (int a = 0; a < upper; ++a) {
      for (int l = 0; l < leaves; ++l) f.connect(leaf(p, l), agg(p, a));
      for (int c = 0; c < leaves; ++c) f.connect(agg(p, a), core(a, c));
    }
  for (int host = 0; host < f.hosts; ++host) {
    const int pod = host / below / leaves, l = host / below % leaves, a = host % upper,
              c = host / upper % leaves;
    const auto set = [&](int at, int port) { f.switches[std::size_t(at)].next[std::size_t(host)] = port; };
    for (int p = 0; p < pods; ++p)
      for (int i = 0; i < leaves; ++i) {
        set(leaf(p, i),
            p == pod && i == l ? f.host_at[std::size_t(host)].port : f.port_to(leaf(p, i), agg(p, a)));
        set(agg(p, i), p == pod ? f.port_to(agg(p, i), leaf(p, l)) : f.port_to(agg(p, i), core(i, c)));
      }
    for (int i = 0; i < upper; ++i)
      for (int k = 0; k < leaves; ++k) set(core(i, k), f.port_to(core(i, k), agg(pod, i)));
  }
  return f;
}

// Hosts anywhere, cables anywhere, some of them twice; shortest ways, the first of the equal ones by turns.
inline Fabric irregular(int switches, int hosts, int cables, std::uint64_t seed) {
  ringtrue::SplitMix64 random(seed);
  Fabric f = empty(hosts, switches);
  for (int s = 0; s < switches; ++s) f.switches[std::size_t(s)].name = fmt::format("sw{}", s);
  for (int host = 0; host < hosts; ++host) f.hang(host, int(random() % std::uint64_t(switches)));
  for (int s = 1; s < switches; ++s) f.connect(s, int(random() % std::uint64_t(s)));
  for (int i = 0; i < cables; ++i) {
    const int a = int(random() % std::uint64_t(switches)), b = int(random() % std::uint64_t(switches));
    if (a != b) f.connect(a, b);
  }
  for (int host = 0; host < hosts; ++host) {
    const int end = f.host_at[std::size_t(host)].node - hosts;
    std::vector<int> far(std::size_t(switches), -1);
    std::queue<int> next;
    far[std::size_t(end)] = 0;
    for (next.push(end); !next.empty(); next.pop())
      for (const Port& p : f.switches[std::size_t(next.front())].at)
        if (p.node >= hosts && far[std::size_t(p.node - hosts)] < 0)
          far[std::size_t(p.node - hosts)] = far[std::size_t(next.front())] + 1, next.push(p.node - hosts);
    for (int s = 0; s < switches; ++s) {
      auto& here = f.switches[std::size_t(s)];
      if (s == end) {
        here.next[std::size_t(host)] = f.host_at[std::size_t(host)].port;
        continue;
      }
      std::vector<int> equal;
      for (int p = 1; p < int(here.at.size()); ++p)
        if (here.at[std::size_t(p)].node >= hosts &&
            far[std::size_t(here.at[std::size_t(p)].node - hosts)] == far[std::size_t(s)] - 1)
          equal.push_back(p);
      here.next[std::size_t(host)] = equal[std::size_t(host) % equal.size()];
    }
  }
  return f;
}

}  // namespace infiniband
