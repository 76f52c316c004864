#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

using topology::Routes;

const char* key_of_way(Routes::Way way) {
  return way == Routes::Way::known ? "known" : way == Routes::Way::none ? "none" : "unknown";
}

}  // namespace

void write_json(const ops::RoutesDocument& document, const Write& write) {
  const Routes& routes = document.routes;
  const topology::RouteUse& use = document.use;
  const Json counts = {{"switches", routes.switches()},
                       {"ports", routes.ports().size()},
                       {"trunks", routes.trunks().size()},
                       {"pairs", use.pairs},
                       {"known", use.known},
                       {"unknown", use.unknown},
                       {"none", use.none},
                       {"unused", use.unused.size()},
                       {"crowded", use.crowded.size()},
                       {"asymmetric", maybe(use.asymmetric)},
                       {"asymmetric_unlike", maybe(use.unlike)}};
  write("{\n  \"schema\": \"ringtrue.routes/1\",\n  \"counts\": " + counts.dump());
  const auto port_value = [&](int number) -> Json {
    const topology::RoutedPort& p = routes.ports()[std::size_t(number)];
    return {{"node", p.node},
            {"device", text_or_null(p.device)},
            {"switch", routes.name(p.at)},
            {"switch_port", p.number}};
  };
  Rows ports(write, ",\n  \"ports\": [");
  for (std::size_t i = 0; i < routes.ports().size(); ++i) ports.add(port_value(int(i)));
  ports.end();
  std::vector<char> unused(routes.trunks().size()), crowded(unused);
  for (const int t : use.unused) unused[std::size_t(t)] = 1;
  for (const int t : use.crowded) crowded[std::size_t(t)] = 1;
  const auto end_of = [&](int s, int port) -> Json { return {{"switch", routes.name(s)}, {"port", port}}; };
  Rows trunks(write, ",\n  \"trunks\": [");
  for (std::size_t i = 0; i < routes.trunks().size(); ++i) {
    const topology::Trunk& t = routes.trunks()[i];
    trunks.add({{"from", end_of(t.from, t.from_port)},
                {"to", end_of(t.to, t.to_port)},
                {"pairs", use.by_trunk[i]},
                {"unused", bool(unused[i])},
                {"crowded", bool(crowded[i])}});
  }
  trunks.end();
  Rows paths(write, ",\n  \"paths\": [");
  std::vector<int> way;
  for (const auto& [from, to] : document.between) {
    const Routes::Way known = routes.way(from, to, way);
    Json hops = Json::array();
    for (const int t : way) {
      const topology::Trunk& trunk = routes.trunks()[std::size_t(t)];
      hops.push_back(
          {{"from", end_of(trunk.from, trunk.from_port)}, {"to", end_of(trunk.to, trunk.to_port)}});
    }
    paths.add(
        {{"from", port_value(from)}, {"to", port_value(to)}, {"way", key_of_way(known)}, {"trunks", hops}});
  }
  paths.end();
  write(",\n  \"notes\": " + Json(document.notes).dump(-1, ' ', false, Json::error_handler_t::replace) +
        ",\n  \"error\": null\n}\n");
}

}  // namespace ringtrue::report
