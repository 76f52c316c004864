// Where GPUs and NICs sit to each other, and whether they can talk without the host's memory.
#include <algorithm>
#include <array>

#include "diagnosis/inspect/rule_context.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

constexpr BytesPerSecond slow_nic(3.125e9);  // 25 Gbit/s: a tenth and less of what joins two sockets

std::optional<BytesPerSecond> fastest_of(const std::vector<const Nic*>& nics) {
  std::optional<BytesPerSecond> best;
  for (const Nic* nic : nics)
    for (const Port& port : nic->ports)
      if (const auto rate = best_rate(port); rate && (!best || *rate > *best)) best = rate;
  return best;
}

bool rdma(const std::vector<const Nic*>& nics) {
  return std::ranges::any_of(nics, [](const Nic* nic) { return !nic->rdma.empty(); });
}

// NVIDIA gives GPUDirect RDMA to none of its boards for gamers.
bool is_for_gamers(const Gpu& gpu) {
  return gpu.model.known() && gpu.model->find("GeForce") != std::string::npos;
}

// Generations of which there are such boards beside those of data centres: by NCCL's file alone nobody knows.
bool may_be_for_gamers(const Gpu& gpu) {
  constexpr std::array with_boards_for_gamers = {61, 75, 86, 89, 120};
  return !gpu.model.known() && std::ranges::count(with_boards_for_gamers, gpu.compute_capability.value_or(0));
}

void far_nic(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    const Node& n = node.node;
    if (n.gpus.empty() || node.rails.empty()) continue;
    if (n.processors.packages.is(1) || n.processors.numa.size() == 1) continue;  // nothing is far
    context.applies();
    std::map<int, std::vector<std::string>> nics, gpus;  // by socket
    bool all_known = true;
    const auto place = [&](const std::string& name, const std::string& address, auto& into) {
      const auto numa = node.numa(address);
      const auto socket = numa ? node.socket(*numa) : std::nullopt;
      if (socket)
        into[*socket].push_back(name);
      else
        context.cannot(&node, name,
                       numa ? "it is not known which NUMA nodes share a socket"
                            : "the NUMA node of the device is unknown"),
            all_known = false;
    };
    for (const Nic* nic : node.rails) place(nic->name, nic->address, nics);
    for (const Gpu& gpu : n.gpus) place(gpu.name, gpu.address, gpus);
    if (!all_known || nics.empty()) continue;
    // A NIC this slow is for management, whatever carries the data; one that nobody tells of may be.
    const auto fastest = fastest_of(node.rails);
    if (!fastest && !rdma(node.rails)) {
      context.cannot(&node, "", "the rate of the NICs is unknown: they may be for management alone");
      continue;
    }
    const bool slow = fastest && *fastest < slow_nic && !rdma(node.rails);
    for (const auto& [socket, names] : gpus) {
      if (nics.contains(socket)) continue;
      const auto& [far, far_nics] = *nics.begin();
      const bool inevitable = node.rails.size() < gpus.size();  // fewer NICs than sockets with GPUs
      for (const std::string& gpu : names)
        context.report(&node, gpu,
                       {.severity = inevitable || slow ? Severity::info : Severity::warning,
                        .values = {{"socket", socket},
                                   {"far_nics", far_nics},
                                   {"far_socket", far},
                                   {"slow", slow},
                                   {"inevitable", inevitable}}});
    }
  }
}

void gpudirect(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    const Node& n = node.node;
    const bool gpus = std::ranges::any_of(n.gpus, [&](const Gpu& g) { return node.nvidia(g); });
    const bool told = std::ranges::any_of(n.nics, [](const Nic& nic) { return nic.gdr.known(); });
    if (!gpus || !(node.has_rdma() || told)) continue;
    if (std::ranges::all_of(n.gpus, is_for_gamers)) continue;
    context.applies();
    const System& s = n.system;
    std::vector<Quantity> why;
    if (s.nvidia_peermem.is(false) && s.dmabuf.is(false)) {
      why = {{"peermem_origin", s.nvidia_peermem.origin},
             {"dmabuf_origin", s.dmabuf.origin},
             {"closed_modules_origin", s.open_kernel_module.is(false) ? s.open_kernel_module.origin : ""},
             {"kernel", s.kernel.value}};
    }
    std::vector<std::string> refused;
    const auto refuses = [&](const std::string& name, const Fact<bool>& gdr) {
      if (gdr.is(false)) refused.push_back(name + " (" + gdr.origin + ")");
    };
    const bool some_boards_cannot = std::ranges::all_of(n.gpus, may_be_for_gamers);
    for (const Gpu& gpu : n.gpus)
      if (!is_for_gamers(gpu)) refuses(gpu.name, gpu.gdr);
    for (const Nic& nic : n.nics)
      if (node.has_hardware(nic)) refuses(nic.name, nic.gdr);
    if (why.empty() && !refused.empty() && some_boards_cannot) {
      context.cannot(&node, "", "the models of the GPUs are unknown, and GeForce boards have no GPUDirect");
      continue;
    }
    if (why.empty() && !refused.empty()) why = {{"without_gdr", refused}};
    if (why.empty()) {
      const bool possible = s.nvidia_peermem.is(true) || s.dmabuf.is(true) || told;
      if (!possible)
        context.cannot(&node, "", "whether nvidia_peermem is loaded or dma-buf works is unknown");
      continue;
    }
    context.report(&node, "", {.values = std::move(why)});
  }
}

constexpr Rule affinity_table[] = {
    {FindingKind::gpu_far_nic, Severity::warning, ScopeType::gpu, far_nic},
    {FindingKind::gpudirect_impossible, Severity::warning, ScopeType::node, gpudirect},
};

}  // namespace

const std::span<const Rule> affinity_rules = affinity_table;

}  // namespace ringtrue::diagnosis
