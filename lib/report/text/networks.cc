#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/hostlist.h"
#include "report/text/text.h"

namespace ringtrue::report {

constexpr int longest_packet = 65535;  // of IP, whatever an interface takes

std::string networks_text(const std::vector<run::Network>& networks) {
  std::map<std::tuple<std::string, double, int, int>, std::vector<const run::Network*>> alike;
  for (const run::Network& n : networks) alike[{n.interface, n.rate.value, n.mtu, n.path_mtu}].push_back(&n);
  std::string out;
  for (const auto& [what, of] : alike) {
    const run::Network& first = *of.front();
    std::vector<std::string> nodes;
    for (const run::Network* n : of) nodes.push_back(n->node);
    const bool one = of.back()->address == first.address;
    const double bits = first.rate.value * 8;
    const std::string rate = bits <= 0     ? "link rate unknown"
                             : bits >= 1e9 ? fmt::format("{:g} Gbit/s", bits / 1e9)
                                           : fmt::format("{:g} Mbit/s", bits / 1e6);
    out += fmt::format("network: {} of {} ({}{}{}), {}, MTU {}", first.interface, fold_hostlist(nodes),
                       first.address,
                       one              ? ""
                       : of.size() == 2 ? ", "
                                        : " ... ",
                       one ? "" : of.back()->address, rate, first.mtu);
    if (first.path_mtu > 0 && first.path_mtu < std::min(first.mtu, longest_packet))
      out += fmt::format(", of which the way to a peer takes {}", first.path_mtu);
    out += "\n";
  }
  return out;
}

}  // namespace ringtrue::report
