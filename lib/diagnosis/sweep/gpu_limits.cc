#include "diagnosis/sweep/gpu_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/statistics.h"
#include "topology/links.h"
#include "topology/path.h"

namespace ringtrue::diagnosis {

using run::GpuLimit;
using Kind = run::GpuLimit::Kind;
using topology::Gpu;
using topology::Node;

namespace {

// What a way could carry in one direction.
struct Way {
  BytesPerSecond ideal;
  std::optional<BytesPerSecond> attainable;
  std::string source;
  double both = 1;  // share of `attainable` that is left where the other direction is as busy
};

// Beside each packet of 256 + 24 bytes goes a request of 24 for the other direction's.
constexpr double pcie_both = 280.0 / (280 + 24);

// What no link's rate tells: inside a GPU, and both ways through the host, whose memory and root complex
// share them.
bool by_others(Kind kind) {
  return kind == Kind::device_copy || kind == Kind::host_both;
}

// A copy by a kernel depends on the kernel, and both ways at once on the host: only what is far too slow is
// named.
bool coarse(Kind kind) {
  return kind == Kind::peer_read || kind == Kind::peer_write || kind == Kind::host_both;
}

// Nominal rate times the share that payload can have, where a figure is known.
Way way_of(BytesPerSecond rate, ideal::LinkFamily family, const std::string& generation, std::string source) {
  const auto figure = ideal::attainable(family, generation);
  const double share = figure ? figure->share : 1;
  if (share < 1) source += fmt::format(", of which copies reach {:.0f} %", share * 100);
  return {rate, rate * share, std::move(source), family == ideal::LinkFamily::pcie ? pcie_both : 1};
}

const Gpu* find(const Node& node, const GpuLimit::End& end) {
  for (const Gpu& gpu : node.gpus)
    if (gpu.uuid.is(end.uuid) || (!gpu.address.empty() && gpu.address == end.pci)) return &gpu;
  return nullptr;
}

// The narrowest link up to the root, by what both of its ends can do: an idle link may run slower.
std::optional<Way> to_root(const Node& node, const Gpu& gpu) {
  std::optional<Way> narrowest;
  std::set<std::string> seen;  // a hostile file may hold a circle
  for (const auto* device = node.find_pci(gpu.address); device && seen.insert(device->address).second;) {
    const auto* const parent = node.find_pci(device->parent);
    for (const auto* end : {device, parent}) {
      // Between a switch's two ends there is no link.
      if (!end || (end == parent && end->kind == topology::PciKind::switch_upstream)) continue;
      const auto rate = topology::pci_max_rate(end->link);
      if (!rate || (narrowest && narrowest->ideal <= *rate)) continue;
      const int generation = topology::pci_generation(end->link.max_speed_GTps.value_or(0));
      narrowest = way_of(*rate, ideal::LinkFamily::pcie, fmt::format("Gen{}", generation),
                         fmt::format("PCIe at {}, {}", device->address, topology::pci_max_text(end->link)));
    }
    device = parent;
  }
  return narrowest;
}

std::optional<Way> between(const Node& node, const Gpu& gpu, const Gpu& peer) {
  const auto path = topology::path(node, gpu.name, peer.name);
  if (path && path->kind == topology::PathKind::nv) {
    if (!path->narrowest) return std::nullopt;
    int version = 0;
    for (const topology::NvLink& link : gpu.nvlinks.value_or(std::vector<topology::NvLink>{}))
      version = std::max(version, link.version.value_or(0));
    return way_of(*path->narrowest, ideal::LinkFamily::nvlink, fmt::format("v{}", version),
                  fmt::format("{} NVLinks of version {}", path->nvlinks, version));
  }
  const auto own = to_root(node, gpu), other = to_root(node, peer);
  if (!own || !other) return std::nullopt;
  auto narrower = own->ideal < other->ideal ? own : other;
  using Kind = topology::PathKind;
  if (!path || (path->kind != Kind::pix && path->kind != Kind::pxb)) narrower->attainable = std::nullopt;
  return narrower;
}

bool of_peers(const GpuLimit& limit) {
  return limit.peer.index >= 0;
}

std::string name_of(const GpuLimit::End& end) {
  return fmt::format("GPU {} ({})", end.index, end.uuid);
}

std::string text_of(const GpuLimit& limit) {
  if (of_peers(limit))
    return fmt::format("{} of {} with {}", key_of(limit.kind), name_of(limit.gpu), name_of(limit.peer));
  return fmt::format("{} of {}{}{}", key_of(limit.kind), name_of(limit.gpu),
                     limit.host == GpuLimit::Host::none ? "" : ", ", key_of(limit.host));
}

class Judge {
 public:
  Judge(const topology::Cluster& cluster, double warning, double critical)
      : cluster_(cluster), warning_(warning), critical_(critical) {}

  GpuLimits operator()(std::vector<GpuLimit> limits) {
    for (GpuLimit& limit : limits) out_.rates.push_back(rate_of(std::move(limit)));
    take_back();
    compare_alike();
    for (GpuRate& rate : out_.rates) {
      if (!rate.limit.rate || !rate.attainable) continue;
      rate.ratio = rate.limit.rate->value / rate.attainable->value;
      if (*rate.ratio < (coarse(rate.limit.kind) ? critical_ : warning_)) add_finding(rate);
    }
    std::stable_sort(out_.findings.begin(), out_.findings.end(), [](const Finding& a, const Finding& b) {
      return std::tuple(-int(a.severity), *a.ratio) < std::tuple(-int(b.severity), *b.ratio);
    });
    return std::move(out_);
  }

 private:
  void inconclusive(StatementKind kind, const GpuLimit& limit, std::string_view what, std::string why = {}) {
    NotChecked told = {kind, {limit.node}, {{"limit", what}}, std::move(why)};
    if (std::ranges::find(out_.not_checked, told) == out_.not_checked.end())
      out_.not_checked.push_back(std::move(told));
  }

  GpuRate rate_of(GpuLimit limit) {
    GpuRate rate;
    if (!limit.why_not.empty()) {
      inconclusive(StatementKind::gpu_not_measured, limit, text_of(limit), limit.why_not);
      if (of_peers(limit) && !limit.rate && !limit.why_not.starts_with(run::left_out))
        staged_.insert({limit.node, limit.gpu.index, limit.peer.index});
    }
    const auto node = std::find_if(cluster_.nodes.begin(), cluster_.nodes.end(),
                                   [&](const Node& n) { return n.name == limit.node; });
    const Gpu* const gpu = node == cluster_.nodes.end() ? nullptr : find(*node, limit.gpu);
    if (!gpu) {
      inconclusive(StatementKind::gpu_not_known, limit, name_of(limit.gpu));
      rate.limit = std::move(limit);
      return rate;
    }
    if (const auto* device = node->find_pci(gpu->address); limit.numa >= 0 && device && device->numa.known())
      rate.near = *device->numa == limit.numa;
    std::optional<Way> way;
    if (of_peers(limit)) {
      const Gpu* const peer = find(*node, limit.peer);
      if (peer) way = between(*node, *gpu, *peer);
    } else if (limit.host == GpuLimit::Host::pinned && rate.near.value_or(true)) {
      way = to_root(*node, *gpu);
    }
    const bool linked = of_peers(limit) || limit.host == GpuLimit::Host::pinned;
    if (linked && !way && rate.near.value_or(true))
      inconclusive(StatementKind::gpu_links_not_known, limit, text_of(limit));
    if (way) {
      const double ways = limit.kind == Kind::host_both || limit.kind == Kind::peer_both ? 2 : 1;
      rate.ideal = way->ideal * ways;
      if (way->attainable && !by_others(limit.kind))
        rate.attainable = *way->attainable * ways * (ways > 1 ? way->both : 1);
      rate.origin = ideal::Origin::probed;
      rate.source = way->source;
    }
    const bool far = limit.kind == Kind::host_both && !rate.near.value_or(true);
    if (by_others(limit.kind) && !far)
      alike_[{limit.kind, gpu->model.value_or(""), rate.ideal.value_or(BytesPerSecond(0)).value}].push_back(
          out_.rates.size());
    rate.limit = std::move(limit);
    return rate;
  }

  // What holds for direct access alone.
  void take_back() {
    for (GpuRate& rate : out_.rates) {
      const GpuLimit& limit = rate.limit;
      const bool half = limit.rate && !limit.why_not.empty();  // both ways, of which one is direct
      if (half || staged_.contains({limit.node, limit.gpu.index, limit.peer.index}))
        rate.ideal = rate.attainable = std::nullopt;
    }
  }

  void compare_alike() {
    constexpr std::size_t few = 3;
    for (const auto& [key, rates] : alike_) {
      const auto& [kind, model, link] = key;
      std::vector<double> values;
      for (const std::size_t i : rates)
        if (out_.rates[i].limit.rate) values.push_back(out_.rates[i].limit.rate->value);
      if (values.size() < few) {
        const auto why = kind == Kind::device_copy ? StatementKind::gpu_memory_not_known
                                                   : StatementKind::gpu_host_not_known;
        for (const std::size_t i : rates)
          inconclusive(why, out_.rates[i].limit, text_of(out_.rates[i].limit));
        continue;
      }
      const BytesPerSecond middle(upper_median(values));
      for (const std::size_t i : rates) {
        out_.rates[i].attainable = middle;
        out_.rates[i].origin = ideal::Origin::fleet_majority;
        out_.rates[i].source =
            fmt::format("the median of {} {}", values.size(), model.empty() ? "GPUs" : model);
      }
    }
  }

  void add_finding(const GpuRate& rate) {
    const GpuLimit& limit = rate.limit;
    Finding finding;
    finding.severity = *rate.ratio < critical_ ? Severity::critical : Severity::warning;
    finding.kind =
        limit.kind == Kind::device_copy ? FindingKind::slow_gpu_memory : FindingKind::slow_gpu_link;
    finding.scope.type = of_peers(limit) ? ScopeType::link : ScopeType::gpu;
    finding.scope.subject = limit.node;
    finding.scope.subject.device = of_peers(limit)
                                       ? fmt::format("{} - {}", name_of(limit.gpu), name_of(limit.peer))
                                       : name_of(limit.gpu);
    finding.measured = limit.rate;
    finding.expected = rate.attainable;
    finding.ratio = rate.ratio;
    // As with hops: the gap against what repeated measurements differ by at most where nothing is wrong.
    const double gap = 1 - *rate.ratio;
    finding.confidence = gap / (gap + 0.02);
    const Quantity measured = {"measured_Bps", limit.rate}, expected = {"expected_Bps", rate.attainable};
    finding.evidence = {{StatementKind::gpu_carried,
                         {finding.scope.subject},
                         {measured,
                          expected,
                          {"reached_percent", *rate.ratio * 100},
                          {"limit", text_of(limit)},
                          {"source", rate.source}}}};
    finding.impact = {StatementKind::repair_gpu, {}, {measured, expected}};
    finding.next = of_peers(limit) ? StatementKind::look_at_gpu_links : StatementKind::look_at_gpu;
    out_.findings.push_back(std::move(finding));
  }

  const topology::Cluster& cluster_;
  double warning_, critical_;
  GpuLimits out_;
  std::set<std::tuple<std::string, int, int>> staged_;  // pairs without peer access
  // Rates that are held against each other: of one kind, model and link.
  std::map<std::tuple<Kind, std::string, double>, std::vector<std::size_t>> alike_;
};

}  // namespace

GpuLimits rate_gpus(std::vector<GpuLimit> limits, const topology::Cluster& cluster, double warning,
                    double critical) {
  return Judge(cluster, warning, critical)(std::move(limits));
}

}  // namespace ringtrue::diagnosis
