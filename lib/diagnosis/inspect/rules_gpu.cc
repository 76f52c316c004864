// GPUs: lost ones, throttled clocks, memory errors, MIG.
#include <algorithm>
#include <cctype>

#include "diagnosis/inspect/rule_context.h"
#include "topology/counters.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

// NVML's bits of nvmlClocksThrottleReasons (nvml.h).
constexpr std::uint64_t power_cap = 0x4, hw_slowdown = 0x8, sw_thermal = 0x20, hw_thermal = 0x40,
                        power_brake = 0x80;

template <class Look>
void each_nvidia(RuleContext& context, Look look) {
  for (const NodeView& node : context.nodes)
    for (const Gpu& gpu : node.node.gpus)
      if (node.nvidia(gpu)) context.applies(), look(node, gpu);
}

bool driven_by(const NodeView& node, const Gpu& gpu, const char* driver) {
  const auto* place = node.place(gpu.address);
  return place && place->device->driver.is(driver);
}

// Whether a gap is about one GPU as a whole: "GPU3", "GPU3 (0000:3b:00.0)", "GPU 3".
bool names_gpu(const std::string& what) {
  std::size_t at = what.rfind("GPU", 0) == 0 ? 3 : std::string::npos;
  if (at == 3 && at < what.size() && what[at] == ' ') ++at;
  return at != std::string::npos && at < what.size() && std::isdigit(static_cast<unsigned char>(what[at]));
}

void lost(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    const auto told = [](const Gpu& g) { return g.uuid.origin == origin::nvml && g.uuid.known(); };
    const bool answers = std::ranges::any_of(node.node.gpus, told);
    std::set<std::string> named;
    std::string asleep;  // "GPU1, GPU2,"
    for (const Gap& gap : node.node.gaps) {
      if (gap.source != origin::nvml || !names_gpu(gap.what)) continue;
      if (gap.why.find("asleep") != std::string::npos) asleep += gap.what + ",";
      if (gap.why.find("asleep") != std::string::npos || gap.why.find("ermission") != std::string::npos)
        continue;
      context.applies();
      std::string device = gap.what.substr(0, gap.what.find_first_of(" (:,", 4));
      if (!node.node.find_gpu(device)) std::erase(device, ' ');
      // One that another driver has, or none, is not NVML's to know.
      const Gpu* gpu = node.node.find_gpu(device);
      if (gpu && !gpu->address.empty() && !told(*gpu) && !driven_by(node, *gpu, "nvidia")) continue;
      if (named.insert(device).second)
        context.report(&node, device, {.values = {{"asked", gap.what}, {"answer", gap.why}}});
    }
    for (const Gpu& gpu : node.node.gpus) {
      if (!node.nvidia(gpu)) continue;
      context.applies();
      if (told(gpu) || named.contains(gpu.name)) continue;
      if (asleep.find(gpu.name + ",") != std::string::npos)
        context.cannot(&node, gpu.name, "the GPU sleeps, and asking would wake it");
      else if (answers && driven_by(node, gpu, "nvidia"))
        context.report(&node, gpu.name, {.values = {{"address", gpu.address}}});
      else
        context.cannot(&node, gpu.name, "the driver was not asked or does not know this GPU");
    }
  }
}

void throttled(RuleContext& context) {
  each_nvidia(context, [&](const NodeView& node, const Gpu& gpu) {
    if (!gpu.throttle.known()) return context.cannot(&node, gpu.name, "the throttle reasons are unknown");
    const std::uint64_t bits = *gpu.throttle;
    std::vector<std::string> why;
    if (bits & hw_thermal) why.push_back("hardware thermal slowdown");
    if (bits & sw_thermal) why.push_back("software thermal slowdown");
    if (bits & power_brake) why.push_back("power brake: the supply asks for less");
    if (bits & hw_slowdown && why.empty()) why.push_back("hardware slowdown");
    const bool fault = !why.empty();
    if (!fault && !(bits & power_cap)) return;
    if (!fault) why.push_back("power cap by software");
    context.report(&node, gpu.name,
                   {.severity = !fault                                            ? Severity::info
                                : bits & (hw_thermal | power_brake | hw_slowdown) ? Severity::critical
                                                                                  : Severity::warning,
                    .values = {{"reasons", why},
                               {"bits", bits},
                               {"origin", gpu.throttle.origin},
                               {"temperature_C", gpu.temperature_C.value},
                               {"sm_clock_MHz", gpu.sm_clock_MHz.value},
                               {"max_sm_clock_MHz", gpu.max_sm_clock_MHz.value},
                               {"fault", fault},
                               {"thermal", (bits & (hw_thermal | sw_thermal)) != 0}}});
  });
}

void ecc_errors(RuleContext& context) {
  each_nvidia(context, [&](const NodeView& node, const Gpu& gpu) {
    if (gpu.ecc.is(false)) return;
    if (!gpu.ecc_uncorrected.known())
      return context.cannot(&node, gpu.name, "its count of memory errors is unknown");
    if (*gpu.ecc_uncorrected == 0) return;
    context.report(&node, gpu.name,
                   {.values = {{"errors", *gpu.ecc_uncorrected}, {"origin", gpu.ecc_uncorrected.origin}}});
  });
}

void retired_pending(RuleContext& context) {
  each_nvidia(context, [&](const NodeView& node, const Gpu& gpu) {
    if (!gpu.retired_pending.is(true)) return;
    context.report(&node, gpu.name, {.values = {{"origin", gpu.retired_pending.origin}}});
  });
}

void ecc_off(RuleContext& context) {
  std::map<std::string, std::map<bool, int>> votes;
  const auto each = [&](auto look) {
    for (const NodeView& node : context.nodes)
      for (const Gpu& gpu : node.node.gpus)
        if (gpu.ecc.known() && node.nvidia(gpu)) look(node, gpu, votes[gpu.model.value_or("")]);
  };
  each([](const NodeView&, const Gpu& gpu, std::map<bool, int>& v) { ++v[*gpu.ecc]; });
  each([&](const NodeView& node, const Gpu& gpu, std::map<bool, int>& v) {
    if (v[false] + v[true] < 3) return;
    context.applies();
    const bool* most = majority(v, context.limits.majority);
    if (*gpu.ecc || !most || !*most) return;
    context.report(&node, gpu.name,
                   {.values = {{"origin", gpu.ecc.origin},
                               {"alike", v[true]},
                               {"of_gpus", v[true] + v[false]},
                               {"address", gpu.address}}});
  });
}

void mig(RuleContext& context) {
  each_nvidia(context, [&](const NodeView& node, const Gpu& gpu) {
    if (!gpu.mig.is(true)) return;
    context.report(&node, gpu.name, {.values = {{"origin", gpu.mig.origin}}});
  });
}

void gpu_unlike(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    std::map<std::string, std::vector<const Part*>> models;
    for (const Part& part : node.parts)
      if (part.gpu)
        models[part.gpu->model.value_or("") + fmt::format(" {}", part.device->device.value_or(0))].push_back(
            &part);
    for (const auto& [model, parts] : models) {
      if (parts.size() < 3) continue;
      context.applies();
      std::map<int, int> widths;
      std::map<double, int> speeds;  // only where they are what the link can do: NCCL's files
      for (const Part* p : parts) {
        if (const auto w = width_of(p->device->link.width)) ++widths[*w];
        if (p->device->link.speed_GTps.origin == origin::nccl_xml)
          if (const auto s = speed_of(p->device->link.speed_GTps)) ++speeds[*s];
      }
      const int* width = majority(widths, 0.5);
      const double* speed = majority(speeds, 0.5);
      for (const Part* p : parts) {
        const PciLink& link = p->device->link;
        const auto w = width_of(link.width);
        const auto s = speed_of(link.speed_GTps);
        const bool narrow = width && w && *w < *width;
        const bool slow = speed && s && link.speed_GTps.origin == origin::nccl_xml && *s < *speed;
        if (!(narrow || slow) || context.reported(&node, p->name, "pcie-")) continue;
        context.report(&node, p->name,
                       {.values = {{"address", p->device->address},
                                   {"link", pci_text(link)},
                                   {"origin", link.width.origin},
                                   {"alike", narrow ? widths.at(*width) : speeds.at(*speed)},
                                   {"sisters", parts.size() - 1},
                                   {"usual_lanes", narrow ? std::optional(*width) : std::nullopt},
                                   {"usual_GTps", narrow ? std::nullopt : std::optional(*speed)}},
                        .measured = pci_rate(link),
                        .sure = by_comparison});
      }
    }
  }
}

constexpr Rule gpu_table[] = {
    {FindingKind::gpu_lost, Severity::critical, ScopeType::gpu, lost},
    {FindingKind::gpu_throttled, Severity::critical, ScopeType::gpu, throttled},
    {FindingKind::ecc_errors, Severity::critical, ScopeType::gpu, ecc_errors},
    {FindingKind::ecc_retirement_pending, Severity::warning, ScopeType::gpu, retired_pending},
    {FindingKind::ecc_off, Severity::warning, ScopeType::gpu, ecc_off},
    {FindingKind::mig_enabled, Severity::info, ScopeType::gpu, mig},
    {FindingKind::gpu_link_unlike_sisters, Severity::warning, ScopeType::gpu, gpu_unlike},
};

}  // namespace

const std::span<const Rule> gpu_rules = gpu_table;

}  // namespace ringtrue::diagnosis
