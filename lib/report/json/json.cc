#include "report/json/json.h"

#include "report/json/value.h"
#include "report/text/text.h"

namespace ringtrue::report {

Json error_value(const ops::Trouble& trouble) {
  const auto failure = [](const ops::Failure& f) -> Json {
    return {{"node", f.node},       {"phase", key_of(f.phase)},           {"cause", key_of(f.error.cause)},
            {"what", f.error.what}, {"next", text_or_null(f.error.next)}, {"culprit", f.culprit}};
  };
  const Subject& where = trouble.error.where;
  return {{"cause", key_of(trouble.error.cause)},
          {"what", trouble.error.what},
          {"where", text_or_null(where.text())},
          {"node", text_or_null(where.node)},
          {"device", text_or_null(where.device)},
          {"rank", where.rank < 0 ? Json(nullptr) : Json(where.rank)},
          {"phase", text_or_null(key_of(where.phase))},
          {"next", text_or_null(trouble.error.next)},
          {"failures", array(trouble.failures, failure)}};
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

Json event_value(const ops::NodeEvent& e) {
  return {{"node", e.node},           {"device", e.event.device}, {"counter", e.event.counter},
          {"first_s", e.event.first}, {"last_s", e.event.last},   {"count", e.event.count},
          {"text", sentence(e)}};
}

std::string json(const ops::EventsDocument& document) {
  return dump({{"schema", "ringtrue.events/1"},
               {"seconds", document.seconds},
               {"nodes", document.nodes},
               {"events", array(document.events, event_value)},
               {"notes", document.notes},
               {"error", maybe_error(document.error)}});
}

std::string json(const ops::NodesDocument& document) {
  const auto row = [](const fleet::NodeState& node) -> Json {
    return {{"node", node.node},
            {"reachable", node.reachable},
            {"version", text_or_null(node.version)},
            {"lease", text_or_null(node.lease)},
            {"cause", text_or_null(node.cause)},
            {"next", text_or_null(node.next)}};
  };
  return dump({{"schema", "ringtrue.nodes/1"},
               {"nodes", array(document.nodes, row)},
               {"notes", document.notes},
               {"error", maybe_error(document.error)}});
}

std::string json(const ops::ConfigDocument& document) {
  const auto row = [](const config::Given& given) -> Json {
    return {{"key", given.key}, {"value", text_or_null(given.text)}, {"origin", given.origin}};
  };
  return dump({{"schema", "ringtrue.config/1"}, {"settings", array(document.settings, row)}});
}

std::string json(const ops::PkiDocument& document) {
  const auto row = [](const pki::Issued& issued) -> Json {
    return {{"name", issued.name}, {"folder", issued.folder}, {"until", issued.until}};
  };
  return dump({{"schema", "ringtrue.pki/1"}, {"certificates", array(document.certificates, row)}});
}

Json networks_value(const std::vector<run::Network>& networks) {
  return array(networks, [](const run::Network& n) {
    Json row = record_value(n);
    for (const char* const key : {"mtu", "path_mtu", "rate_Bps", "receive_buffer_bytes", "faster_rate_Bps"})
      if (row[key] == 0) row[key] = nullptr;
    row["faster"] = text_or_null(n.faster);
    return row;
  });
}

std::string json(const ops::DeployDocument& document) {
  const auto row = [](const pki::Deployed& node) -> Json {
    return {{"node", node.node}, {"state", key_of(node.state)}, {"detail", text_or_null(node.detail)}};
  };
  return dump({{"schema", "ringtrue.pki/1"}, {"nodes", array(document.nodes, row)}});
}

}  // namespace ringtrue::report
