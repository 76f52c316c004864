#include "probe/own_network.h"

#include <net/if.h>

#include <set>
#include <string>

namespace ringtrue::probe {
namespace {

std::set<std::string> own_interfaces() {
  std::set<std::string> names;
  struct if_nameindex* all = ::if_nameindex();
  for (const struct if_nameindex* i = all; i && i->if_index != 0; ++i) names.insert(i->if_name);
  if (all) ::if_freenameindex(all);
  return names;
}

}  // namespace

bool sees_own_network(Source& source) {
  auto listed = source.list("/sys/class/net");
  if (!listed) return false;
  std::set<std::string> seen(listed->begin(), listed->end());
  seen.erase("bonding_masters");  // a file among the folders
  return seen == own_interfaces();
}

}  // namespace ringtrue::probe
