// The answer of hwloc: its XML (version 2) of this machine, or of the files under a root, with all PCI
// devices and bridges.
#include <hwloc.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "probe/library/library.h"
#include "probe/live.h"

namespace ringtrue::probe {
namespace {

// Nothing of the environment may send hwloc elsewhere. Plugins that talk to GPUs, or to an X server, are not
// even loaded: they make contexts and wake devices.
void prepare_environment(const Asking& asking) {
  for (const char* name : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_CPUID_PATH", "HWLOC_THISSYSTEM"})
    ::unsetenv(name);
  // Its x86 component visits every core, busy ones too. Of a root its files alone: all other components would
  // tell of this machine.
  ::setenv("HWLOC_COMPONENTS",
           asking.root.empty() ? "-x86,-cuda,-nvml,-opencl,-gl,-rsmi,-levelzero" : "linux,stop", 1);
  ::setenv("HWLOC_PLUGINS_BLACKLIST",
           "hwloc_cuda.so,hwloc_nvml.so,hwloc_opencl.so,hwloc_gl.so,hwloc_rsmi.so,hwloc_levelzero.so", 1);
  ::setenv("HWLOC_HIDE_ERRORS", "2", 1);
  if (asking.root.empty())
    ::unsetenv("HWLOC_FSROOT");
  else
    ::setenv("HWLOC_FSROOT", asking.root.c_str(), 1);
}

// hwloc reads the configuration space of every function, which resumes those that are suspended.
bool some_device_is_suspended(Source& files) {
  const std::string pci = "/sys/bus/pci/devices/";
  for (const auto& address : files.list("/sys/bus/pci/devices").value_or(std::vector<std::string>())) {
    if (files.read(pci + address + "/power/runtime_status").value_or(std::string()) != "suspended") continue;
    if (!files.read(pci + address + "/class").value_or(std::string()).starts_with("0x06")) return true;
  }
  return false;
}

// What hwloc knows of a root from this machine's uname is not the root's.
void drop_facts_of_this_machine(std::string& xml, Source& files) {
  const std::string kernel = "/proc/sys/kernel/";
  for (const auto& [info, file] : {std::pair{"HostName", "hostname"},
                                   {"OSName", "ostype"},
                                   {"OSRelease", "osrelease"},
                                   {"OSVersion", "version"},
                                   {"Architecture", "arch"}}) {
    if (files.read(kernel + file)) continue;
    const auto at = xml.find(std::string("<info name=\"") + info + '"');
    if (at != xml.npos) xml.erase(at, xml.find("/>", at) + 2 - at);
  }
}

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Result<std::string> failed(const char* what) {
  return fail(Cause::unavailable, std::string("hwloc ") + what + ": " + std::strerror(errno));
}

}  // namespace

Result<std::string> ask_hwloc(const Asking& asking) {
  prepare_environment(asking);
  Files files(asking.root);
  if (!asking.root.empty() && !files.list("/sys/devices/system/cpu"))
    return fail(Cause::unavailable,
                "no processors under " + asking.root + ": /sys/devices/system/cpu is missing");
  const bool with_devices = asking.wake_gpus || !some_device_is_suspended(files);
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return failed("does not start");
  const Topology topology(made, hwloc_topology_destroy);
  hwloc_topology_set_io_types_filter(made,
                                     with_devices ? HWLOC_TYPE_FILTER_KEEP_ALL : HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_flags(made, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(made) != 0) return failed("cannot read this machine");
  char* text = nullptr;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(made, &text, &length, 0) != 0) return failed("cannot write its XML");
  std::string xml(text, length > 0 ? std::size_t(length) - 1 : 0);  // without the 0 at its end
  hwloc_free_xmlbuffer(made, text);
  if (!asking.root.empty()) drop_facts_of_this_machine(xml, files);
  return xml;
}

}  // namespace ringtrue::probe
