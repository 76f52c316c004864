#include "topology/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "run/counter_window.h"
#include "topology/fields.h"
#include "topology/links.h"

namespace ringtrue::topology {
namespace {

std::string by_name(const std::string& name) {
  return "name " + name;
}

// What makes two the same thing. Of devices the PCI address first: two sources may number them differently.
template <class T>
std::vector<std::string> keys(const T& x) {
  if constexpr (std::same_as<T, Gpu> || std::same_as<T, NvSwitch>) {
    return {x.address, by_name(x.name)};
  } else if constexpr (std::same_as<T, Nic>) {
    std::vector<std::string> all = {x.address, by_name(x.name), by_name(x.rdma)};
    for (const auto& netdev : x.netdevs) all.push_back(by_name(netdev));
    return all;
  } else if constexpr (std::same_as<T, FabricLink>) {  // a cable has two ends, in either order
    const auto text = [](const FabricPort& p) { return fmt::format("{}/{}", p.guid, p.port); };
    const auto ends = std::minmax({text(x.a), text(x.b)});
    return {ends.first + " " + ends.second};
  } else if constexpr (requires { x.address; }) {
    return {x.address};
  } else if constexpr (requires { x.number; }) {
    return {std::to_string(x.number)};
  } else if constexpr (requires { x.guid; }) {
    return {x.guid};
  } else if constexpr (std::same_as<T, Cache>) {
    return {x.kind};
  } else if constexpr (std::same_as<T, run::CounterSet>) {
    return {x.device};
  } else if constexpr (std::same_as<T, Gap>) {
    return {x.source + '\n' + x.what + '\n' + x.why};
  } else {
    return {x};  // a text
  }
}

// `a` learns what only `b` knows.
struct Merge {
  template <class T>
  void operator()(const char*, const About&, T& a, const T& b) const {
    learn(a, b);
  }
  template <class T>
  static void learn(T& a, const T& b) {
    if constexpr (is_fact<T>) {
      if (!a.known()) a = b;
    } else if constexpr (is_optional<T>) {
      if (!a) a = b;
    } else if constexpr (is_vector<T>) {
      learn_all(a, b);
    } else if constexpr (std::same_as<T, bool>) {
      a = a || b;
    } else if constexpr (std::is_enum_v<T> || std::same_as<T, std::string>) {
      if (a == T{}) a = b;
    } else if constexpr (std::same_as<T, std::map<std::string, std::uint64_t>>) {
      a.insert(b.begin(), b.end());
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (a == T(-1)) a = b;
    } else if constexpr (Part<T>) {
      fields(Merge{}, a, b);
    }
  }
  // An NIC goes by the best name that anybody has for it.
  static void learn(Nic& a, const Nic& b) {
    const bool better =
        (a.rdma.empty() && !b.rdma.empty()) || (a.rdma.empty() && a.netdevs.empty() && !b.netdevs.empty());
    if (better) a.name = b.name;
    fields(Merge{}, a, b);
  }

  template <class T>
  static void learn_all(std::vector<T>& a, const std::vector<T>& b) {
    std::unordered_map<std::string, std::size_t> places;
    const auto add = [&](std::size_t i) {
      for (const std::string& key : keys(a[i])) places.emplace(key, i);
    };
    for (std::size_t i = 0; i < a.size(); ++i) add(i);
    const std::size_t none = ~std::size_t(0);
    const auto find = [&](const T& item) {
      for (const std::string& key : keys(item)) {
        const auto it = places.find(key);
        if (key.empty() || key == by_name("") || it == places.end()) continue;
        if constexpr (requires { item.name, item.address; })  // of two addresses no name makes one
          if (key != item.address && !item.address.empty() && !a[it->second].address.empty()) continue;
        return it->second;
      }
      return none;
    };
    for (const T& item : b) {
      if (const std::size_t same = find(item); same != none) {
        learn(a[same], item);
      } else {
        a.push_back(item);
        add(a.size() - 1);
      }
    }
  }
};

// A name is one device's within its node.
template <class T>
void make_names_unique(std::vector<T>& devices) {
  std::unordered_set<std::string> taken;
  for (const T& device : devices) taken.insert(device.name);
  std::unordered_set<std::string> seen;
  for (T& device : devices) {
    if (seen.insert(device.name).second) continue;
    const std::string base = device.name;
    for (int n = 2; !taken.insert(device.name).second; ++n) device.name = fmt::format("{}#{}", base, n);
    seen.insert(device.name);
  }
}

// NCCL's XML leaves out the ports between a switch and what hangs below: who shows more bridges on the way to
// the same one knows the parent better.
void learn_parents(std::vector<PciDevice>& a, const std::vector<PciDevice>& b) {
  std::unordered_map<std::string, const PciDevice*> others;
  for (const PciDevice& device : b) others.emplace(device.address, &device);
  const auto parent_in_b = [&](const std::string& address) {
    const auto it = others.find(address);
    return it == others.end() ? std::string() : it->second->parent;
  };
  for (PciDevice& device : a) {
    const std::string parent = parent_in_b(device.address);
    std::string above = parent;
    for (int i = 0; i < 4 && !above.empty() && above != device.parent; ++i) above = parent_in_b(above);
    if (!above.empty() && above == device.parent) device.parent = parent;
  }
}

void put_parents_first(std::vector<PciDevice>& pci) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < pci.size(); ++i) places.emplace(pci[i].address, i);
  std::vector<bool> placed(pci.size());
  std::vector<PciDevice> sorted;
  for (std::size_t i = 0; i < pci.size(); ++i) {
    std::vector<std::size_t> up;
    for (std::size_t at = i; !placed[at];) {
      placed[at] = true;
      up.push_back(at);
      const auto parent = places.find(pci[at].parent);
      if (parent == places.end()) break;
      at = parent->second;
    }
    for (auto at = up.rbegin(); at != up.rend(); ++at) sorted.push_back(pci[*at]);
  }
  pci = std::move(sorted);
}

// "a.xml (hwloc XML) + b.xml (NCCL XML)": its kinds of recordings.
std::set<std::string> kinds_of(std::string_view recorded) {
  std::set<std::string> kinds;
  while (true) {
    const auto end = recorded.find(" + ");
    const std::string_view one = recorded.substr(0, end);
    const auto kind = one.rfind(" (");
    kinds.emplace(kind == one.npos ? one : one.substr(kind));
    if (end == recorded.npos) return kinds;
    recorded.remove_prefix(end + 3);
  }
}

// One machine in recordings of different kinds.
void learn_node(Node& a, Node b) {
  auto recorded = a.recorded + " + " + b.recorded;
  learn_parents(a.pci, b.pci);
  fields(Merge{}, a, b);
  a.recorded = std::move(recorded);
  put_parents_first(a.pci);
  make_names_unique(a.gpus);
  make_names_unique(a.nvswitches);
  make_names_unique(a.nics);
}

struct Names {
  std::unordered_map<std::string, std::vector<std::size_t>> namesakes_of;  // by the names that they came with
  std::unordered_set<std::string> taken;
};

void add(std::vector<Node>& nodes, Names& names, Node node) {
  const std::string name = node.name;
  auto& namesakes = names.namesakes_of[name];
  const auto kinds = kinds_of(node.recorded);
  for (const std::size_t at : namesakes) {
    const auto had = kinds_of(nodes[at].recorded);
    const bool different =
        std::none_of(kinds.begin(), kinds.end(), [&](auto& kind) { return had.count(kind); });
    if (different) return learn_node(nodes[at], std::move(node));
  }
  namesakes.push_back(nodes.size());
  for (std::size_t n = std::max<std::size_t>(namesakes.size(), 2); !names.taken.insert(node.name).second; ++n)
    node.name = fmt::format("{}#{}", name, n);
  nodes.push_back(std::move(node));
}

// "0x0002:c903:000e:0b72" -> "0002c903000e0b72"
std::string plain_guid(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::string guid;
  for (const char c : text)
    if (c != ':') guid += char(std::tolower(static_cast<unsigned char>(c)));
  return guid.empty() || guid.size() >= 16 ? guid : std::string(16 - guid.size(), '0') + guid;
}

// Ports get their peers: by the node GUID and the port's number, or by the port's GUID.
void set_peers(std::vector<Node>& nodes, const Fabric& fabric) {
  const auto names = fabric_names(fabric);
  std::unordered_set<std::string> switches;
  for (const FabricSwitch& s : fabric.switches) switches.insert(s.guid);
  std::unordered_map<std::string, std::string> peers, by_port_guid;
  std::unordered_map<std::string, std::string> port_guids;  // of hosts with one port in sight
  std::unordered_map<std::string, int> cables;
  for (const FabricHost& host : fabric.hosts)
    if (!host.port_guid.empty()) port_guids[plain_guid(host.guid)] = plain_guid(host.port_guid);
  for (const FabricLink& link : fabric.links)
    for (const auto& [here, there] : {std::pair(&link.a, &link.b), std::pair(&link.b, &link.a)}) {
      if (!switches.count(there->guid) || switches.count(here->guid)) continue;
      const std::string guid = plain_guid(here->guid),
                        peer = fmt::format("{}/{}", names.at(there->guid), there->port);
      peers.emplace(fmt::format("{}/{}", guid, here->port), peer);
      // The port GUID is of the port that was seen first: its link is the first one, too.
      if (const auto port = port_guids.find(guid); ++cables[guid] == 1 && port != port_guids.end())
        by_port_guid.emplace(port->second, peer);
    }
  for (Node& node : nodes)
    for (Nic& nic : node.nics)
      for (Port& port : nic.ports) {
        const auto tell = [&port](const auto& known, const std::string& key) {
          const auto it = known.find(key);
          if (it != known.end()) port.peer = it->second;
          return it != known.end();
        };
        if (nic.guid.known() && tell(peers, fmt::format("{}/{}", plain_guid(*nic.guid), port.number)))
          continue;
        if (port.guid.known()) tell(by_port_guid, plain_guid(*port.guid));
      }
}

std::uint64_t end_of(std::uint64_t bits) {
  return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

}  // namespace

Cluster merge(std::vector<Cluster> parts) {
  Cluster all;
  Names names;
  for (Cluster& part : parts) {
    for (Node& node : part.nodes) add(all.nodes, names, std::move(node));
    if (part.fabric && all.fabric)
      fields(Merge{}, *all.fabric, std::as_const(*part.fabric));
    else if (part.fabric)
      all.fabric = std::move(part.fabric);
  }
  if (all.fabric) set_peers(all.nodes, *all.fabric);
  return all;
}

template <class T>
void learn(T& a, const T& b) {
  Merge::learn(a, b);
}
template void learn(PciDevice&, const PciDevice&);
template void learn(Processors&, const Processors&);
template void learn(System&, const System&);
template void learn(Port&, const Port&);

run::CounterWindow difference(const std::vector<run::CounterSet>& before,
                              const std::vector<run::CounterSet>& after, double seconds) {
  std::unordered_map<std::string, const run::CounterSet*> earlier;
  for (const run::CounterSet& set : before) earlier.emplace(set.device, &set);
  run::CounterWindow window{seconds, {}};
  for (const run::CounterSet& set : after) {
    const auto same = earlier.find(set.device);
    if (same == earlier.end()) continue;
    for (const auto& [counter, value] : set.values) {
      const auto was = same->second->values.find(counter);
      if (was == same->second->values.end()) continue;
      const auto bits = set.widths.find(counter);
      const bool saturated = bits != set.widths.end() && bits->second > 0 && value >= end_of(bits->second);
      if (value == was->second && !saturated) continue;
      window.changes.push_back({set.device, counter, was->second, value, saturated, value < was->second});
    }
  }
  return window;
}

run::CounterWindow join(const run::CounterWindow& first, const run::CounterWindow& second) {
  run::CounterWindow window{first.seconds + second.seconds, first.changes};
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const run::CounterChange& change : window.changes)
    places.emplace(std::pair(change.device, change.counter), places.size());
  for (const run::CounterChange& change : second.changes) {
    const auto place = places.find({change.device, change.counter});
    if (place == places.end()) {
      window.changes.push_back(change);
      continue;
    }
    run::CounterChange& joined = window.changes[place->second];
    joined.after = change.after;
    joined.saturated = change.saturated;
    joined.reset = joined.reset || change.reset || change.before < joined.before;
  }
  return window;
}

}  // namespace ringtrue::topology
