// Every field of the model, once: its key in JSON, its unit, and where it is (base/fields.h). Private to
// lib/topology. Units are those of facts.
#pragma once

#include "base/fields.h"
#include "run/fields.h"
#include "topology/links.h"
#include "topology/model.h"

namespace ringtrue::topology {

// What a document may hold: of empty entries, a few hundred KiB would stand for gigabytes, and views of paths
// grow with the square of the devices. Several times what any machine has.
inline constexpr std::size_t max_nodes = 16'384, max_gpus = 256, max_nics = 1024, max_nvlinks = 256,
                             max_functions = 256, max_gids = 1024, max_numa = 1024, max_caches = 256,
                             max_pci = 16'384, max_gaps = 4096, max_fabric = 65'536,
                             max_fabric_links = 1 << 20;

template <class V, Is<PciLink>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("speed", "GT/s", speed_GTps);
  RINGTRUE_FIELD("width", "lanes", width);
  RINGTRUE_FIELD("max_speed", "GT/s", max_speed_GTps);
  RINGTRUE_FIELD("max_width", "lanes", max_width);
  RINGTRUE_FIELD("rate", "B/s", rate);
}

template <class V, Is<PciDevice>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("address", "", address);
  RINGTRUE_FIELD("parent", "", parent);
  RINGTRUE_FIELD("root", "", root);
  RINGTRUE_FIELD("kind", "", kind);
  RINGTRUE_FIELD("class", "", device_class);
  RINGTRUE_FIELD("vendor", "", vendor);
  RINGTRUE_FIELD("device", "", device);
  RINGTRUE_FIELD("subsystem_vendor", "", subsystem_vendor);
  RINGTRUE_FIELD("subsystem_device", "", subsystem_device);
  RINGTRUE_FIELD("name", "", name);
  RINGTRUE_FIELD("numa", "", numa);
  RINGTRUE_FIELD("link", "", link);
  RINGTRUE_FIELD("physical_function", "", physical_function);
  RINGTRUE_FIELD("virtual_function", "", virtual_function);
  RINGTRUE_FIELD("driver", "", driver);
  RINGTRUE_FIELD("power", "", power);
  RINGTRUE_FIELD("acs_redirect", "", acs_redirect);
  RINGTRUE_FIELD("iommu_group", "", iommu_group);
}

template <class V, Is<NvLink>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("index", "", index);
  RINGTRUE_FIELD("up", "", up);
  RINGTRUE_FIELD("version", "", version);
  RINGTRUE_FIELD("rate", "B/s", rate);
  RINGTRUE_FIELD("remote", "", remote);
  RINGTRUE_FIELD("remote_address", "", remote_address);
  RINGTRUE_FIELD("errors", "", errors);
}

template <class V, Is<Gpu>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("name", "", name);
  RINGTRUE_FIELD("address", "", address);
  RINGTRUE_FIELD("model", "", model);
  RINGTRUE_FIELD("uuid", "", uuid);
  RINGTRUE_FIELD("serial", "", serial);
  RINGTRUE_FIELD("vbios", "", vbios);
  RINGTRUE_FIELD("memory", "bytes", memory);
  RINGTRUE_FIELD("compute_capability", "", compute_capability);
  RINGTRUE_FIELD("nvlinks", at_most(max_nvlinks), nvlinks);
  RINGTRUE_FIELD("persistence", "", persistence);
  RINGTRUE_FIELD("mig", "", mig);
  RINGTRUE_FIELD("ecc", "", ecc);
  RINGTRUE_FIELD("ecc_corrected", "errors", ecc_corrected);
  RINGTRUE_FIELD("ecc_uncorrected", "errors", ecc_uncorrected);
  RINGTRUE_FIELD("retired_pending", "", retired_pending);
  RINGTRUE_FIELD("throttle", "bits", throttle);
  RINGTRUE_FIELD("performance_state", "", performance_state);
  RINGTRUE_FIELD("utilization", "percent", utilization);
  RINGTRUE_FIELD("sm_clock", "MHz", sm_clock_MHz);
  RINGTRUE_FIELD("max_sm_clock", "MHz", max_sm_clock_MHz);
  RINGTRUE_FIELD("temperature", "C", temperature_C);
  RINGTRUE_FIELD("processes", "processes", processes);
  RINGTRUE_FIELD("gdr", "", gdr);
  RINGTRUE_FIELD("c2c", "", c2c);
}

template <class V, Is<NvSwitch>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("name", "", name);
  RINGTRUE_FIELD("address", "", address);
}

template <class V, Is<Port>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("number", "", number);
  RINGTRUE_FIELD("layer", "", layer);
  RINGTRUE_FIELD("state", "", state);
  RINGTRUE_FIELD("physical_state", "", physical_state);
  RINGTRUE_FIELD("rate", "B/s", rate);
  RINGTRUE_FIELD("max_rate", "B/s", max_rate);
  RINGTRUE_FIELD("speed", "", speed);
  RINGTRUE_FIELD("width", "lanes", width);
  RINGTRUE_FIELD("max_width", "lanes", max_width);
  RINGTRUE_FIELD("mtu", "bytes", mtu);
  RINGTRUE_FIELD("max_mtu", "bytes", max_mtu);
  RINGTRUE_FIELD("lid", "", lid);
  RINGTRUE_FIELD("guid", "", guid);
  RINGTRUE_FIELD("gids", at_most(max_gids), gids);
  RINGTRUE_FIELD("pause_rx", "", pause_rx);
  RINGTRUE_FIELD("pause_tx", "", pause_tx);
  RINGTRUE_FIELD("peer", "", peer);
}

template <class V, Is<Nic>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("name", "", name);
  RINGTRUE_FIELD("address", "", address);
  RINGTRUE_FIELD("rdma", "", rdma);
  RINGTRUE_FIELD("netdevs", at_most(max_functions), netdevs);
  RINGTRUE_FIELD("virtual", "", virtual_device);
  RINGTRUE_FIELD("driver", "", driver);
  RINGTRUE_FIELD("firmware", "", firmware);
  RINGTRUE_FIELD("model", "", model);
  RINGTRUE_FIELD("guid", "", guid);
  RINGTRUE_FIELD("gdr", "", gdr);
  RINGTRUE_FIELD("ports", at_most(max_functions), ports);
}

template <class V, Is<NumaNode>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("number", "", number);
  RINGTRUE_FIELD("package", "", package);
  RINGTRUE_FIELD("memory", "bytes", memory);
  RINGTRUE_FIELD("processors", "threads", processors);
  RINGTRUE_FIELD("cpus", "", cpus);
}

template <class V, Is<Cache>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("kind", "", kind);
  RINGTRUE_FIELD("count", "", count);
  RINGTRUE_FIELD("size", "bytes", size);
}

template <class V, Is<Processors>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("model", "", model);
  RINGTRUE_FIELD("vendor", "", vendor);
  RINGTRUE_FIELD("architecture", "", architecture);
  RINGTRUE_FIELD("packages", "packages", packages);
  RINGTRUE_FIELD("cores", "cores", cores);
  RINGTRUE_FIELD("threads", "threads", threads);
  RINGTRUE_FIELD("numa", at_most(max_numa), numa);
  RINGTRUE_FIELD("caches", at_most(max_caches), caches);
}

template <class V, Is<System>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("hostname", "", hostname);
  RINGTRUE_FIELD("kernel", "", kernel);
  RINGTRUE_FIELD("distribution", "", distribution);
  RINGTRUE_FIELD("board", "", board);
  RINGTRUE_FIELD("iommu", "", iommu);
  RINGTRUE_FIELD("nvidia_peermem", "", nvidia_peermem);
  RINGTRUE_FIELD("dmabuf", "", dmabuf);
  RINGTRUE_FIELD("nvidia_driver", "", nvidia_driver);
  RINGTRUE_FIELD("cuda", "", cuda);
  RINGTRUE_FIELD("open_kernel_module", "", open_kernel_module);
  RINGTRUE_FIELD("memlock", "bytes", memlock);
  RINGTRUE_FIELD("governor", "", governor);
  RINGTRUE_FIELD("hugepages", "pages", hugepages);
  RINGTRUE_FIELD("rdma_core", "", rdma_core);
}

template <class V, Is<Gap>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("source", "", source);
  RINGTRUE_FIELD("what", "", what);
  RINGTRUE_FIELD("why", "", why);
}

template <class V, Is<FabricPort>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("guid", "", guid);
  RINGTRUE_FIELD("port", "", port);
}

template <class V, Is<FabricLink>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("a", "", a);
  RINGTRUE_FIELD("b", "", b);
  RINGTRUE_FIELD("speed", "", speed);
  RINGTRUE_FIELD("width", "lanes", width);
  RINGTRUE_FIELD("rate", "B/s", rate);
  RINGTRUE_FIELD("max_rate", "B/s", max_rate);
}

template <class V, Is<FabricSwitch>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("guid", "", guid);
  RINGTRUE_FIELD("name", "", name);
  RINGTRUE_FIELD("ports", "", ports);
  RINGTRUE_FIELD("lid", "", lid);
}

template <class V, Is<FabricHost>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("guid", "", guid);
  RINGTRUE_FIELD("name", "", name);
  RINGTRUE_FIELD("port_guid", "", port_guid);
  RINGTRUE_FIELD("aggregation", "", aggregation);
}

template <class V, Is<Fabric>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("switches", at_most(max_fabric), switches);
  RINGTRUE_FIELD("hosts", at_most(max_fabric), hosts);
  RINGTRUE_FIELD("links", at_most(max_fabric_links), links);
}

template <class V, Is<Node>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("name", "", name);
  RINGTRUE_FIELD("recorded", "", recorded);
  RINGTRUE_FIELD("system", "", system);
  RINGTRUE_FIELD("processors", "", processors);
  RINGTRUE_FIELD("gpus", at_most(max_gpus), gpus);
  RINGTRUE_FIELD("nvswitches", at_most(max_gpus), nvswitches);
  RINGTRUE_FIELD("nics", at_most(max_nics), nics);
  RINGTRUE_FIELD("pci", at_most(max_pci), pci);
  RINGTRUE_FIELD("counters", at_most(max_pci), counters);
  RINGTRUE_FIELD("window", "", window);
  RINGTRUE_FIELD("gaps", at_most(max_gaps), gaps);
}

template <class V, Is<Cluster>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("nodes", at_most(max_nodes), nodes);
  RINGTRUE_FIELD("fabric", "", fabric);
}

// Written for readers, and worked out again when read (links.h).
template <class V, Is<Link>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("kind", "", kind);
  RINGTRUE_FIELD("from", "", from);
  RINGTRUE_FIELD("to", "", to);
  RINGTRUE_FIELD("count", "", count);
  RINGTRUE_FIELD("rate", "B/s", rate);
  RINGTRUE_FIELD("max_rate", "B/s", max_rate);
  RINGTRUE_FIELD("text", "", text);
  RINGTRUE_FIELD("up", "", up);
}

template <class V, Is<Counts>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("nodes", "", nodes);
  RINGTRUE_FIELD("gpus", "", gpus);
  RINGTRUE_FIELD("nics", "", nics);
  RINGTRUE_FIELD("virtual_nics", "", virtual_nics);
  RINGTRUE_FIELD("ports", "", ports);
  RINGTRUE_FIELD("nvlinks", "", nvlinks);
  RINGTRUE_FIELD("nvlinks_up", "", nvlinks_up);
  RINGTRUE_FIELD("nvswitches", "", nvswitches);
  RINGTRUE_FIELD("pcie_switches", "", pcie_switches);
  RINGTRUE_FIELD("fabric_switches", "", fabric_switches);
  RINGTRUE_FIELD("fabric_hosts", "", fabric_hosts);
  RINGTRUE_FIELD("trunks", "", trunks);
}

template <class T>
inline constexpr bool is_fact = false;
template <class T>
inline constexpr bool is_fact<Fact<T>> = true;

}  // namespace ringtrue::topology

namespace ringtrue {

template <>
inline constexpr const char* keys_of<topology::PciKind>[] = {
    "unknown", "root_port", "switch_upstream", "switch_downstream", "bridge", "endpoint"};
template <>
inline constexpr const char* keys_of<topology::Remote>[] = {"unknown", "gpu", "nvswitch", "cpu"};
template <>
inline constexpr const char* keys_of<topology::LinkLayer>[] = {"unknown", "infiniband", "ethernet"};

}  // namespace ringtrue
