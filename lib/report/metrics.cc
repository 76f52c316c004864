#include "report/metrics.h"

#include "base/keys.h"
#include "diagnosis/findings/report.h"
#include "metrics/build.h"
#include "metrics/exposition.h"

namespace ringtrue::report {
namespace {

using metrics::Family;
using metrics::Kind;
using metrics::Labels;

std::optional<double> seconds_of(const std::optional<std::int64_t>& us) {
  return us ? std::optional(double(*us) / 1e6) : std::nullopt;
}

std::optional<double> number(const std::optional<int>& n) {
  return n ? std::optional(double(*n)) : std::nullopt;
}

class Page {
 public:
  explicit Page(std::string fleet) : fleet_(std::move(fleet)) {}

  Family& family(std::string name, std::string help, Kind kind = Kind::gauge) {
    families_.push_back({std::move(name), std::move(help), kind});
    return families_.back();
  }
  void add(Family family) { families_.push_back(std::move(family)); }
  // One series of the fleet.
  void one(std::string name, std::string help, const std::optional<double>& value) {
    family(std::move(name), std::move(help)).add(labels({}), value);
  }
  Labels labels(Labels more) const {
    more.insert(more.begin(), {"fleet", fleet_});
    return more;
  }
  std::string text() const { return metrics::exposition(families_); }

 private:
  std::string fleet_;
  std::vector<Family> families_;
};

void add_check(Page& page, const ops::MetricsDocument& d) {
  Family& verdict =
      page.family("ringtrue_check_verdict", "Verdict of the last check: 1 for the one that holds.");
  for (const char* one : keys_of<diagnosis::Verdict>)
    verdict.add(page.labels({{"verdict", one}}), d.verdict == one ? 1.0 : 0.0);
  page.one("ringtrue_check_last_run_timestamp_seconds", "When the last check began.", double(d.run_us) / 1e6);
  page.one("ringtrue_check_last_verdict_timestamp_seconds",
           "When the last check began whose verdict was not unknown.", seconds_of(d.last_verdict_us));
  page.one("ringtrue_check_interval_seconds", "How often the watch checks.", d.interval_s);
  page.one("ringtrue_check_duration_seconds", "Time that the last check measured.", d.seconds);
  page.one("ringtrue_check_sent_bytes", "Bytes that the last check sent, of all nodes.", d.bytes);
  page.one("ringtrue_check_runs", "Collective runs of the last check.", d.runs);
  Family& checks = page.family("ringtrue_checks_total", "Checks that are recorded.", Kind::counter);
  for (const auto& [one, count] : d.checks) checks.add(page.labels({{"verdict", one}}), double(count));
}

void add_rates(Page& page, const ops::MetricsDocument& d) {
  page.one("ringtrue_ring_busbw_bytes_per_second", "Bus bandwidth of the longest ring of the last check.",
           d.busbw);
  page.one("ringtrue_ring_busbw_expected_bytes_per_second", "Bus bandwidth that its wires allow.",
           d.busbw_expected);
  using Side = ops::MetricsDocument::Side;
  const auto sides = [&](const char* name, const char* help, auto sends, auto receives) {
    Family& family = page.family(name, help);
    for (const Side& side : d.sides) {
      family.add(page.labels({{"node", side.node}, {"side", "send"}}), sends(side));
      family.add(page.labels({{"node", side.node}, {"side", "receive"}}), receives(side));
    }
  };
  sides(
      "ringtrue_side_rate_bytes_per_second", "What a side of a node carried in the last check.",
      [](const Side& s) { return s.sends; }, [](const Side& s) { return s.receives; });
  // Of what was not measured nothing was expected.
  sides(
      "ringtrue_side_expected_bytes_per_second", "What it is held against.",
      [&](const Side& s) { return s.sends ? d.expected : std::nullopt; },
      [&](const Side& s) { return s.receives ? d.expected : std::nullopt; });
  sides(
      "ringtrue_side_baseline_bytes_per_second", "Its pinned baseline.",
      [](const Side& s) { return s.sends_baseline; }, [](const Side& s) { return s.receives_baseline; });
  Family& rails = page.family("ringtrue_rail_rate_bytes_per_second",
                              "What a port of a node's RDMA carried in the last check.");
  for (const auto& rail : d.rails) {
    const auto labels = [&](const char* side) {
      return page.labels({{"node", rail.node}, {"side", side}, {"device", rail.device}});
    };
    rails.add(labels("send"), rail.sends);
    rails.add(labels("receive"), rail.receives);
  }
  Family& paths =
      page.family("ringtrue_path_rate_bytes_per_second", "What a path carried in the last check.");
  for (const auto& path : d.paths)
    paths.add(page.labels({{"source", path.source}, {"destination", path.destination}}), path.rate);
}

void add_findings(Page& page, const ops::MetricsDocument& d) {
  Family& findings = page.family("ringtrue_findings", "Findings of the last check.");
  for (const auto& [severity, count] : d.findings)
    findings.add(page.labels({{"severity", severity}}), double(count));
  Family& infos = page.family("ringtrue_finding_info", "A finding of the last check, while it holds.");
  for (const auto& info : d.infos)
    infos.add(page.labels({{"severity", info.severity},
                           {"kind", info.kind},
                           {"scope", info.scope},
                           {"node", info.node},
                           {"peer", info.peer},
                           {"device", info.device}}),
              1.0);
  if (!d.findings.empty())
    page.one("ringtrue_findings_dropped", "Findings beyond the first 200, which have no series of their own.",
             double(d.infos_dropped));
  Family& regressions = page.family("ringtrue_regressions", "What reads below its baseline.");
  regressions.add(page.labels({{"state", "suspected"}}), number(d.suspected));
  regressions.add(page.labels({{"state", "confirmed"}}), number(d.confirmed));
}

}  // namespace

std::string metrics(const ops::MetricsDocument& d) {
  Page page(d.fleet);
  page.add(metrics::build_info(d.version, d.protocol));
  add_check(page, d);
  add_rates(page, d);
  add_findings(page, d);
  if (d.seconds) {
    page.one("ringtrue_not_checked", "What the last check could not tell.", number(d.not_checked));
    Family& nodes = page.family("ringtrue_fleet_nodes", "Nodes of the last check.");
    nodes.add(page.labels({{"state", "measured"}}), number(d.measured));
    nodes.add(page.labels({{"state", "silent"}}), number(d.silent));
    nodes.add(page.labels({{"state", "excluded"}}), number(d.excluded));
  }
  page.family("ringtrue_history_size_bytes", "Size of the file of the history.")
      .add({}, d.history_bytes ? std::optional(double(*d.history_bytes)) : std::nullopt);
  page.family("ringtrue_history_oldest_timestamp_seconds", "The oldest check in it.")
      .add({}, seconds_of(d.history_oldest_us));
  return page.text();
}

}  // namespace ringtrue::report
