#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "operator/documents/evaluate.h"
#include "report/table.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

using diagnosis::Rate;
using diagnosis::ScoreGroup;

constexpr std::size_t listed_at_most = 20;

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", *share * 100) : "-";
}

std::string interval(const Rate& rate) {
  return rate.of > 0
             ? fmt::format("{} ({} to {})", percent(rate.value()), percent(rate.low()), percent(rate.high()))
             : "-";
}

std::string of_text(const Rate& rate) {
  return rate.of > 0 ? fmt::format("{} of {}", rate.count, rate.of) : "-";
}

struct Section {
  std::string_view title;
  std::vector<ScoreGroup> groups;
};

std::vector<Section> sections(const diagnosis::Score& s) {
  std::vector<ScoreGroup> all = {s.single, s.hosts, s.leaves, s.two, s.three, s.pairs, s.covered, s.healthy};
  std::erase_if(all, [](const ScoreGroup& group) { return group.cases == 0; });
  std::vector<Section> out = {
      {"faults", all}, {"kind", s.by_kind}, {"nodes", s.by_nodes}, {"severity", s.by_severity}};
  std::erase_if(out, [](const Section& section) { return section.groups.empty(); });
  return out;
}

std::vector<std::string> cells_of(const ScoreGroup& g) {
  return {std::string(g.name),
          fmt::format("{}", g.cases),
          interval(g.recall),
          interval(g.scope_exact),
          interval(g.false_positives),
          of_text(g.unknown),
          g.proven.of > 0 ? fmt::format("{:g}, {:g}", g.proven.median, g.proven.p95) : "-",
          fmt::format("{:g}, {:g}", g.runs.median, g.runs.p95),
          fmt::format("{:.1f}, {:.1f}", g.seconds.median, g.seconds.p95),
          amount_text(std::uint64_t(g.bytes.median))};
}
constexpr const char* headers[] = {"cases",         "recall",  "scope exact", "false positives", "unknown",
                                   "proven after*", "rounds*", "seconds*",    "sent, median"};

struct Precisions {
  std::string_view title;
  const std::vector<diagnosis::Precision>& rows;
};

std::vector<Precisions> precisions(const diagnosis::Score& s) {
  return {{"finding", s.by_finding}, {"confidence that it says", s.by_confidence}};
}

std::string listed_text(std::string_view title, const std::vector<diagnosis::Listed>& list) {
  if (list.empty()) return "";
  std::string out = fmt::format("{}:", title);
  for (std::size_t i = 0; i < std::min(list.size(), listed_at_most); ++i) {
    const diagnosis::Listed& c = list[i];
    out += fmt::format(" {} ({}, {}){}", c.number, c.kind, plural(c.nodes, "node"),
                       i + 1 < list.size() ? "," : "");
  }
  if (list.size() > listed_at_most)
    out += fmt::format(" and {} more; --json lists them", list.size() - listed_at_most);
  return out + "\n";
}

constexpr const char* legend =
    "recall: every fault of a case was found; scope exact: and named by the smallest class that can be told "
    "apart, and nothing else; false positives: findings in healthy cases; rates with their 95 % intervals "
    "(Wilson). *: median, 95th percentile; proven after so many rounds, of which the others went to what "
    "else "
    "read low";

}  // namespace

std::string text(const ops::EvaluateDocument& d, const Style& style) {
  const diagnosis::Score& s = d.score;
  std::string out = style.line(
      fmt::format("Simulated: {} of {} to {} nodes at {:g} % noise, {} of them healthy",
                  plural(s.cases, "check"), d.min_nodes, d.max_nodes, d.noise * 100, s.healthy_cases),
      Ink::bold);
  out = style.fit(out);
  if (d.error) out += "ended early: these are the cases that were done\n";
  for (const Section& section : sections(s)) {
    std::vector<Table::Column> columns = {left(std::string(section.title))};
    for (const char* header : headers) columns.emplace_back(header);
    Table table(std::move(columns));
    for (const ScoreGroup& group : section.groups) table.row(cells_of(group));
    out += fmt::format("\n{}", table.text());
  }
  for (const auto& [title, rows] : precisions(s)) {
    if (rows.empty()) continue;
    Table table({left(std::string(title)), "findings", "right"});
    for (const diagnosis::Precision& p : rows)
      table.row({p.name, fmt::format("{}", p.right.of), interval(p.right)});
    out += fmt::format("\n{}", table.text());
  }
  std::string said =
      fmt::format("\nprecision: {} of all findings concern what is faulty\n", interval(s.precision));
  if (s.pairs.cases > 0)
    said += fmt::format(
        "coverage: checks with a fault of single pairs measured {:.1f} % of the ordered pairs on average\n",
        s.coverage * 100);
  said += listed_text("findings in healthy cases", s.false_positives);
  said += listed_text("missed", s.missed);
  said += listed_text("not exact", s.inexact);
  said += style.line(legend, Ink::dim);
  out += style.fit(said);
  out += style.line(fmt::format("to see a case in full: {} --case K", d.command), Ink::dim);
  return out;
}

std::string markdown(const ops::EvaluateDocument& d) {
  const diagnosis::Score& s = d.score;
  std::string out = fmt::format("    {}\n\n{}, {} of them of healthy fabrics; {}.\n", d.command,
                                plural(s.cases, "check"), s.healthy_cases, legend);
  for (const Section& section : sections(s)) {
    out += fmt::format("\n| {} | {} |\n|---|{}\n", section.title, fmt::join(headers, " | "), [] {
      std::string dashes;
      for ([[maybe_unused]] const char* header : headers) dashes += "---|";
      return dashes;
    }());
    for (const ScoreGroup& group : section.groups)
      out += fmt::format("| {} |\n", fmt::join(cells_of(group), " | "));
  }
  for (const auto& [title, rows] : precisions(s)) {
    if (rows.empty()) continue;
    out += fmt::format("\n| {} | findings | right |\n|---|---|---|\n", title);
    for (const diagnosis::Precision& p : rows)
      out += fmt::format("| {} | {} | {} |\n", p.name, p.right.of, interval(p.right));
  }
  out += fmt::format("\nPrecision: {} of all findings concern what is faulty.", interval(s.precision));
  if (s.pairs.cases > 0)
    out +=
        fmt::format(" Checks with a fault of single pairs measured {:.1f} % of the ordered pairs on average.",
                    s.coverage * 100);
  return out + "\n";
}

std::string text(const ops::CaseDocument& document, const Style& style) {
  std::string out = style.line(
      fmt::format("case {} of seed {}: {}", document.drawn.number, document.campaign_seed, document.summary),
      Ink::bold);
  out = style.fit(out + document.fabric + "\n\n");
  Table table({left("stage"), left("algorithm"), "nodes", "shift", "calls", "of", "time of one"});
  for (const diagnosis::RunRecord& run : document.check.diagnosis.runs) {
    const diagnosis::Experiment& e = run.experiment;
    table.row({key_of(run.stage), std::string(key_of(e.algorithm)), fmt::format("{}", e.order.size()),
               e.algorithm == collective::AlgorithmId::pairwise ? fmt::format("{}", e.shift) : "",
               fmt::format("{}", e.iterations), amount_text(e.bytes.value), to_text(run.time)});
  }
  out += fmt::format("{}\n{}", table.text(), text(document.check, style));
  const diagnosis::CaseScore& j = document.score;
  out += style.paint(fmt::format("\n{}, {} found, {}, {} of them wrong", plural(j.faults, "fault"), j.found,
                                 plural(j.findings, "finding"), j.wrong),
                     Ink::bold);
  if (j.faults > 0) out += style.paint(j.exact ? "; named exactly" : "; not named exactly", Ink::bold);
  return out + "\n";
}

}  // namespace ringtrue::report
