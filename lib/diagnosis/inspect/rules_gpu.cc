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
    const auto report = [&](const std::string& device, std::string evidence) {
      context.report(&node, device,
                     {.evidence = {std::move(evidence)},
                      .impact = "this GPU takes no part in anything; jobs on this node fail",
                      .next = "see dmesg for Xid 79 and 48; drain the node, reset the GPU (nvidia-smi -r) or "
                              "restart the node, and if it comes again, have the GPU replaced"});
    };
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
        report(device, fmt::format("the driver answers for {}: {} (nvml)", gap.what, gap.why));
    }
    for (const Gpu& gpu : node.node.gpus) {
      if (!node.nvidia(gpu)) continue;
      context.applies();
      if (told(gpu) || named.contains(gpu.name)) continue;
      if (asleep.find(gpu.name + ",") != std::string::npos)
        context.cannot(&node, gpu.name, "the GPU sleeps, and asking would wake it");
      else if (answers && driven_by(node, gpu, "nvidia"))
        report(gpu.name, fmt::format("PCI shows {} at {} (sysfs), and the driver does not name it among its "
                                     "GPUs (nvml)",
                                     gpu.name, gpu.address));
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
    std::vector<std::string> evidence = {
        fmt::format("{}: {} (bits {:#x}, {})", gpu.name, listed(why), bits, gpu.throttle.origin)};
    if (gpu.temperature_C.known()) evidence.push_back(fmt::format("{} degrees Celsius", *gpu.temperature_C));
    std::string impact = "its clocks are lowered";
    if (gpu.sm_clock_MHz.known() && gpu.max_sm_clock_MHz.known())
      impact += fmt::format(": {} of {} MHz", *gpu.sm_clock_MHz, *gpu.max_sm_clock_MHz);
    context.report(
        &node, gpu.name,
        {.severity = !fault                                            ? Severity::info
                     : bits & (hw_thermal | power_brake | hw_slowdown) ? Severity::critical
                                                                       : Severity::warning,
         .evidence = std::move(evidence),
         .impact = impact + (fault ? "; all GPUs of a job wait for it" : ""),
         .next = !fault                             ? "nothing: a GPU under load runs at its limit"
                 : bits & (hw_thermal | sw_thermal) ? "look at fans, air flow, inlet temperature and "
                                                      "the heat sink's seat"
                                                    : "look at the power supplies and cables"});
  });
}

void ecc_errors(RuleContext& context) {
  each_nvidia(context, [&](const NodeView& node, const Gpu& gpu) {
    if (gpu.ecc.is(false)) return;
    if (!gpu.ecc_uncorrected.known())
      return context.cannot(&node, gpu.name, "its count of memory errors is unknown");
    if (*gpu.ecc_uncorrected == 0) return;
    context.report(&node, gpu.name,
                   {.evidence = {fmt::format("{} uncorrected memory errors since the driver was loaded ({})",
                                             *gpu.ecc_uncorrected, gpu.ecc_uncorrected.origin)},
                    .impact = "jobs on this GPU die, or compute with what is left of its memory",
                    .next = "reset the GPU, then run dcgmi diag -r 3; if it comes again, have it replaced"});
  });
}

void retired_pending(RuleContext& context) {
  each_nvidia(context, [&](const NodeView& node, const Gpu& gpu) {
    if (!gpu.retired_pending.is(true)) return;
    context.report(&node, gpu.name,
                   {.evidence = {fmt::format("memory pages or rows wait to be retired at the next reset ({})",
                                             gpu.retired_pending.origin)},
                    .impact = "until then bad memory stays in use",
                    .next = "drain the node and reset the GPU (nvidia-smi -r)"});
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
    context.report(
        &node, gpu.name,
        {.evidence = {fmt::format("ECC is off ({})", gpu.ecc.origin),
                      fmt::format("{} of {} GPUs of this model have it on", v[true], v[true] + v[false])},
         .impact = "memory errors of this GPU pass unseen, into results",
         .next = fmt::format("nvidia-smi -i {} -e 1, then reset the GPU", gpu.address)});
  });
}

void mig(RuleContext& context) {
  each_nvidia(context, [&](const NodeView& node, const Gpu& gpu) {
    if (!gpu.mig.is(true)) return;
    context.report(
        &node, gpu.name,
        {.evidence = {fmt::format("MIG is on ({})", gpu.mig.origin)},
         .impact = "its slices use no NVLink and no peer-to-peer: collectives go through host memory",
         .next = "for collectives over whole GPUs turn it off: nvidia-smi -mig 0"});
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
        context.report(
            &node, p->name,
            {.evidence = {fmt::format("the link of {} ({}) is {} ({})", p->name, p->device->address,
                                      pci_text(link), link.width.origin),
                          narrow ? fmt::format("{} of its {} sisters have x{}", widths.at(*width),
                                               parts.size() - 1, *width)
                                 : fmt::format("{} of its {} sisters run at {:g} GT/s", speeds.at(*speed),
                                               parts.size() - 1, *speed)},
             .impact = fmt::format("{} is slower to reach than its sisters: every collective waits "
                                   "for it where it goes by PCIe",
                                   p->name),
             .next = "compare its slot with those of its sisters; reseat the card",
             .measured = pci_rate(link)});
      }
    }
  }
}

constexpr Rule table[] = {
    {FindingKind::gpu_lost, Severity::critical, ScopeType::gpu, "GPU that the driver lost", lost},
    {FindingKind::gpu_throttled, Severity::critical, ScopeType::gpu, "GPU with lowered clocks", throttled},
    {FindingKind::ecc_errors, Severity::critical, ScopeType::gpu, "Uncorrected memory errors of a GPU",
     ecc_errors},
    {FindingKind::ecc_retirement_pending, Severity::warning, ScopeType::gpu,
     "GPU memory that waits to be retired", retired_pending},
    {FindingKind::ecc_off, Severity::warning, ScopeType::gpu, "GPU without ECC, unlike its sisters", ecc_off},
    {FindingKind::mig_enabled, Severity::info, ScopeType::gpu, "GPU in slices (MIG)", mig},
    {FindingKind::gpu_link_unlike_sisters, Severity::warning, ScopeType::gpu,
     "GPU with a lesser PCIe link than its sisters", gpu_unlike},
};

}  // namespace

const std::span<const Rule> gpu_rules = table;

}  // namespace ringtrue::diagnosis
