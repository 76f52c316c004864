// GPUs: those that PCI shows, with what NVML tells of them (its answer's form: library/nvml.cc).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "probe/probe.h"
#include "probe/reading.h"
#include "run/counter_window.h"
#include "topology/links.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using nlohmann::json;

constexpr std::uint32_t nvidia = 0x10de, ibm = 0x1014;
constexpr std::size_t max_gpus = 1024, max_links = 128;

// ---- reading the answer, which may come from a recording that anybody wrote

std::string address(const json& object, const char* key) {
  return formats::pci_address(get<std::string>(object, key).value_or("")).value_or("");
}

json parse(const std::string& answer) {
  json whole = json::parse(answer, nullptr, false);
  return whole.is_object() ? whole : json();
}

// What NVML says of one GPU, and which GPU of the machine that is.
struct Told {
  const json* gpu = nullptr;
  std::optional<int> index;
  std::string address;
};

std::vector<Told> gpus_told(const json& answer) {
  std::vector<Told> all;
  for (const json& gpu : list(answer, "gpus")) {
    if (!gpu.is_object() || all.size() == max_gpus) continue;
    const std::string at = address(gpu, "pci");
    const bool again =
        std::any_of(all.begin(), all.end(), [&](const Told& t) { return !at.empty() && t.address == at; });
    if (!again) all.push_back({&gpu, get<int>(gpu, "index"), at});
  }
  return all;
}

// ---- one GPU

Remote remote_kind(const Node& node, const json& link, const std::string& remote_address) {
  const std::string kind = get<std::string>(link, "remote").value_or("");
  if (kind == "gpu") return Remote::gpu;
  if (kind == "nvswitch") return Remote::nvswitch;
  if (kind == "cpu") return Remote::cpu;
  // Old drivers do not say what is there, but where it is.
  const PciDevice* device = node.find_pci(remote_address);
  if (!device) return Remote::unknown;
  if (is_gpu(*device)) return Remote::gpu;
  if (is_nvswitch(*device)) return Remote::nvswitch;
  return device->vendor.is(ibm) ? Remote::cpu : Remote::unknown;
}

// NVML tells the line's speed, its code included (26,562 MB/s where 25,000 are payload), so a known version's
// rate is believed unless the line is slower than that (boards that clock NVLink down).
std::optional<BytesPerSecond> rate(const NvLink& link, std::optional<std::uint64_t> line_MBps) {
  const auto nominal = link.version.known() ? nvlink_rate(*link.version) : std::nullopt;
  if (!line_MBps || *line_MBps == 0) return nominal;
  const BytesPerSecond line(double(*line_MBps) * 1e6);
  return nominal ? std::min(*nominal, line) : line;
}

std::vector<NvLink> links(const Node& node, const json& gpu) {
  std::vector<NvLink> all;
  std::set<int> seen;
  for (const json& told : list(gpu, "nvlinks")) {
    const auto index = told.is_object() ? get<int>(told, "index") : std::nullopt;
    if (!index || all.size() == max_links || !seen.insert(*index).second) continue;
    NvLink link;
    link.index = *index;
    link.up.offer(get<bool>(told, "up"), origin::nvml);
    link.version.offer(get<int>(told, "version"), origin::nvml);
    link.rate.offer(rate(link, get<std::uint64_t>(told, "speed_MBps")), origin::nvml);
    link.remote_address = address(told, "remote_pci");
    link.remote = remote_kind(node, told, link.remote_address);
    if (const auto errors = told.find("errors"); errors != told.end() && errors->is_object())
      for (const auto& [name, count] : errors->items())
        if (count.is_number_unsigned() && link.errors.size() < 64) link.errors[formats::clean(name)] = count;
    all.push_back(std::move(link));
  }
  std::sort(all.begin(), all.end(), [](const NvLink& a, const NvLink& b) { return a.index < b.index; });
  return all;
}

void fill(Gpu& gpu, const Node& node, const json& told) {
  const auto take = [&]<class T>(Fact<T>& fact, const char* key) {
    fact.offer(get<T>(told, key), origin::nvml);
  };
  take(gpu.model, "name");
  take(gpu.uuid, "uuid");
  take(gpu.serial, "serial");
  take(gpu.vbios, "vbios");
  if (const auto bytes = get<std::uint64_t>(told, "memory")) gpu.memory.offer(Bytes(*bytes), origin::nvml);
  take(gpu.compute_capability, "compute_capability");
  take(gpu.persistence, "persistence");
  take(gpu.mig, "mig");
  take(gpu.ecc, "ecc");
  take(gpu.ecc_corrected, "ecc_corrected");
  take(gpu.ecc_uncorrected, "ecc_uncorrected");
  take(gpu.retired_pending, "retired_pending");
  take(gpu.throttle, "throttle");
  if (const auto state = get<int>(told, "performance_state"))
    gpu.performance_state.offer(fmt::format("P{}", *state), origin::nvml);
  take(gpu.utilization, "utilization");
  take(gpu.sm_clock_MHz, "sm_clock_MHz");
  take(gpu.max_sm_clock_MHz, "max_sm_clock_MHz");
  take(gpu.temperature_C, "temperature_C");
  take(gpu.processes, "processes");
  if (told.contains("nvlinks")) gpu.nvlinks = links(node, told);
}

// ---- all of them

bool of_nvidia(const PciDevice& device) {
  return device.vendor.is(nvidia);
}

std::vector<const PciDevice*> functions(const Node& node, bool (*wanted)(const PciDevice&)) {
  std::vector<const PciDevice*> found;
  for (const auto& device : node.pci)
    if (wanted(device) && !device.virtual_function) found.push_back(&device);
  std::sort(found.begin(), found.end(), [](const PciDevice* a, const PciDevice* b) {
    return formats::pci_before(a->address, b->address);
  });
  return found;
}

// A GPU that fell off the bus has no address for NVML any more. Where as many are left over on either side,
// they are the same ones, in the same order.
void match_lost_gpus(std::vector<Told>& told, const std::vector<const PciDevice*>& functions) {
  std::vector<Told*> without;
  for (auto& t : told)
    if (t.address.empty()) without.push_back(&t);
  std::vector<const PciDevice*> left;
  for (const PciDevice* f : functions)
    if (of_nvidia(*f) &&
        std::none_of(told.begin(), told.end(), [&](const Told& t) { return t.address == f->address; }))
      left.push_back(f);
  if (without.size() != left.size()) return;
  for (std::size_t i = 0; i < left.size(); ++i) without[i]->address = left[i]->address;
}

struct Numbered {
  Gpu gpu;
  std::optional<int> number;
  const json* told = nullptr;
  const PciDevice* function = nullptr;
};

// NVML's numbers where they are known; the others take those that are free, in the order of their addresses.
void name_all(std::vector<Numbered>& gpus) {
  std::set<int> taken;
  for (auto& g : gpus)
    if (g.number && !taken.insert(*g.number).second) g.number.reset();
  int next = 0;
  for (auto& g : gpus) {
    if (!g.number) {
      while (taken.contains(next)) ++next;
      taken.insert(next);
      g.number = next;
    }
    g.gpu.name = fmt::format("GPU{}", *g.number);
  }
  std::sort(gpus.begin(), gpus.end(),
            [](const Numbered& a, const Numbered& b) { return *a.number < *b.number; });
}

void name_gaps(const std::vector<Numbered>& gpus, bool answered, Node& node) {
  constexpr const char* sleeping =
      "(persistence mode is off): NVML not asked, because that wakes them; --wake-gpus asks";
  std::vector<std::string> asleep;
  for (const auto& g : gpus) {
    const auto error = g.told ? get<std::string>(*g.told, "error") : std::nullopt;
    if (error) node.gaps.push_back({origin::nvml, g.gpu.name, *error});
    if (g.told && get<bool>(*g.told, "asleep").value_or(false)) asleep.push_back(g.gpu.name);
    if (answered && !g.told && g.function && of_nvidia(*g.function))
      node.gaps.push_back(
          {origin::nvml, g.gpu.name,
           fmt::format("NVML does not list it{}", g.function->driver.known()
                                                      ? fmt::format("; its driver is {}", *g.function->driver)
                                                      : "")});
  }
  if (asleep.empty()) return;
  const bool all = asleep.size() == gpus.size();
  node.gaps.push_back({origin::nvml, all ? "GPUs" : fmt::format("{}", fmt::join(asleep, ", ")),
                       fmt::format("{} {}", all ? "GPUs sleep" : "asleep", sleeping)});
}

void add_switches(Node& node) {
  std::set<std::string> seen;
  const auto add = [&](const std::string& address) {
    if (seen.insert(address).second)
      node.nvswitches.push_back({fmt::format("NVSwitch{}", node.nvswitches.size()), address});
  };
  for (const PciDevice* device : functions(node, is_nvswitch)) add(device->address);
  std::vector<std::string> remote;  // those that this machine was not given, but its GPUs' links lead to
  for (const auto& gpu : node.gpus)
    if (gpu.nvlinks)
      for (const auto& link : *gpu.nvlinks)
        if (link.remote == Remote::nvswitch && !link.remote_address.empty())
          remote.push_back(link.remote_address);
  std::sort(remote.begin(), remote.end(), formats::pci_before);
  for (const auto& address : remote) add(address);
}

}  // namespace

void probe_nvml(Source& source, Node& node) {
  const auto gpu_functions = functions(node, is_gpu);
  const auto text = source.answer("nvml");
  const json answer = text ? parse(*text) : json();
  const bool answered = answer.is_object();
  const bool has_nvidia = std::any_of(node.pci.begin(), node.pci.end(), [](const PciDevice& d) {
    return (is_gpu(d) && of_nvidia(d)) || is_nvswitch(d);
  });
  if (!text) {
    // Without an NVIDIA GPU it is nobody's business that there is no driver for it; that NVML hangs is.
    const Error& error = text.error();
    if (has_nvidia || error.cause == Cause::deadline)
      node.gaps.push_back(gap_of(origin::nvml, "GPUs", error));
  } else if (!answered) {
    node.gaps.push_back({origin::nvml, "GPUs", "NVML's answer in the recording is damaged"});
  }
  if (answered) {
    node.system.nvidia_driver.offer(get<std::string>(answer, "driver"), origin::nvml);
    node.system.cuda.offer(get<std::string>(answer, "cuda"), origin::nvml);
  }

  auto told = gpus_told(answer);
  match_lost_gpus(told, gpu_functions);
  std::vector<Numbered> gpus;
  for (const PciDevice* function : gpu_functions) {
    Numbered g;
    g.gpu.address = function->address;
    g.gpu.model.offer(function->name.value, function->name.origin.c_str());
    g.function = function;
    gpus.push_back(std::move(g));
  }
  for (const Told& t : told) {
    auto it = std::find_if(gpus.begin(), gpus.end(), [&](const Numbered& g) {
      return !t.address.empty() && g.gpu.address == t.address;
    });
    if (it == gpus.end()) {
      it = gpus.insert(gpus.end(), Numbered());
      it->gpu.address = t.address;
    }
    it->number = t.index;
    it->told = t.gpu;
    if (get<std::string>(*t.gpu, "name")) it->gpu.model = {};
    fill(it->gpu, node, *t.gpu);
  }
  name_all(gpus);
  name_gaps(gpus, answered, node);
  for (auto& g : gpus) node.gpus.push_back(std::move(g.gpu));
  add_switches(node);
}

std::vector<run::CounterSet> nvml_counters(Source& source, const Node& node) {
  std::vector<run::CounterSet> sets;
  const auto text = source.answer("nvml");
  if (!text) return sets;
  const json answer = parse(*text);
  for (const Told& t : gpus_told(answer)) {
    const auto gpu = std::find_if(node.gpus.begin(), node.gpus.end(), [&](const Gpu& g) {
      return t.address.empty() ? t.index && g.name == fmt::format("GPU{}", *t.index) : g.address == t.address;
    });
    if (gpu == node.gpus.end()) continue;
    run::CounterSet set;
    set.device = gpu->name;
    for (const char* key : {"ecc_corrected", "ecc_uncorrected"})
      if (const auto count = get<std::uint64_t>(*t.gpu, key)) set.values[key] = *count;
    for (const NvLink& link : links(node, *t.gpu))
      for (const auto& [name, count] : link.errors)
        set.values[fmt::format("nvlink{}_{}", link.index, name)] = count;
    if (!set.values.empty()) sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace ringtrue::probe
