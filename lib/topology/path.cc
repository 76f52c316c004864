#include "topology/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace ringtrue::topology {
namespace {

using Chain = std::vector<const PciDevice*>;  // from a device up

struct End {
  std::string name;     // of the device, one for all of its names
  std::string address;  // empty: unknown
  const Gpu* gpu = nullptr;
};

std::string inventory(const Node& node) {
  constexpr std::size_t max_names = 40;
  std::vector<std::string> names;
  for (const auto& gpu : node.gpus) names.push_back(gpu.name);
  for (const auto& nic : node.nics) names.push_back(nic.name);
  for (const auto& nvswitch : node.nvswitches) names.push_back(nvswitch.name);
  const std::size_t more = names.size() > max_names ? names.size() - max_names : 0;
  names.resize(names.size() - more);
  if (names.empty()) return "it has PCI addresses only";
  return fmt::format("there are {}{}", fmt::join(names, ", "), more ? fmt::format(" and {} more", more) : "");
}

Result<End> find(const Node& node, const std::string& name) {
  if (const Gpu* gpu = node.find_gpu(name)) return End{gpu->name, gpu->address, gpu};
  if (const Nic* nic = node.find_nic(name)) return End{nic->name, nic->address};
  for (const NvSwitch& nvswitch : node.nvswitches)
    if (nvswitch.name == name) return End{nvswitch.name, nvswitch.address};
  std::string address = name;  // "3B:00.0" is 0000:3b:00.0
  for (char& c : address) c = char(std::tolower(static_cast<unsigned char>(c)));
  if (std::count(address.begin(), address.end(), ':') == 1) address = "0000:" + address;
  if (!node.find_pci(address))
    return fail(Cause::bad_input, fmt::format("no device '{}'", name), node.name, inventory(node));
  for (const Gpu& gpu : node.gpus)
    if (gpu.address == address) return End{gpu.name, address, &gpu};
  return End{address, address};
}

bool same(const End& a, const End& b) {
  return a.name == b.name || (!a.address.empty() && a.address == b.address);
}

// The first function of a card speaks for the link that all of them share, and so does a physical one for
// its virtual ones.
const PciDevice& link_owner(const PciTree& tree, const PciDevice& device) {
  const PciDevice* physical = device.virtual_function ? tree.find(device.physical_function) : nullptr;
  const PciDevice& d = physical ? *physical : device;
  const PciDevice* first = tree.find(d.address.substr(0, d.address.rfind('.')) + ".0");
  return first && first->parent == d.parent ? *first : d;
}

// The link above `device`, where it has one of its own.
void add_link(const PciTree& tree, const PciDevice& device, std::vector<PathLink>& links) {
  if (!tree.has_link(device)) return;
  const PciLink& end = tree.slower_end(device);
  links.push_back({fmt::format("{} - {}", link_owner(tree, device).address,
                               device.parent.empty() ? "host" : device.parent),
                   pci_text(end), pci_rate(end)});
}

void find_narrowest(Path& path) {
  for (std::size_t i = 0; i < path.links.size(); ++i) {
    const auto& rate = path.links[i].rate;
    path.all_known = path.all_known && rate;
    if (!rate || (path.narrowest && *path.narrowest <= *rate)) continue;
    path.narrowest = rate;
    path.narrowest_link = int(i);
  }
}

// The NUMA node of a device, or of what is above it; of a machine with one, that one. -1: unknown.
int numa_of(const Node& node, const Chain& chain) {
  for (const PciDevice* device : chain)
    if (device->numa.value_or(-1) >= 0) return *device->numa;
  return node.processors.numa.size() == 1 ? node.processors.numa[0].number : -1;
}

const std::string& root_of(const Chain& chain) {
  static const std::string unknown;
  for (const PciDevice* device : chain)
    if (!device->root.empty()) return device->root;
  return unknown;
}

// Below no common bridge.
PathKind over_hosts(const Node& node, const Chain& a, const Chain& b) {
  const std::string &root_a = root_of(a), &root_b = root_of(b);
  const bool roots_known = !root_a.empty() && !root_b.empty();
  if (roots_known && root_a == root_b) return PathKind::phb;
  const int numa_a = numa_of(node, a), numa_b = numa_of(node, b);
  if (numa_a < 0 || numa_b < 0) return PathKind::unknown;
  if (numa_a != numa_b) return PathKind::sys;
  return roots_known ? PathKind::node : PathKind::phb;
}

// A switch is one bridge, whatever its ports: they are counted by the upstream one.
int bridges(const Chain& chain, Chain::const_iterator end) {
  return int(std::count_if(chain.begin() + 1, end, [](const PciDevice* d) {
    return d->kind != PciKind::switch_downstream && d->kind != PciKind::root_port;
  }));
}

bool one_card(const PciDevice& a, const PciDevice& b) {
  return a.parent == b.parent &&
         a.address.substr(0, a.address.rfind('.')) == b.address.substr(0, b.address.rfind('.'));
}

Path through_pci(const PciTree& tree, const End& from, const End& to) {
  Path path;
  if (same(from, to)) {
    path.kind = PathKind::self;
    return path;
  }
  const Chain a = tree.up(from.address), b = tree.up(to.address);
  if (a.empty() || b.empty()) {
    path.all_known = false;
    return path;
  }
  if (one_card(*a[0], *b[0])) {
    path.kind = PathKind::pix;
    return path;
  }
  const auto meet_a = std::find_first_of(a.begin(), a.end(), b.begin(), b.end());
  const auto meet_b = meet_a == a.end() ? b.end() : std::find(b.begin(), b.end(), *meet_a);
  if (meet_a == a.end()) {
    path.kind = over_hosts(tree.node(), a, b);
  } else {
    // One of the ends may be the bridge where they meet.
    const bool at_end = meet_a == a.begin() || meet_b == b.begin();
    const int between =
        (meet_a == a.begin() ? 0 : bridges(a, meet_a)) + (meet_b == b.begin() ? 0 : bridges(b, meet_b)) +
        (!at_end && (*meet_a)->kind != PciKind::root_port && (*meet_a)->kind != PciKind::switch_downstream);
    path.kind = between > 1 ? PathKind::pxb : PathKind::pix;
  }
  for (auto it = a.begin(); it != meet_a; ++it) add_link(tree, **it, path.links);
  const std::size_t way_up = path.links.size();
  for (auto it = b.begin(); it != meet_b; ++it) add_link(tree, **it, path.links);
  std::reverse(path.links.begin() + std::ptrdiff_t(way_up), path.links.end());
  find_narrowest(path);
  return path;
}

// Those of a GPU's links that `match` and are not down, as one.
template <class Match>
Link up_links(const Gpu& gpu, Match match) {
  std::vector<const NvLink*> links;
  if (gpu.nvlinks)
    for (const NvLink& link : *gpu.nvlinks)
      if (!link.up.is(false) && match(link)) links.push_back(&link);
  return bundle_of(gpu.nvlinks ? *gpu.nvlinks : std::vector<NvLink>(), links);
}

Path along(std::vector<std::pair<std::string, Link>> bundles) {
  Path path;
  path.kind = PathKind::nv;
  path.nvlinks = bundles.front().second.count;
  for (auto& [name, bundle] : bundles) {
    path.nvlinks = std::min(path.nvlinks, bundle.count);
    path.links.push_back({name, bundle.text, bundle.rate.value});
  }
  find_narrowest(path);
  return path;
}

std::optional<Path> through_nvlinks(const End& from, const End& to) {
  if (same(from, to) || (!from.gpu && !to.gpu)) return {};
  const auto leads_to = [](const End& end) {
    return [&end](const NvLink& link) { return !end.address.empty() && link.remote_address == end.address; };
  };
  const std::string name = fmt::format("{} - {}", from.name, to.name);
  // Directly: what either end knows; the fewer, where both do.
  std::optional<Link> direct;
  for (const auto& [here, there] : {std::pair(&from, &to), std::pair(&to, &from)}) {
    if (!here->gpu || !here->gpu->nvlinks) continue;
    const auto& links = *here->gpu->nvlinks;
    const bool knows =
        std::any_of(links.begin(), links.end(), [](auto& l) { return !l.remote_address.empty(); });
    if (!knows) continue;
    Link bundle = up_links(*here->gpu, leads_to(*there));
    if (!direct || bundle.count < direct->count) direct = std::move(bundle);
  }
  if (direct && direct->count > 0) return along({{name, *direct}});
  if (!from.gpu || !to.gpu) return {};
  const auto to_switch = [](const NvLink& link) { return link.remote == Remote::nvswitch; };
  const Link out = up_links(*from.gpu, to_switch), in = up_links(*to.gpu, to_switch);
  if (out.count == 0 || in.count == 0) return {};
  return along({{from.name + " - NVSwitch", out}, {"NVSwitch - " + to.name, in}});
}

}  // namespace

std::string Path::text() const {
  constexpr const char* names[] = {"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS", "unknown"};
  return kind == PathKind::nv ? fmt::format("NV{}", nvlinks) : names[std::size_t(kind)];
}

Result<Path> path(const Node& node, const std::string& from, const std::string& to) {
  return PathFinder(node).path(from, to);
}

Result<Path> PathFinder::path(const std::string& from, const std::string& to) const {
  const auto a = find(tree_.node(), from), b = find(tree_.node(), to);
  if (!a) return tl::unexpected(a.error());
  if (!b) return tl::unexpected(b.error());
  if (auto path = through_nvlinks(*a, *b)) return *path;
  return through_pci(tree_, *a, *b);
}

Result<Path> path_to_root(const Node& node, const std::string& device) {
  const auto end = find(node, device);
  if (!end) return tl::unexpected(end.error());
  const PciTree tree(node);
  Path path;
  const Chain chain = tree.up(end->address);
  for (const PciDevice* at : chain) add_link(tree, *at, path.links);
  path.kind = chain.empty() ? PathKind::unknown : PathKind::phb;
  path.all_known = !chain.empty();
  find_narrowest(path);
  return path;
}

}  // namespace ringtrue::topology
