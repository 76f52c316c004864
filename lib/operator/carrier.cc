#include "operator/carrier.h"

#include <algorithm>

namespace ringtrue::ops {

void Carrier::pass(int mtu) {
  if (mtu > 0) path_mtu = path_mtu > 0 ? std::min(path_mtu, mtu) : mtu;
}

void Carrier::add(const std::vector<run::RdmaUse>& uses) {
  for (const run::RdmaUse& use : uses) {
    gids.emplace(use.node, use.gid);
    pass(use.mtu);
  }
}

Carrier carrier_of(const run::RunReport& report,
                   std::map<std::string, std::vector<diagnosis::RdmaPort>> rails) {
  using run::Transport;
  const bool rdma = report.transports == std::vector{Transport::verbs};
  Carrier carrier{rdma ? Transport::verbs : Transport::tcp, {}, {}, 0, report.notes};
  if (rdma) {
    carrier.rails = std::move(rails);
    carrier.add(report.rdma);
  } else if (report.transports != std::vector{Transport::tcp}) {
    carrier.notes.push_back("some hops can use RDMA and others not: all are measured over TCP");
  }
  return carrier;
}

ideal::Efficiency efficiency(const Carrier& carrier) {
  if (carrier.transport != run::Transport::verbs) return *ideal::ethernet_tcp();
  const auto gid = std::find_if(carrier.gids.begin(), carrier.gids.end(),
                                [](const auto& of_node) { return !of_node.second.empty(); });
  const bool ethernet = gid != carrier.gids.end();
  const int mtu = carrier.path_mtu > 0 ? carrier.path_mtu : ethernet ? 1024 : 4096;
  const auto share =
      ethernet ? ideal::roce_v2(mtu, gid->second.find(':') != std::string::npos) : ideal::infiniband(mtu);
  return share ? *share : *(ethernet ? ideal::roce_v2() : ideal::infiniband());
}

std::optional<ideal::Efficiency> efficiency_of(const run::RunReport& run) {
  const bool tcp =
      std::find(run.transports.begin(), run.transports.end(), run::Transport::tcp) != run.transports.end();
  if (!tcp && run.rdma.empty()) return std::nullopt;
  Carrier carrier{tcp ? run::Transport::tcp : run::Transport::verbs, {}, {}, 0, {}};
  carrier.add(run.rdma);
  return efficiency(carrier);
}

}  // namespace ringtrue::ops
