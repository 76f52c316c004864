#include "tui/model/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "diagnosis/findings/report.h"

namespace ringtrue::tui {
namespace {

using Json = nlohmann::json;

constexpr double largest = 1e18;  // of anything that is measured
constexpr std::size_t most_nodes = 10'000, most_rows = 20'000;

// What is missing, null or of another type is unknown: documents come from anywhere.
const Json& at(const Json& value, const char* key) {
  static const Json none;
  if (!value.is_object()) return none;
  const auto found = value.find(key);
  return found == value.end() ? none : *found;
}
Maybe number(const Json& value) {
  if (!value.is_number()) return {};
  const double of = value.get<double>();
  return std::abs(of) <= largest ? Maybe(of) : Maybe();
}
std::string text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}
const Json& list(const Json& value) {
  static const Json none = Json::array();
  return value.is_array() && value.size() <= most_rows ? value : none;
}

Level level_of_verdict(const std::string& verdict) {
  return verdict == "healthy"    ? Level::good
         : verdict == "degraded" ? Level::warning
         : verdict == "faulty"   ? Level::critical
                                 : Level::unknown;
}

FindingRow finding_of(const Json& f) {
  FindingRow out;
  const std::string severity = text(at(f, "severity"));
  out.level = severity == "critical" ? Level::critical : severity == "warning" ? Level::warning : Level::info;
  out.kind = text(at(f, "kind"));
  diagnosis::Scope scope;
  const Json& said = at(f, "scope");
  scope.type = parse_key<diagnosis::ScopeType>(text(at(said, "type"))).value_or(diagnosis::ScopeType::fleet);
  scope.subject.node = out.node = text(at(said, "node"));
  scope.subject.device = text(at(said, "device"));
  scope.peer_name = text(at(said, "peer"));
  out.where = scope.text();
  for (const Json& member : list(at(f, "members"))) out.members.push_back(text(at(member, "node")));
  if (!out.members.empty()) out.node = out.members[0];
  out.measured = number(at(f, "measured_Bps"));
  out.expected = number(at(f, "expected_Bps"));
  out.ratio = number(at(f, "ratio"));
  out.confidence = number(at(f, "confidence")).value_or(0);
  for (const Json& line : list(at(f, "evidence"))) out.evidence.push_back(text(line));
  out.impact = text(at(f, "impact"));
  out.next = text(at(f, "next"));
  out.command = text(at(f, "command"));
  return out;
}

std::shared_ptr<const Matrix> matrix_of(const Json& rows, std::vector<std::string> names, Maybe expected) {
  const std::size_t n = names.size();
  if (list(rows).size() != n || n == 0) return nullptr;
  auto out = std::make_shared<Matrix>();
  out->expected = expected;
  out->names = std::move(names);
  out->layers = {{"all", std::vector<float>(n * n, std::numeric_limits<float>::quiet_NaN())}};
  for (std::size_t i = 0; i < n; ++i) {
    const Json& row = list(list(rows)[i]);
    for (std::size_t j = 0; j < std::min(n, row.size()); ++j)
      if (const Maybe rate = number(row[j])) out->layers[0].rate[i * n + j] = float(*rate);
  }
  return out;
}

std::vector<CounterRow> counters_of(const Json& counters) {
  std::vector<CounterRow> out;
  for (const Json& node : list(counters))
    for (const Json& change : list(at(node, "changes"))) {
      const std::string kind = text(at(change, "class"));
      if (kind == "traffic") continue;
      CounterRow row;
      row.node = text(at(node, "node"));
      row.device = text(at(change, "device"));
      row.counter = text(at(change, "counter"));
      row.window = number(at(change, "delta")).value_or(0);
      row.seconds = number(at(node, "seconds")).value_or(0);
      row.level = kind == "error" ? Level::warning : Level::info;
      if (out.size() < most_rows) out.push_back(std::move(row));
    }
  std::stable_sort(out.begin(), out.end(),
                   [](const CounterRow& a, const CounterRow& b) { return a.level > b.level; });
  return out;
}

std::string error_of(const Json& document) {
  const Json& error = at(document, "error");
  const std::string what = text(at(error, "what"));
  return what.empty() ? text(at(error, "text")) : what;
}

std::shared_ptr<const Moment> moment_of_check(const Json& d, double when) {
  auto out = std::make_shared<Moment>();
  out->when = when;
  out->verdict = text(at(d, "verdict"));
  out->level = level_of_verdict(out->verdict);
  for (const Json& node : list(at(d, "nodes"))) {
    const std::string name = text(at(node, "node")), cause = text(at(node, "cause"));
    if (out->nodes.size() < most_nodes) out->nodes.push_back(name);
    if (!cause.empty()) out->silent[name] = cause;
  }
  const Json& expected = at(d, "expected");
  out->expected = number(at(expected, "of_most_Bps"));
  if (!out->expected) out->expected = number(at(expected, "rate_Bps"));
  for (const Json& f : list(at(d, "findings"))) out->findings.push_back(finding_of(f));
  for (const FindingRow& f : out->findings)
    if (f.kind == "dead-node" && !out->silent.contains(f.node))
      out->silent[f.node] = f.evidence.empty() ? "does not answer" : f.evidence[0];
  out->counters = counters_of(at(d, "counters"));
  for (const Json& node : list(at(d, "counters"))) out->counted.insert(text(at(node, "node")));
  out->matrix = matrix_of(at(d, "rate_Bps"), out->nodes, out->expected);
  out->text = !out->findings.empty() ? fmt::format("{}: {}", out->findings[0].kind, out->findings[0].where)
                                     : error_of(d);
  const Json& cost = at(d, "cost");
  out->runs = int(std::clamp(number(at(cost, "runs")).value_or(0), 0.0, 1e6));
  out->seconds = number(at(cost, "seconds")).value_or(0);
  out->bytes = number(at(cost, "bytes")).value_or(0);
  if (out->findings.size() > 1) out->text += fmt::format(" and {} more", out->findings.size() - 1);
  if (out->text.empty()) out->text = "nothing was found";
  return out;
}

std::shared_ptr<const Moment> moment_of_sweep(const Json& d, double when) {
  auto out = std::make_shared<Moment>();
  out->when = when;
  for (const Json& node : list(at(d, "nodes"))) out->nodes.push_back(text(node));
  out->expected = number(at(d, "expected_Bps"));
  out->matrix = matrix_of(at(d, "rate_Bps"), out->nodes, out->expected);
  out->text = "sweep of " + fmt::format("{} nodes", out->nodes.size());
  return out;
}

Run run_of(const Json& d, const std::string& schema) {
  Run run;
  run.state = at(d, "error").is_object() ? Run::State::failed : Run::State::done;
  run.error = error_of(d);
  for (const Json& row : list(at(d, "results"))) {
    SizeRow size;
    size.bytes = number(at(row, "bytes")).value_or(0);
    size.time_s = number(at(at(row, "time_s"), "median"));
    size.busbw = number(at(row, "busbw_Bps"));
    size.ideal = number(at(row, "attainable_busbw_Bps"));
    if (!size.ideal) size.ideal = number(at(row, "ideal_busbw_Bps"));
    const std::string algorithm = text(at(row, "algorithm"));
    run.what = fmt::format("{} {}", schema, algorithm);
    ++run.runs;
    run.bytes += number(at(row, "bytes_sent")).value_or(0);
    run.sizes.push_back(size);
  }
  if (run.what.empty()) run.what = schema;
  return run;
}

}  // namespace

std::string schema_of(std::string_view text_of) {
  if (text_of.substr(0, 4096).find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  if (text_of[text_of.find_first_not_of(" \t\r\n")] != '{') return {};
  // Documents have it at their top; whole ones are read only where it is one of ours.
  const std::size_t key = text_of.substr(0, 4096).find("\"schema\"");
  if (key == std::string_view::npos) return {};
  constexpr std::string_view prefix = "\"ringtrue.";
  const std::size_t name = text_of.substr(key, 200).find(prefix);
  if (name == std::string_view::npos) return {};
  const std::string_view rest = text_of.substr(key + name + prefix.size());
  return std::string(rest.substr(0, std::min(rest.find('/'), std::size_t(20))));
}

Result<Document> read_document(std::string_view text_of, double when, const std::string& name) {
  const std::string schema = schema_of(text_of);
  const bool known = schema == "check" || schema == "sweep" || schema == "run" || schema == "simulate";
  if (!known)
    return fail(Cause::bad_input, "no document of check, sweep, run or simulate", name,
                "give what ringtrue check --json printed");
  const Json document = Json::parse(text_of, nullptr, false);
  if (!document.is_object()) return fail(Cause::bad_input, "no JSON: it ends early, or was changed", name);
  if (schema == "check") return Document{moment_of_check(document, when), {}};
  if (schema == "sweep") return Document{moment_of_sweep(document, when), {}};
  return Document{nullptr, run_of(document, schema)};
}

}  // namespace ringtrue::tui
