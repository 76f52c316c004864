#include "report/json/json.h"

#include "report/json/value.h"

namespace ringtrue::report {

Json error_value(const ops::Trouble& trouble) {
  Json failures = Json::array();
  for (const ops::Failure& f : trouble.failures) {
    failures.push_back({{"node", f.node},
                        {"phase", key_of(f.phase)},
                        {"cause", key_of(f.error.cause)},
                        {"what", f.error.what},
                        {"next", text_or_null(f.error.next)},
                        {"culprit", f.culprit}});
  }
  const Subject& where = trouble.error.where;
  return {{"cause", key_of(trouble.error.cause)},
          {"what", trouble.error.what},
          {"where", text_or_null(where.text())},
          {"node", text_or_null(where.node)},
          {"device", text_or_null(where.device)},
          {"rank", where.rank < 0 ? Json(nullptr) : Json(where.rank)},
          {"phase", text_or_null(key_of(where.phase))},
          {"next", text_or_null(trouble.error.next)},
          {"failures", failures}};
}

Json maybe_deadlines(const std::optional<ops::Deadlines>& deadlines) {
  if (!deadlines) return nullptr;
  return {{"phase_s", deadlines->phase_s}, {"run_s", deadlines->run_s}};
}

Json maybe_error(const std::optional<ops::Trouble>& trouble) {
  return trouble ? error_value(*trouble) : Json(nullptr);
}

std::string dump(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json(const ops::Trouble& trouble, const std::string& command) {
  const std::string name = command.empty() ? "error" : command;
  return dump({{"schema", "ringtrue." + name + "/1"}, {"error", error_value(trouble)}});
}

std::string json(const ops::NodesDocument& document) {
  Json nodes = Json::array();
  for (const fleet::NodeState& node : document.nodes) {
    nodes.push_back({{"node", node.node},
                     {"reachable", node.reachable},
                     {"version", text_or_null(node.version)},
                     {"lease", text_or_null(node.lease)},
                     {"cause", text_or_null(node.cause)}});
  }
  return dump({{"schema", "ringtrue.nodes/1"}, {"nodes", nodes}, {"error", maybe_error(document.error)}});
}

std::string json(const ops::ConfigDocument& document) {
  Json settings = Json::array();
  for (const config::Given& row : document.settings) {
    settings.push_back({{"key", row.key}, {"value", text_or_null(row.text)}, {"origin", row.origin}});
  }
  return dump({{"schema", "ringtrue.config/1"}, {"settings", settings}});
}

std::string json(const ops::PkiDocument& document) {
  Json certificates = Json::array();
  for (const pki::Issued& row : document.certificates) {
    certificates.push_back({{"name", row.name}, {"folder", row.folder}, {"until", row.until}});
  }
  return dump({{"schema", "ringtrue.pki/1"}, {"certificates", certificates}});
}

}  // namespace ringtrue::report
