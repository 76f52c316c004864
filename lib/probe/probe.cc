#include "probe/probe.h"

#include "topology/merge.h"

namespace ringtrue::probe {

using namespace topology;

Node probe(Source& source) {
  Node node;
  probe_pci(source, node);
  probe_rdma(source, node);
  probe_netlink(source, node);
  probe_hwloc(source, node);
  probe_nvml(source, node);
  probe_system(source, node);
  node.name = node.system.hostname.value_or("");
  node.counters = probe_counters(source, node);
  return node;
}

Node probe(const Recording& recording) {
  RecordedSource now(recording);
  Node node = probe(now);
  if (!recording.node.empty()) node.name = recording.node;
  if (recording.window_s > 0) {
    RecordedSource later(recording, true);
    node.window = difference(node.counters, probe_counters(later, node), recording.window_s);
  }
  return node;
}

Cluster probe_cluster(const Recording& recording) {
  Cluster cluster;
  cluster.nodes.push_back(probe(recording));
  RecordedSource source(recording);
  cluster.fabric = probe_fabric(source, cluster.nodes.front());
  return cluster;
}

}  // namespace ringtrue::probe
