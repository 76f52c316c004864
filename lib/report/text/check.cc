#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "diagnosis/findings/groups.h"
#include "diagnosis/findings/rings.h"
#include "report/table.h"
#include "report/text/text.h"
#include "report/text/wording.h"
#include "report/topo/topo.h"

namespace ringtrue::report {
namespace {

using diagnosis::Verdict;

constexpr std::size_t shown_not_checked = 40;

Ink ink_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return Ink::green;
    case Verdict::degraded:
      return Ink::yellow;
    case Verdict::faulty:
      return Ink::red;
    case Verdict::unknown:
      return Ink::cyan;
  }
  return Ink::plain;
}

Maybe plain(const std::optional<BytesPerSecond>& rate) {
  return rate ? Maybe(rate->value) : std::nullopt;
}

// Whom the ring of that busbw was over.
std::string ring_members(const diagnosis::Diagnosis& d) {
  const diagnosis::RunRecord* const ring = diagnosis::last_ring_of(d.runs, d.ring_busbw);
  const std::size_t members = ring ? ring->experiment.order.size() : d.nodes.size();
  return members >= d.nodes.size() ? "all nodes" : fmt::format("{} of {} nodes", members, d.nodes.size());
}

bool any_below(const diagnosis::Diagnosis& d, double share) {
  const auto expected = d.expected.held_against();
  for (const auto& row : d.rates)
    for (const auto& rate : row)
      if (rate && expected && rate->value < share * expected->value) return true;
  return false;
}

}  // namespace

std::string text(const ops::CheckDocument& document, const Style& style) {
  const diagnosis::Diagnosis& d = document.diagnosis;
  std::string verdict(key_of(d.verdict));
  for (char& c : verdict) c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  std::string out = style.paint(verdict, ink_of(d.verdict));
  if (!d.nodes.empty()) out += fmt::format("  {}", nodes_text(d));
  out += fmt::format("{}{}\n", document.transport.empty() ? "" : ", ", document.transport);
  out = style.fit(out);
  if (d.verdict == Verdict::unknown && !d.error && !d.not_checked.empty() && d.cost.runs > 0)
    out += style.fit(
        "no fault found, but some suspects could not be ruled out: see \"not checked\" below; a longer "
        "--budget may settle them\n");
  const bool scattered = std::ranges::any_of(d.not_checked, [](const diagnosis::NotChecked& n) {
    return n.kind == diagnosis::StatementKind::scattered_ring;
  });
  if (d.verdict == Verdict::healthy && scattered && d.ring_busbw && d.expected.held_against())
    out += style.fit(
        fmt::format("no link is slow each time, but the ring reached {:.0f} % of what a hop does: see \"not "
                    "checked\" below\n",
                    100 * d.ring_busbw->value / d.expected.held_against()->value));
  out += findings_text(diagnosis::with_groups(d.findings), style);
  if (document.remembered) out += remembered_text(*document.remembered, style);
  if (!d.plans.empty()) out += "\n";
  for (const diagnosis::Plan& plan : d.plans)
    out += style.fit(fmt::format("workaround: {}\n", printable(sentence(plan))));
  RateMatrix rates;
  for (const auto& row : d.rates) {
    rates.emplace_back();
    for (const auto& rate : row) rates.back().push_back(plain(rate));
  }
  // Larger matrices do not fit a terminal; --json has them.
  if (d.nodes.size() <= 32) {
    const std::string map = heat_map(
        d.nodes, rates, {plain(d.expected.held_against()), document.warning, document.critical}, style);
    if (!map.empty()) out += fmt::format("\n{}", map);
    if (d.verdict == Verdict::healthy && any_below(d, document.warning))
      out +=
          style.fit(style.paint("low rates in the matrix did not persist, are within the noise, or are told "
                                "here: no fault is proven\n",
                                Ink::dim));
  }
  const std::string above = std::move(out);
  out = "\n";
  if (d.expected.value) {
    out += fmt::format("expected rate of a hop: {} ({}{})\n", to_text(*d.expected.value),
                       key_of(d.expected.origin),
                       d.expected.source.empty() ? "" : fmt::format(": {}", d.expected.source));
  }
  const auto& most = d.expected.of_most;
  const bool generations = std::ranges::any_of(
      d.findings, [](const auto& f) { return f.kind == diagnosis::FindingKind::mixed_generations; });
  if (d.expected.value && most && to_text(*most) != to_text(*d.expected.value))
    out += fmt::format("compared with: {}, {:.1f} % of that, which most nodes reach{}\n", to_text(*most),
                       most->value / d.expected.value->value * 100, generations ? " for their ports" : "");
  if (d.ring_busbw) out += fmt::format("ring over {}: busbw {}\n", ring_members(d), to_text(*d.ring_busbw));
  if (d.coverage.pairs > 0 && d.coverage.pairs_measured < d.coverage.pairs) {
    out += fmt::format("pairs measured: {} of {}\n", d.coverage.pairs_measured, d.coverage.pairs);
  }
  out += networks_text(document.networks);
  out += notes_text(document.notes, style);
  out += events_text(document.events, style);
  out += counters_text(d.counters, "during the check", style);
  if (document.inspection)
    out +=
        style.paint(fmt::format("inspected by {} in {}\n", plural(document.inspection->rules.size(), "rule"),
                                to_text(Seconds(document.inspection->seconds))),
                    Ink::dim);
  for (std::size_t i = 0; i < d.not_checked.size(); ++i) {
    const NotCheckedText n = not_checked(d.not_checked[i]);
    if (i == shown_not_checked) {
      out += style.paint(fmt::format("not checked: {} more; --json lists them\n", d.not_checked.size() - i),
                         Ink::dim);
      break;
    }
    out += style.line(fmt::format("not checked: {} ({})", n.what, n.why), Ink::dim);
  }
  if (d.cost.runs > 0) {
    const std::string most =
        d.cost.budget.value > 0 ? fmt::format(" of at most {:.0f} s", d.cost.budget.value) : "";
    out += style.line(fmt::format("{}, {}{}, {} sent", plural(d.cost.runs, "run"), to_text(d.cost.seconds),
                                  most, amount_text(d.cost.bytes.value)),
                      Ink::dim);
  }
  if (document.error)
    out += failures_text(*document.error, style) + deadlines_text(document.deadlines, *document.error);
  return above + style.fit(out);
}

}  // namespace ringtrue::report
