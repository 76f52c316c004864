#include "operator/history_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/splitmix64.h"
#include "base/statistics.h"
#include "base/text.h"
#include "history/rule.h"
#include "history/time.h"

namespace ringtrue::ops {
namespace {

using history::Metric;
using history::SubjectKey;
using history::SubjectType;
using nlohmann::json;

constexpr int most_nodes_with_paths = 16;

// What both sources have in common.
struct Gist {
  std::vector<std::string> nodes;
  std::string transport, algorithm = "ring", verdict;
  std::optional<double> declared;  // rate of a hop that the declared link allows
  bool ended_early = false, disturbed = false, crowded = false;
};

history::Session session_of(const Gist& gist, const RecordedBy& by) {
  history::Session s;
  s.fleet = by.fleet;
  s.version = by.version;
  s.nodes = int(gist.nodes.size());
  s.verdict = gist.verdict;
  history::Conditions conditions{gist.transport, gist.algorithm, "auto", s.nodes, gist.declared};
  // What of it is attainable depends a little on the MTU.
  if (conditions.link_rate) conditions.link_rate = std::stod(fmt::format("{:.3g}", *conditions.link_rate));
  s.fingerprint = history::fingerprint(conditions);
  s.accepted = false;
  if (gist.ended_early)
    s.why_not = "it ended early";
  else if (gist.verdict == "unknown")
    s.why_not = "its verdict is unknown";
  else if (gist.disturbed)
    s.why_not = "others sent meanwhile";
  else
    s.accepted = true;
  return s;
}

// A check that could not tell has met something that its readings do not settle: one low path, a ring that is
// slow, a side that may be. What its sides carried with two partners and more stands all the same, but where
// hops shared links.
bool is_judged(const Gist& gist) {
  return gist.verdict == "unknown" && !gist.ended_early && !gist.disturbed && !gist.crowded;
}

void add_side(history::Record& record, SubjectType type, const std::string& node, std::optional<double> rate,
              int n) {
  record.readings.push_back({{type, node, "", ""}, Metric::rate, rate, n});
}

void add_paths(history::Record& record, const std::vector<std::string>& nodes, const auto& rate_of) {
  if (nodes.size() > most_nodes_with_paths) return;
  for (std::size_t x = 0; x < nodes.size(); ++x)
    for (std::size_t y = 0; y < nodes.size(); ++y)
      if (const std::optional<double> rate = x == y ? std::nullopt : rate_of(x, y))
        record.readings.push_back({{SubjectType::path, nodes[x], nodes[y], ""}, Metric::rate, rate, 1});
}

std::optional<double> plain(const std::optional<BytesPerSecond>& rate) {
  return rate ? std::optional(rate->value) : std::nullopt;
}

// ---- JSON: of anybody's; what is of another type is unknown

std::string text_at(const json& in, const char* key) {
  const auto found = in.is_object() ? in.find(key) : in.end();
  return found != in.end() && found->is_string() ? visible(found->get<std::string>()) : std::string();
}
std::optional<double> number_at(const json& in, const char* key) {
  const auto found = in.is_object() ? in.find(key) : in.end();
  return found != in.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}
const json& part(const json& in, const char* key) {
  static const json none;
  const auto found = in.is_object() ? in.find(key) : in.end();
  return found != in.end() ? *found : none;
}
int count_at(const json& in, const char* key) {
  return int(std::clamp(number_at(in, key).value_or(0), 0.0, 1e9));
}

SubjectKey subject_of_json(const json& scope) {
  const std::string type = text_at(scope, "type");
  SubjectKey key{history::SubjectType::node, text_at(scope, "node"), text_at(scope, "peer"),
                 text_at(scope, "device")};
  if (const auto known = parse_key<SubjectType>(type)) key.type = *known;
  return key;
}

// Of the sides as they are told, or else of the matrix of rates.
void add_sides_of_json(const json& document, const std::vector<std::string>& nodes, history::Record& record) {
  const json& sides = part(document, "sides");
  const json& rates = part(document, "rate_Bps");
  const auto rate_of = [&](std::size_t x, std::size_t y) -> std::optional<double> {
    if (!rates.is_array() || x >= rates.size() || !rates[x].is_array() || y >= rates[x].size())
      return std::nullopt;
    return rates[x][y].is_number() ? std::optional(rates[x][y].get<double>()) : std::nullopt;
  };
  if (sides.is_array() && !sides.empty()) {
    for (const json& side : sides) {
      const std::string node = text_at(side, "node");
      add_side(record, SubjectType::sender, node, number_at(side, "sends_Bps"), count_at(side, "sends_to"));
      add_side(record, SubjectType::receiver, node, number_at(side, "receives_Bps"),
               count_at(side, "receives_from"));
    }
  } else {
    for (std::size_t x = 0; x < nodes.size(); ++x) {
      std::vector<double> sends, receives;
      for (std::size_t y = 0; y < nodes.size(); ++y) {
        if (const auto rate = rate_of(x, y)) sends.push_back(*rate);
        if (const auto rate = rate_of(y, x)) receives.push_back(*rate);
      }
      const auto middle = [](const std::vector<double>& r) {
        return r.empty() ? std::nullopt : std::optional(middle_mean(r));
      };
      add_side(record, SubjectType::sender, nodes[x], middle(sends), int(sends.size()));
      add_side(record, SubjectType::receiver, nodes[x], middle(receives), int(receives.size()));
    }
  }
  add_paths(record, nodes, rate_of);
}

std::string uuid_of(std::string_view text) {
  std::uint64_t halves[2] = {text.size(), ~text.size()};
  for (const char c : text)
    for (std::uint64_t& half : halves) half = splitmix64(half ^ static_cast<unsigned char>(c));
  return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", halves[0] >> 32, (halves[0] >> 16) & 0xffff,
                     halves[0] & 0xfff, 0x8000 | ((halves[1] >> 48) & 0x3fff), halves[1] & 0xffffffffffff);
}

// The same of a check and of its document, which tells when it began to the second alone.
std::string uuid_of_check(const RecordedBy& by, const Gist& gist, std::int64_t started_us, double seconds) {
  return uuid_of(fmt::format("{}\n{}\n{:.6f}\n{}\n{}\n{}", by.fleet, history::rfc3339(started_us), seconds,
                             gist.transport, gist.verdict, fmt::join(gist.nodes, "\n")));
}

}  // namespace

history::SubjectKey subject_of(const diagnosis::Scope& scope) {
  SubjectKey key{SubjectType::node, scope.subject.node, scope.peer_name, scope.subject.device};
  if (const auto known = parse_key<SubjectType>(key_of(scope.type))) key.type = *known;
  return key;
}

history::Record record_of(const CheckDocument& document, const RecordedBy& by) {
  const diagnosis::Diagnosis& d = document.diagnosis;
  Gist gist;
  gist.nodes = d.nodes;
  gist.transport = document.transport;
  gist.verdict = key_of(d.verdict);
  if (d.expected.origin == ideal::Origin::declared) gist.declared = plain(d.expected.value);
  gist.ended_early = document.error.has_value();
  for (const auto& run : d.runs)
    if (run.experiment.workers > 0) gist.algorithm = "omnireduce";
  for (const diagnosis::Finding& f : d.findings)
    gist.disturbed = gist.disturbed || f.kind == diagnosis::FindingKind::others_traffic;
  for (const diagnosis::NotChecked& n : d.not_checked)
    gist.crowded = gist.crowded || n.kind == diagnosis::StatementKind::shared_links;
  history::Record record;
  record.session = session_of(gist, by);
  record.judged = is_judged(gist);
  if (document.started_us > 0)
    record.session.uuid = uuid_of_check(by, gist, document.started_us, d.cost.seconds.value);
  record.session.started_us = document.started_us;
  record.session.ended_us = document.started_us + std::int64_t(d.cost.seconds.value * 1e6);
  record.session.runs = d.cost.runs;
  record.session.bytes = std::int64_t(d.cost.bytes.value);
  record.session.seconds = d.cost.seconds.value;
  record.session.expected = plain(d.expected.held_against());
  for (std::size_t i = 0; i < d.sides.size() && i < d.nodes.size(); ++i) {
    add_side(record, SubjectType::sender, d.nodes[i], plain(d.sides[i].sends), d.sides[i].sends_to);
    add_side(record, SubjectType::receiver, d.nodes[i], plain(d.sides[i].receives), d.sides[i].receives_from);
  }
  add_paths(record, d.nodes, [&](std::size_t x, std::size_t y) {
    return x < d.rates.size() && y < d.rates[x].size() ? plain(d.rates[x][y]) : std::nullopt;
  });
  if (d.ring_busbw) record.readings.push_back({{}, Metric::busbw, d.ring_busbw->value, 1});
  for (const diagnosis::Finding& f : d.findings)
    record.findings.push_back(
        {subject_of(f.scope), key_of(f.severity), key_of(f.kind), f.ratio, f.confidence});
  record.facts = document.facts;
  return record;
}

Result<history::Record> record_of_json(std::string_view text, const RecordedBy& by,
                                       std::int64_t otherwise_us) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return fail(Cause::bad_input, "it is not JSON");
  if (text_at(document, "schema") != "ringtrue.check/1" || text_at(document, "verdict").empty())
    return fail(Cause::bad_input, "it is not the document of a check (ringtrue check --json)");
  Gist gist;
  gist.transport = text_at(document, "transport");
  gist.verdict = text_at(document, "verdict");
  if (!parse_key<diagnosis::Verdict>(gist.verdict)) return fail(Cause::bad_input, "its verdict is none");
  gist.ended_early = part(document, "error").is_object();
  const json& nodes = part(document, "nodes");
  for (std::size_t i = 0; nodes.is_array() && i < nodes.size(); ++i)
    gist.nodes.push_back(nodes[i].is_string() ? nodes[i].get<std::string>() : text_at(nodes[i], "node"));
  const json& expected = part(document, "expected");
  if (text_at(expected, "origin") == "declared") gist.declared = number_at(expected, "rate_Bps");
  const json& results = part(document, "results");
  for (std::size_t i = 0; results.is_array() && i < results.size(); ++i)
    if (text_at(results[i], "algorithm") == "omnireduce") gist.algorithm = "omnireduce";
  const json& findings = part(document, "findings");
  for (std::size_t i = 0; findings.is_array() && i < findings.size(); ++i)
    gist.disturbed = gist.disturbed || text_at(findings[i], "kind") == "others-traffic";
  const json& unsaid = part(document, "not_checked");
  for (std::size_t i = 0; unsaid.is_array() && i < unsaid.size(); ++i)
    gist.crowded = gist.crowded || text_at(unsaid[i], "kind") == "shared-links";
  history::Record record;
  record.session = session_of(gist, by);
  record.judged = is_judged(gist);
  history::Session& s = record.session;
  const auto started = history::parse_rfc3339(text_at(document, "started"));
  const json& cost = part(document, "cost");
  s.runs = count_at(cost, "runs");
  s.uuid =
      started ? uuid_of_check(by, gist, *started, number_at(cost, "seconds").value_or(0)) : uuid_of(text);
  s.started_us = started.value_or(otherwise_us);
  s.seconds = std::clamp(number_at(cost, "seconds").value_or(0), 0.0, 1e6);
  s.bytes = std::int64_t(std::clamp(number_at(cost, "bytes").value_or(0), 0.0, 9e18));
  s.ended_us = s.started_us + std::int64_t(s.seconds * 1e6);
  s.expected = number_at(expected, "of_most_Bps");
  if (!s.expected) s.expected = number_at(expected, "rate_Bps");
  add_sides_of_json(document, gist.nodes, record);
  if (const auto busbw = number_at(document, "ring_busbw_Bps"))
    record.readings.push_back({{}, Metric::busbw, *busbw, 1});
  for (std::size_t i = 0; findings.is_array() && i < findings.size(); ++i) {
    const std::string severity = text_at(findings[i], "severity");
    if (!parse_key<diagnosis::Severity>(severity)) continue;
    history::Found found{subject_of_json(part(findings[i], "scope")), severity, text_at(findings[i], "kind"),
                         number_at(findings[i], "ratio"), number_at(findings[i], "confidence").value_or(0)};
    const json& members = part(findings[i], "members");
    if (!members.is_array()) {
      record.findings.push_back(std::move(found));
      continue;
    }
    // Of a group each is a finding of its own, as in what a check records itself.
    for (const json& member : members) {
      found.subject.node = text_at(member, "node");
      found.ratio = number_at(member, "ratio");
      found.confidence = number_at(member, "confidence").value_or(0);
      record.findings.push_back(found);
    }
  }
  return record;
}

std::vector<history::Fact> facts_to_record(const topology::Cluster& cluster) {
  std::vector<history::Fact> out;
  const auto add = [&](const std::string& node, const std::string& device, const char* name,
                       const auto& fact) {
    if (!fact.known()) return;
    using T = std::decay_t<decltype(*fact)>;
    if constexpr (std::is_same_v<T, BytesPerSecond>)
      out.push_back({node, device, name, to_text(*fact)});
    else if constexpr (std::is_same_v<T, bool>)
      out.push_back({node, device, name, *fact ? "yes" : "no"});
    else
      out.push_back({node, device, name, fmt::format("{}", *fact)});
  };
  for (const topology::Node& node : cluster.nodes) {
    const topology::System& system = node.system;
    add(node.name, "", "kernel", system.kernel);
    add(node.name, "", "distribution", system.distribution);
    add(node.name, "", "NVIDIA driver", system.nvidia_driver);
    add(node.name, "", "rdma-core", system.rdma_core);
    add(node.name, "", "iommu", system.iommu);
    add(node.name, "", "governor", system.governor);
    for (const topology::Nic& nic : node.nics) {
      if (nic.virtual_device) continue;
      add(node.name, nic.name, "driver", nic.driver);
      add(node.name, nic.name, "firmware", nic.firmware);
      add(node.name, nic.name, "model", nic.model);
      for (const topology::Port& port : nic.ports) {
        const std::string device =
            nic.ports.size() > 1 ? fmt::format("{}/{}", nic.name, port.number) : nic.name;
        add(node.name, device, "rate", port.rate);
        add(node.name, device, "lanes", port.width);
        add(node.name, device, "MTU", port.mtu);
        if (!port.peer.empty()) out.push_back({node.name, device, "peer", port.peer});
      }
    }
    for (const topology::Gpu& gpu : node.gpus) {
      add(node.name, gpu.name, "model", gpu.model);
      add(node.name, gpu.name, "serial", gpu.serial);
      add(node.name, gpu.name, "vbios", gpu.vbios);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace ringtrue::ops
