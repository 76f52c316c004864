// An NVML that answers from the JSON file named in RINGTRUE_FAKE_NVML:
//
//   {"init": code, "driver": "535.104.05", "cuda": 12020, "hang": FUNCTION, "log": FILE,
//    "gpus": [{"pci": "0000:3b:00.0", "handle": code, "error": code, "errors": {FUNCTION: code},
//              "name", "uuid", "serial", "vbios": text, "memory", "compute_capability", "persistence", "mig",
//              "ecc", "ecc_corrected", "ecc_uncorrected", "rows_pending", "pages_pending", "throttle",
//              "performance_state", "utilization", "sm_clock", "max_sm_clock", "temperature", "processes",
//              "links": [{"state", "version", "remote": type, "remote_pci", "errors": [5 counts],
//                         "fields": {"164": value}} or null for a link that the board does not have]}],
//    "later": [JSON patch], applied from the second nvmlInit of this file on}
//
// A key that is missing is "not supported"; "log" gets a line for each call on a GPU.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "probe/library/nvml_library.h"

using namespace ringtrue::probe::nvml;
using nlohmann::json;

namespace {

json machine;

void load() {
  const std::string path = std::getenv("RINGTRUE_FAKE_NVML");
  machine = json::parse(std::ifstream(path));
  if (!machine.contains("later")) return;
  const std::string marker = path + ".second";
  if (std::ifstream(marker).good()) machine = machine.patch(json(machine["later"]));
  std::ofstream(marker).put('\n');
}

void hang_in(const char* function) {
  while (machine.value("hang", "") == function) ::pause();
}

json& gpu_of(Device device) {
  return machine["gpus"][reinterpret_cast<std::size_t>(device) - 1];
}

Return enter(const char* function, Device device) {
  hang_in(function);
  const json& gpu = gpu_of(device);
  if (machine.contains("log"))
    std::ofstream(machine["log"].get<std::string>(), std::ios::app)
        << function << ' ' << gpu.value("pci", "") << '\n';
  if (gpu.contains("errors") && gpu["errors"].contains(function)) return Return(gpu["errors"][function]);
  return Return(gpu.value("error", 0u));
}

template <class T>
Return give(const char* function, Device device, const char* key, T* value) {
  if (const Return result = enter(function, device); result != success) return result;
  const json& gpu = gpu_of(device);
  if (!gpu.contains(key)) return not_supported;
  *value = gpu[key].get<T>();
  return success;
}

Return give_text(const char* function, Device device, const char* key, char* text, unsigned length) {
  std::string value;
  if (const Return result = give(function, device, key, &value); result != success) return result;
  if (value.size() >= length) return insufficient_size;
  std::memcpy(text, value.c_str(), value.size() + 1);
  return success;
}

void fill(PciInfo& info, const std::string& address) {
  info = PciInfo{};
  std::sscanf(address.c_str(), "%x:%x:%x", &info.domain, &info.bus, &info.device);
  std::snprintf(info.bus_id, sizeof info.bus_id, "%08X:%02X:%02X.0", info.domain, info.bus, info.device);
  std::snprintf(info.bus_id_legacy, sizeof info.bus_id_legacy, "%04X:%02X:%02X.0", info.domain & 0xffff,
                info.bus, info.device);
}

Return link_of(const char* function, Device device, unsigned index, const json*& link) {
  if (const Return result = enter(function, device); result != success) return result;
  const json& gpu = gpu_of(device);
  if (!gpu.contains("links")) return not_supported;
  if (index >= gpu["links"].size()) return invalid_argument;
  link = &gpu["links"][index];
  return link->is_null() ? not_supported : success;
}

Return give_of_link(const char* function, Device device, unsigned index, const char* key, unsigned* value) {
  const json* link = nullptr;
  if (const Return result = link_of(function, device, index, link); result != success) return result;
  if (!link->contains(key)) return not_supported;
  *value = (*link)[key];
  return success;
}

Return handle_of(std::size_t index, Device* device) {
  *device = reinterpret_cast<Device>(index + 1);
  return Return(gpu_of(*device).value("handle", 0u));
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
  load();
  hang_in("nvmlInit_v2");
  return Return(machine.value("init", 0u));
}
Return nvmlShutdown() {
  return success;
}
Return nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, machine.value("driver", "").c_str(), length);
  return success;
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
  hang_in("nvmlDeviceGetCount_v2");
  *count = unsigned(machine["gpus"].size());
  return success;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  return handle_of(index, device);
}
Return nvmlDeviceGetHandleByPciBusId_v2(const char* address, Device* device) {
  for (std::size_t i = 0; i < machine["gpus"].size(); ++i)
    if (machine["gpus"][i].value("pci", "") == address) return handle_of(i, device);
  return not_found;
}
Return nvmlDeviceGetIndex(Device device, unsigned* index) {
  *index = unsigned(reinterpret_cast<std::size_t>(device) - 1);
  return enter(__func__, device);
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  std::string address;
  const Return result = give(__func__, device, "pci", &address);
  if (result == success) fill(*info, address);
  return result;
}
Return nvmlDeviceGetName(Device device, char* text, unsigned length) {
  return give_text(__func__, device, "name", text, length);
}
Return nvmlDeviceGetUUID(Device device, char* text, unsigned length) {
  return give_text(__func__, device, "uuid", text, length);
}
Return nvmlDeviceGetSerial(Device device, char* text, unsigned length) {
  return give_text(__func__, device, "serial", text, length);
}
Return nvmlDeviceGetVbiosVersion(Device device, char* text, unsigned length) {
  return give_text(__func__, device, "vbios", text, length);
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  return give(__func__, device, "memory", &memory->total);
}
Return nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  int both = 0;
  const Return result = give(__func__, device, "compute_capability", &both);
  *major = both / 10;
  *minor = both % 10;
  return result;
}
Return nvmlDeviceGetPersistenceMode(Device device, unsigned* mode) {
  return give(__func__, device, "persistence", mode);
}
Return nvmlDeviceGetEccMode(Device device, unsigned* now, unsigned* pending) {
  *pending = 0;
  return give(__func__, device, "ecc", now);
}
Return nvmlDeviceGetTotalEccErrors(Device device, unsigned type, unsigned, unsigned long long* count) {
  return give(__func__, device, type == ecc_corrected ? "ecc_corrected" : "ecc_uncorrected", count);
}
Return nvmlDeviceGetRetiredPagesPendingStatus(Device device, unsigned* pending) {
  return give(__func__, device, "pages_pending", pending);
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return give(__func__, device, "throttle", reasons);
}
Return nvmlDeviceGetPerformanceState(Device device, unsigned* state) {
  return give(__func__, device, "performance_state", state);
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* use) {
  return give(__func__, device, "utilization", &use->gpu);
}
Return nvmlDeviceGetClockInfo(Device device, unsigned, unsigned* clock) {
  return give(__func__, device, "sm_clock", clock);
}
Return nvmlDeviceGetMaxClockInfo(Device device, unsigned, unsigned* clock) {
  return give(__func__, device, "max_sm_clock", clock);
}
Return nvmlDeviceGetTemperature(Device device, unsigned, unsigned* degrees) {
  return give(__func__, device, "temperature", degrees);
}
Return nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* state) {
  return give_of_link(__func__, device, link, "state", state);
}
Return nvmlDeviceGetNvLinkVersion(Device device, unsigned link, unsigned* version) {
  return give_of_link(__func__, device, link, "version", version);
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned index, PciInfo* info) {
  const json* link = nullptr;
  if (const Return result = link_of(__func__, device, index, link); result != success) return result;
  if (!link->contains("remote_pci")) return not_supported;
  fill(*info, (*link)["remote_pci"]);
  return success;
}
Return nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned index, unsigned counter,
                                       unsigned long long* count) {
  const json* link = nullptr;
  if (const Return result = link_of(__func__, device, index, link); result != success) return result;
  if (!link->contains("errors")) return not_supported;
  *count = (*link)["errors"].at(counter);
  return success;
}

#ifdef OLD_DRIVER
Return nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, void*) {
#else
Return nvmlInitWithFlags(unsigned) {
  return nvmlInit_v2();
}
Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = machine.value("cuda", 0);
  return success;
}
Return nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* pending) {
  *pending = 0;
  return give(__func__, device, "mig", now);
}
Return nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                                 unsigned* failed) {
  *corrected = *uncorrected = *failed = 0;
  return give(__func__, device, "rows_pending", pending);
}
Return nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, unsigned* type) {
  return give_of_link(__func__, device, link, "remote", type);
}
Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  if (const Return result = enter(__func__, device); result != success) return result;
  for (FieldValue& value : std::span(values, std::size_t(count))) {
    const json* link = nullptr;
    const std::string key = std::to_string(value.field);
    value.result = link_of(__func__, device, value.scope, link);
    if (value.result != success) continue;
    value.result = link->contains("fields") && (*link)["fields"].contains(key) ? success : not_supported;
    if (value.result != success) continue;
    value.type = 3;
    value.value.ull = (*link)["fields"][key];
  }
  return success;
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, void*) {
#endif
  const unsigned room = *count;
  const Return result = give(__func__, device, "processes", count);
  return result == success && *count > room ? insufficient_size : result;
}
}
