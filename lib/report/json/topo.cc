#include <fmt/format.h>

#include <algorithm>

#include "report/json/json.h"
#include "report/json/value.h"
#include "report/topo/topo.h"
#include "topology/json.h"

namespace ringtrue::report {
namespace {

bool has(const auto& devices, const std::string& name) {
  return std::any_of(devices.begin(), devices.end(), [&](const auto& d) { return d.name == name; });
}

// What every way has, behind its two ends.
Json way_value(Json row, const topology::Path& path) {
  const bool known = path.narrowest_link >= 0 && std::size_t(path.narrowest_link) < path.links.size();
  row["kind"] = path.text();
  row["narrowest_Bps"] = maybe(path.narrowest);
  row["narrowest_link"] = known ? Json(path.links[std::size_t(path.narrowest_link)].name) : Json(nullptr);
  row["all_known"] = path.all_known;
  return row;
}

}  // namespace

void write_json(const ops::TopoDocument& document, const Write& write) {
  // The model writes itself; what is known beyond it goes before its last brace.
  std::string model = topology::to_json(document.cluster);
  model.resize(model.find_last_of('}'));
  while (!model.empty() && (model.back() == '\n' || model.back() == ' ')) model.pop_back();
  write(model);

  Rows findings(write, ",\n  \"findings\": [");
  for (const diagnosis::Finding& f : document.inspection.findings) findings.add(finding_value(f));
  findings.end();
  Rows not_checked(write, ",\n  \"not_checked\": [");
  for (const diagnosis::NotChecked& n : document.inspection.not_checked)
    not_checked.add(not_checked_value(n));
  for (const topology::Node& node : document.cluster.nodes)
    if (const auto count = devices_of(node).size(); count > max_devices_with_paths)
      not_checked.add({{"what", "paths: " + node.name},
                       {"why", fmt::format("{} GPUs and NICs: paths are shown of up to {}", count,
                                           max_devices_with_paths)}});
  not_checked.end();

  Ways ways;
  Rows affinity(write, ",\n  \"affinity\": [");
  for (const topology::Node& node : document.cluster.nodes)
    for (const Way& way : ways.of(node)) {
      if (!has(node.gpus, way.from) || has(node.gpus, way.to)) continue;
      affinity.add(way_value({{"node", node.name}, {"gpu", way.from}, {"nic", way.to}}, way.path));
    }
  affinity.end();
  Rows paths(write, ",\n  \"paths\": [");
  for (const topology::Node& node : document.cluster.nodes)
    for (const Way& way : ways.of(node))
      paths.add(way_value({{"node", node.name}, {"from", way.from}, {"to", way.to}}, way.path));
  paths.end();
  write(",\n  \"error\": " +
        maybe_error(document.error).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n}\n");
}

std::string json(const ops::GatherDocument& document) {
  const auto bundle = [](const ops::BundleRow& b) -> Json {
    return {{"node", b.node},       {"file", b.file},     {"bytes", b.bytes},       {"files", b.files},
            {"answers", b.answers}, {"errors", b.errors}, {"window_s", b.window_s}, {"redacted", b.redacted}};
  };
  return dump({{"schema", "ringtrue.gather/1"},
               {"bundles", array(document.bundles, bundle)},
               {"error", maybe_error(document.error)}});
}

}  // namespace ringtrue::report
