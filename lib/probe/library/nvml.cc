// The answer of NVML, keys left out where nothing is known:
//
//   {"driver": "535.104.05", "cuda": "12.2",
//    "gpus": [{"index": 0, "pci": "0000:3b:00.0", "asleep": true, "error": "the GPU is lost (...)",
//              "name", "uuid", "serial", "vbios", "memory": bytes, "compute_capability": 90,
//              "persistence", "mig", "ecc", "ecc_corrected", "ecc_uncorrected", "retired_pending",
//              "throttle": bits, "performance_state": 0, "utilization": percent, "sm_clock_MHz",
//              "max_sm_clock_MHz", "temperature_C", "processes",
//              "nvlinks": [{"index", "up", "version": 1 .. 6, "speed_MBps": of the line, code included,
//                           "remote": "gpu" | "nvswitch" | "cpu", "remote_pci", "errors": {name: count}}]}]}
//
// "error" is the first that a call for this GPU gave; what it told before and after stands beside it. A GPU
// with "asleep" was not asked, and has its address alone. "nvlinks" has those that the board has.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "probe/library/gpu_power.h"
#include "probe/library/library.h"
#include "probe/library/nvml_library.h"
#include "probe/live.h"

namespace ringtrue::probe {
namespace {

using nlohmann::json;
using namespace nvml;

constexpr unsigned max_gpus = 256, max_links = 128;

// "00000000:3B:00.0" -> "0000:3b:00.0"; empty where all of it is 0 or all ones, which is NVML's unknown.
std::string address(const PciInfo& info) {
  if (info.domain == 0xffffffff || info.bus > 0xff || info.device > 0x1f) return {};
  if (info.domain == 0 && info.bus == 0 && info.device == 0) return {};
  // The function stands in the text alone; virtual GPUs have another than 0.
  const std::string_view text(info.bus_id, ::strnlen(info.bus_id, sizeof info.bus_id));
  const bool told =
      text.size() > 2 && text[text.size() - 2] == '.' && text.back() >= '0' && text.back() <= '7';
  return fmt::format("{:04x}:{:02x}:{:02x}.{}", info.domain, info.bus, info.device, told ? text.back() : '0');
}

// Text of a device in valid UTF-8 without control characters: it goes into JSON.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return text;
}

// nvmlDeviceGetNvLinkVersion numbers versions and half versions through: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0,
// 6.0; and says 5.0 of Hopper, which has 4.0. So the architecture is asked first.
std::optional<int> nvlink_version(unsigned number, int compute_capability) {
  const int architecture = compute_capability / 10;
  if (architecture >= 6 && architecture <= 10) return architecture - 5;
  constexpr int versions[] = {1, 2, 2, 3, 3, 4, 5, 6};
  if (number < 1 || number > std::size(versions)) return std::nullopt;
  return versions[number - 1];
}

struct ErrorField {
  unsigned field;
  const char* name;
};
// NVLink 5 counts otherwise than those before it: as fields whose scope is the link.
constexpr ErrorField error_fields[] = {
    {206, "malformed_packet"},     {207, "buffer_overrun"}, {208, "rcv"},
    {211, "local_link_integrity"}, {212, "xmit_discards"},  {214, "link_recovery_failed"},
    {215, "link_recovery"},        {219, "effective"},      {221, "symbol"}};
constexpr const char* error_counters[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc_data"};

std::optional<std::uint64_t> number(const FieldValue& value) {
  if (value.result != success) return std::nullopt;
  switch (value.type) {
    case 0:
      return value.value.d < 0 ? 0 : std::uint64_t(value.value.d);
    case 1:
      return value.value.u;
    case 2:
      return value.value.ul;
    case 3:
      return value.value.ull;
    case 4:
      return std::uint64_t(std::max(value.value.ll, 0ll));
    case 5:
      return std::uint64_t(std::max(value.value.i, 0));
    case 6:
      return value.value.us;
  }
  return std::nullopt;
}

// One GPU being asked. What is not supported is left out; what fails is named once.
class Asker {
 public:
  Asker(const Library& library, Device device, json& out) : library_(library), device_(device), out_(out) {}

  template <class... Arguments>
  Return call(const char* function, Arguments... arguments) {
    if (gone_) return gpu_is_lost;
    const Return result = library_.call(function, device_, arguments...);
    switch (result) {
      case success:
      case not_supported:
      case function_not_found:
      case invalid_argument:
      case not_found:
      case no_data:
      case insufficient_size:
        return result;
      default:
        if (!out_.contains("error")) out_["error"] = fmt::format("{} ({})", words(result), function);
        gone_ = result == gpu_is_lost || result == reset_required || result == timeout;
        return result;
    }
  }

  template <class... Arguments>
  bool asked(const char* function, Arguments... arguments) {
    return call(function, arguments...) == success;
  }

  void text(const char* key, const char* function) {
    char buffer[96] = {};
    if (asked(function, static_cast<char*>(buffer), unsigned(sizeof buffer - 1)))
      out_[key] = printable(buffer);
  }

  template <class... Arguments>
  void put(const char* key, const char* function, Arguments... before) {
    if (unsigned value = 0; asked(function, before..., &value)) out_[key] = value;
  }

  // `more`: the setting after the next restart, where the function tells that as well.
  template <class... More>
  void flag(const char* key, const char* function, More... more) {
    if (unsigned value = 0; asked(function, &value, more...)) out_[key] = value == 1;
  }

  template <class... Arguments>
  void put_address(json& out, const char* key, std::initializer_list<const char*> versions,
                   Arguments... before) {
    for (const char* function : versions)
      if (PciInfo pci{}; asked(function, before..., &pci)) {
        if (const std::string at = address(pci); !at.empty()) out[key] = at;
        return;
      }
  }

  void all();

 private:
  void memory_errors();
  void clocks();
  void links();
  json link(unsigned index, bool up);
  void fields(json& link, unsigned index, bool with_errors);

  const Library& library_;
  Device device_;
  json& out_;
  bool gone_ = false;
};

void Asker::all() {
  put_address(out_, "pci", {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2"});
  put("index", "nvmlDeviceGetIndex");
  text("name", "nvmlDeviceGetName");
  text("uuid", "nvmlDeviceGetUUID");
  text("serial", "nvmlDeviceGetSerial");
  text("vbios", "nvmlDeviceGetVbiosVersion");
  if (Memory memory{}; asked("nvmlDeviceGetMemoryInfo", &memory)) out_["memory"] = memory.total;
  int major = 0, minor = 0;
  if (asked("nvmlDeviceGetCudaComputeCapability", &major, &minor))
    out_["compute_capability"] = 10 * major + minor;
  flag("persistence", "nvmlDeviceGetPersistenceMode");
  unsigned pending = 0;
  flag("mig", "nvmlDeviceGetMigMode", &pending);
  flag("ecc", "nvmlDeviceGetEccMode", &pending);
  memory_errors();
  clocks();
  put("performance_state", "nvmlDeviceGetPerformanceState");
  if (out_.value("performance_state", 0u) > 15) out_.erase("performance_state");
  if (Utilization use{}; asked("nvmlDeviceGetUtilizationRates", &use)) out_["utilization"] = use.gpu;
  put("temperature_C", "nvmlDeviceGetTemperature", unsigned(temperature_of_gpu));
  for (const char* function :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses"}) {
    unsigned count = 0;
    const Return result = call(function, &count, static_cast<void*>(nullptr));
    if (result == success || result == insufficient_size) out_["processes"] = count;
    if (result != function_not_found) break;
  }
  links();
}

void Asker::memory_errors() {
  for (const auto& [key, type] :
       {std::pair{"ecc_corrected", ecc_corrected}, std::pair{"ecc_uncorrected", ecc_uncorrected}})
    if (unsigned long long count = 0;
        asked("nvmlDeviceGetTotalEccErrors", type, unsigned(ecc_volatile), &count))
      out_[key] = count;
  // Rows since Ampere, pages before.
  unsigned corrected = 0, uncorrected = 0, rows = 0, failed = 0, pages = 0;
  if (asked("nvmlDeviceGetRemappedRows", &corrected, &uncorrected, &rows, &failed))
    out_["retired_pending"] = rows != 0;
  if (asked("nvmlDeviceGetRetiredPagesPendingStatus", &pages))
    out_["retired_pending"] = pages != 0 || out_.value("retired_pending", false);
}

void Asker::clocks() {
  unsigned long long reasons = 0;
  if (asked("nvmlDeviceGetCurrentClocksEventReasons", &reasons) ||
      asked("nvmlDeviceGetCurrentClocksThrottleReasons", &reasons))
    out_["throttle"] = reasons;
  put("sm_clock_MHz", "nvmlDeviceGetClockInfo", unsigned(clock_sm));
  put("max_sm_clock_MHz", "nvmlDeviceGetMaxClockInfo", unsigned(clock_sm));
}

void Asker::links() {
  json links = json::array();
  for (unsigned index = 0; index < max_links; ++index) {
    unsigned state = 0;
    const Return result = call("nvmlDeviceGetNvLinkState", index, &state);
    if (result == function_not_found || gone_) return;  // unknown, which is not the same as none
    if (result == invalid_argument) break;              // past the last one
    if (result == success)
      links.push_back(link(index, state == 1));
    else if (result != not_supported)
      links.push_back({{"index", index}});
  }
  out_["nvlinks"] = std::move(links);
}

json Asker::link(unsigned index, bool up) {
  json link = {{"index", index}, {"up", up}};
  unsigned version = 0, type = 0;
  (void)asked("nvmlDeviceGetNvLinkVersion", index, &version);
  if (const auto known = nvlink_version(version, out_.value("compute_capability", 0)))
    link["version"] = *known;
  if (asked("nvmlDeviceGetNvLinkRemoteDeviceType", index, &type))
    if (type == remote_gpu || type == remote_npu || type == remote_switch)
      link["remote"] = type == remote_gpu ? "gpu" : type == remote_npu ? "cpu" : "nvswitch";
  put_address(link, "remote_pci", {"nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo"},
              index);
  for (unsigned counter = 0; counter < std::size(error_counters); ++counter)
    if (unsigned long long count = 0; asked("nvmlDeviceGetNvLinkErrorCounter", index, counter, &count))
      link["errors"][error_counters[counter]] = count;
  fields(link, index, !link.contains("errors"));
  return link;
}

void Asker::fields(json& link, unsigned index, bool with_errors) {
  std::vector<FieldValue> values;
  const auto want = [&](unsigned field) {
    FieldValue value{};
    value.field = field;
    value.scope = index;
    value.result = not_supported;
    values.push_back(value);
  };
  want(164);  // the speed of the link in the scope, since Hopper
  if (index < 12)
    want(index < 6 ? 84 + index : 126 + index);  // before: one field a link, 84 .. 89, 132 .. 137
  const std::size_t speeds = values.size();
  if (with_errors)
    for (const auto& error : error_fields) want(error.field);
  if (!asked("nvmlDeviceGetFieldValues", int(values.size()), values.data())) return;
  for (std::size_t i = 0; i < speeds; ++i)
    if (const auto speed = number(values[i]); speed && *speed > 0 && !link.contains("speed_MBps"))
      link["speed_MBps"] = *speed;
  for (std::size_t i = speeds; i < values.size(); ++i)
    if (const auto count = number(values[i])) link["errors"][error_fields[i - speeds].name] = *count;
}

void about_system(const Library& library, json& answer) {
  char driver[96] = {};
  if (library.call("nvmlSystemGetDriverVersion", static_cast<char*>(driver), unsigned(sizeof driver - 1)) ==
      success)
    answer["driver"] = printable(driver);
  int cuda = 0;
  if (library.call("nvmlSystemGetCudaDriverVersion_v2", &cuda) == success ||
      library.call("nvmlSystemGetCudaDriverVersion", &cuda) == success)
    answer["cuda"] = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
}

json ask_gpu(const Library& library, Return got, Device device, json gpu, const char* function) {
  if (got == success)
    Asker(library, device, gpu).all();
  else
    gpu["error"] = fmt::format("{} ({})", words(got), function);
  return gpu;
}

// A GPU is attached when its handle is taken, and no sooner: those that sleep are left out by taking handles
// by address. Where none sleeps they are taken by number, which finds those of which no file tells.
json ask_gpus(const Library& library, const NvidiaGpus& known) {
  json gpus = json::array();
  if (known.asleep.empty()) {
    unsigned count = 0;
    if (library.call("nvmlDeviceGetCount_v2", &count) == function_not_found)
      (void)library.call("nvmlDeviceGetCount", &count);
    for (unsigned index = 0; index < std::min(count, max_gpus); ++index) {
      Device device = nullptr;
      constexpr const char* function = "nvmlDeviceGetHandleByIndex_v2";
      const Return got = library.call(function, index, &device);
      gpus.push_back(ask_gpu(library, got, device, {{"index", index}}, function));
    }
    return gpus;
  }
  for (const auto& address : known.awake) {
    Device device = nullptr;
    constexpr const char* function = "nvmlDeviceGetHandleByPciBusId_v2";
    const Return got = library.call(function, address.c_str(), &device);
    if (got == not_found) continue;  // of another driver, or not this container's
    gpus.push_back(ask_gpu(library, got, device, {{"pci", address}}, function));
  }
  for (const auto& address : known.asleep) gpus.push_back({{"pci", address}, {"asleep", true}});
  return gpus;
}

// A file or device of the driver. Without any of them NVML would run nvidia-modprobe to load it.
bool driver_may_be_loaded() {
  for (const char* path : {"/sys/module/nvidia", "/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"})
    if (::access(path, F_OK) == 0) return true;
  return false;
}

}  // namespace

Result<std::string> ask_nvml(const Asking& asking) {
  const char* named = ::secure_getenv("RINGTRUE_NVML");
  const std::string name = named && *named ? named : "libnvidia-ml.so.1";
  if (!named && !asking.root.empty())
    return fail(Cause::unavailable,
                fmt::format("NVML tells of this machine, and the files are those under {}", asking.root), {},
                "name a library that answers for them in RINGTRUE_NVML");
  Files files(asking.root);
  NvidiaGpus known = nvidia_gpus(files);
  if (!named && known.awake.size() + known.asleep.size() > 0 && !driver_may_be_loaded())
    return fail(Cause::unavailable, "no NVIDIA driver: its kernel module is not loaded", {},
                "modprobe nvidia");
  if (asking.wake_gpus) known = {};
  json answer = json::object();
  if (known.awake.empty() && !known.asleep.empty()) {
    for (const auto& address : known.asleep) answer["gpus"].push_back({{"pci", address}, {"asleep", true}});
    return answer.dump();
  }
  const auto library = Library::open(name);
  if (!library) return tl::unexpected(library.error());
  about_system(*library, answer);
  answer["gpus"] = ask_gpus(*library, known);
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace ringtrue::probe
