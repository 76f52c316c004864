// The fabric, as libibnetdisc's answer has it.
#include <algorithm>

#include "formats/format.h"
#include "probe/probe.h"
#include "probe/reading.h"

namespace ringtrue::probe {

using namespace topology;

std::optional<Fabric> probe_fabric(Source& source, Node& node) {
  const bool infiniband = std::any_of(node.nics.begin(), node.nics.end(), [](const Nic& nic) {
    return std::any_of(nic.ports.begin(), nic.ports.end(),
                       [](const Port& port) { return port.layer == LinkLayer::infiniband; });
  });
  const auto text = source.answer("fabric");
  if (!text) {
    // Nobody misses a fabric where there is none, or where it was not asked for.
    if (text.error().cause == Cause::deadline || (infiniband && text.error().cause != Cause::bad_input))
      node.gaps.push_back(gap_of(origin::fabric, "fabric", text.error()));
    return std::nullopt;
  }
  auto fabric = formats::read_ibnetdiscover(*text);
  if (!fabric) {
    node.gaps.push_back(gap_of(origin::fabric, "fabric", fabric.error()));
    return std::nullopt;
  }
  return std::move(*fabric);
}

}  // namespace ringtrue::probe
