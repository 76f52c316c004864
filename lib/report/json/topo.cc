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

// An array of many rows, one a line.
class Rows {
 public:
  explicit Rows(const Write& write) : write_(write) {}
  void add(const Json& row) {
    write_((first_ ? "\n    " : ",\n    ") + row.dump(-1, ' ', false, Json::error_handler_t::replace));
    first_ = false;
  }
  void end() { write_(first_ ? "]" : "\n  ]"); }

 private:
  const Write& write_;
  bool first_ = true;
};

}  // namespace

void write_json(const ops::TopoDocument& document, const Write& write) {
  // The model writes itself; what is known beyond it goes before its last brace.
  std::string model = topology::to_json(document.cluster);
  model.resize(model.find_last_of('}'));
  while (!model.empty() && (model.back() == '\n' || model.back() == ' ')) model.pop_back();
  write(model);

  write(",\n  \"findings\": [");
  Rows findings(write);
  for (const diagnosis::Finding& f : document.inspection.findings) findings.add(finding_value(f));
  findings.end();
  write(",\n  \"not_checked\": [");
  Rows not_checked(write);
  for (const diagnosis::NotChecked& n : document.inspection.not_checked)
    not_checked.add(not_checked_value(n));
  for (const topology::Node& node : document.cluster.nodes)
    if (const auto count = devices_of(node).size(); count > most_devices_with_paths)
      not_checked.add({{"what", "paths: " + node.name},
                       {"why", fmt::format("{} GPUs and NICs: paths are shown of up to {}", count,
                                           most_devices_with_paths)}});
  not_checked.end();

  Ways ways;
  write(",\n  \"affinity\": [");
  Rows affinity(write);
  for (const topology::Node& node : document.cluster.nodes)
    for (const Way& way : ways.of(node)) {
      if (!has(node.gpus, way.from) || has(node.gpus, way.to)) continue;
      affinity.add(way_value({{"node", node.name}, {"gpu", way.from}, {"nic", way.to}}, way.path));
    }
  affinity.end();
  write(",\n  \"paths\": [");
  Rows paths(write);
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
