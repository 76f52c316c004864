// Forwarding tables and cables together.
#include <algorithm>
#include <map>
#include <set>

#include "formats/forwarding.h"

namespace ringtrue::formats {
namespace {

using topology::Fabric;
using topology::FabricLink;
using topology::Routes;

class Join {
 public:
  Join(const Fabric& fabric, const Forwarding& forwarding) : fabric_(fabric), tables_(forwarding) {}

  Result<Routes> run() {
    if (tables_.switches.empty()) return fail(Cause::bad_input, "no forwarding table");
    name_switches();
    name_hosts();
    for (const FabricLink& link : fabric_.links) add(link);
    for (const FabricLink& link : tables_.links) add(link);
    if (ends_.empty())
      return fail(Cause::bad_input, "the tables name ports, and nobody says which cables are in them", {},
                  "give the output of ibnetdiscover as well");
    find_destinations();
    bool any = false;
    for (const ForwardingTable& table : tables_.switches) {
      const auto at = switches_.find(table.guid);
      if (at != switches_.end()) any = true, fill(at->second, table);
    }
    if (!any)
      return fail(Cause::bad_input, "no table is of a switch that has a cable", {},
                  "are tables and cables of the same fabric?");
    return std::move(out_);
  }

 private:
  // What a switch's port leads to.
  struct End {
    int port = -1;  // a host's
    bool trunk = false;
  };

  void name_switches() {
    for (const ForwardingTable& table : tables_.switches) names_[table.guid] = table.name;
    for (const auto& s : fabric_.switches)
      if (!s.name.empty() || !names_.contains(s.guid)) names_[s.guid] = s.name;
    // Two that are called alike are told apart by their GUIDs.
    std::map<std::string, int> times;
    for (const auto& [guid, name] : names_) ++times[name];
    for (auto& [guid, name] : names_)
      if (name.empty() || times[name] > 1) name = name.empty() ? guid : name + " " + guid;
    for (const auto& [guid, name] : names_) switches_[guid] = out_.add_switch(name);
  }

  void name_hosts() {
    for (const auto& host : fabric_.hosts) {
      if (host.aggregation) aggregation_.insert(host.guid);
      hosts_[host.guid] = host.name;
      if (!host.port_guid.empty()) hosts_.emplace(host.port_guid, host.name);
    }
    for (const auto& d : tables_.destinations)
      if (!d.name.empty()) hosts_.emplace(d.port_guid, d.name);
  }

  void add(const FabricLink& link) {
    const auto a = switches_.find(link.a.guid), b = switches_.find(link.b.guid);
    const auto fits = [](int port) { return port > 0 && port < ForwardingTable::unknown; };
    if (a == switches_.end() || !fits(link.a.port) || aggregation_.contains(link.b.guid)) return;
    if (ends_.contains({a->second, link.a.port})) return;
    if (b == switches_.end()) {
      const std::string name = hosts_.contains(link.b.guid) ? hosts_[link.b.guid] : link.b.guid;
      const auto space = name.find(' ');
      const int port = out_.add_port(
          {name.substr(0, space), space == name.npos ? "" : name.substr(space + 1), a->second, link.a.port});
      ends_[{a->second, link.a.port}] = {port, false};
      by_guid_.emplace(link.b.guid, port);
      by_end_.emplace(std::pair(link.b.guid, link.b.port), port);
      return;
    }
    if (!fits(link.b.port) || ends_.contains({b->second, link.b.port})) return;
    const int there = int(out_.trunks().size());
    out_.add_trunk({a->second, link.a.port, b->second, link.b.port, there + 1});
    out_.add_trunk({b->second, link.b.port, a->second, link.a.port, there});
    ends_[{a->second, link.a.port}] = ends_[{b->second, link.b.port}] = {-1, true};
  }

  // By the word of its port, else by the switch that hands it over, else by its port's GUID; of several LIDs
  // the first is a port's own.
  void find_destinations() {
    std::size_t most = tables_.destinations.size();
    for (const ForwardingTable& table : tables_.switches) most = std::max(most, table.out.size());
    port_of_.assign(most, -1);
    for (std::size_t d = 0; d < tables_.destinations.size(); ++d) {
      const auto known = by_end_.find({tables_.destinations[d].host_guid, tables_.destinations[d].host_port});
      if (known != by_end_.end()) port_of_[d] = known->second;
    }
    std::set<int> told(port_of_.begin(), port_of_.end());
    for (const ForwardingTable& table : tables_.switches) {
      const auto at = switches_.find(table.guid);
      if (at == switches_.end()) continue;
      for (std::size_t d = 0; d < table.out.size(); ++d) {
        if (table.out[d] == 0 || table.out[d] >= ForwardingTable::unknown || port_of_[d] >= 0) continue;
        const auto end = ends_.find({at->second, int(table.out[d])});
        if (end != ends_.end() && end->second.port >= 0 && !told.contains(end->second.port))
          port_of_[d] = end->second.port;
      }
    }
    for (std::size_t d = 0; d < tables_.destinations.size(); ++d) {
      const auto known = by_guid_.find(tables_.destinations[d].port_guid);
      if (port_of_[d] < 0 && known != by_guid_.end() && !told.contains(known->second))
        port_of_[d] = known->second;
    }
    std::set<int> taken;
    for (int& port : port_of_)
      if (port >= 0 && !taken.insert(port).second) port = -1;
  }

  void fill(int at, const ForwardingTable& table) {
    for (std::size_t d = 0; d < table.out.size(); ++d) {
      if (port_of_[d] < 0 || table.out[d] == ForwardingTable::unknown) continue;
      if (table.out[d] == ForwardingTable::none) {
        out_.no_way(at, port_of_[d]);
      } else if (table.out[d] > 0) {
        out_.send(at, port_of_[d], table.out[d]);
      }
    }
  }

  const Fabric& fabric_;
  const Forwarding& tables_;
  Routes out_;
  std::map<std::string, std::string> names_, hosts_;   // by GUID
  std::set<std::string> aggregation_;                  // units within switches
  std::map<std::string, int> switches_;                // by GUID: their numbers
  std::map<std::string, int> by_guid_;                 // ports of hosts
  std::map<std::pair<std::string, int>, int> by_end_;  // the same by adapter and its port
  std::map<std::pair<int, int>, End> ends_;            // by switch and port
  std::vector<int> port_of_;                           // by destination
};

}  // namespace

Result<Routes> routes_of(const Fabric& fabric, const Forwarding& forwarding) {
  return Join(fabric, forwarding).run();
}

}  // namespace ringtrue::formats
