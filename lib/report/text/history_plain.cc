#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/plural.h"
#include "history/rule.h"
#include "history/time.h"
#include "report/table.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

std::string span_of_days(double days) {
  return days >= 1 ? fmt::format("{:.0f} d", days) : fmt::format("{:.0f} h", days * 24);
}

std::string norm_text(history::Metric metric, double value) {
  return metric == history::Metric::level ? fmt::format("{:.1f} %", value * 100)
                                          : to_text(BytesPerSecond(value));
}

}  // namespace

std::string text(const ops::ImportDocument& document, const Style& style) {
  std::string out;
  std::size_t taken = 0;
  for (const auto& row : document.rows) {
    taken += row.session.has_value();
    if (!row.detail.empty()) out += style.fit(fmt::format("{}: {}\n", row.file, row.detail));
    if (row.known) out += style.fit(fmt::format("{}: was recorded or imported before\n", row.file));
  }
  return out + fmt::format("{} of {} imported into {}\n", taken, plural(document.rows.size(), "file"),
                           document.place.file);
}

std::string text(const ops::PruneDocument& document, const Style& style) {
  const history::Pruned& p = document.pruned;
  const history::Keep& keep = document.keep;
  std::string out =
      style.fit(fmt::format("kept: readings {}, documents {}, at most {}\n", span_of_days(keep.readings_days),
                            span_of_days(keep.documents_days), amount_text(keep.max_bytes)));
  out += style.fit(
      fmt::format("dropped: the readings of {} ({}), {}; {} summed up\n",
                  plural(std::size_t(p.sessions), "check"), plural(std::size_t(p.readings), "reading"),
                  plural(std::size_t(p.documents), "document"), plural(std::size_t(p.days), "day")));
  if (p.documents_for_size + p.sessions_for_size > 0)
    out += style.fit(fmt::format("because of its size, younger than asked for: {} and the readings of {}\n",
                                 plural(std::size_t(p.documents_for_size), "document"),
                                 plural(std::size_t(p.sessions_for_size), "check")));
  if (p.too_large)
    out += style.fit("it is still larger: what is left is kept for ever; allow more with --max-size\n");
  return out + fmt::format("{}: {} -> {}\n", document.place.file, amount_text(p.bytes_before),
                           amount_text(p.bytes_after));
}

std::string text(const ops::VerifyDocument& document, const Style& style) {
  std::string out;
  if (!document.remark.empty()) out += style.fit("note: " + document.remark + "\n");
  for (const std::string& line : document.wrong) out += style.fit(line + "\n");
  return out + fmt::format("{}: {}, {}\n", document.place.file,
                           document.wrong.empty() ? style.paint("sound", Ink::green)
                                                  : style.paint("damaged", Ink::red),
                           plural(std::size_t(document.sessions), "check"));
}

std::string text(const ops::NoteDocument& document, const Style& style) {
  const history::Event& e = document.event;
  std::string out =
      fmt::format("noted: {}{}: {}\n", key_of(e.kind), e.subject ? " of " + e.subject->text() : "", e.text);
  if (document.concerned > 0)
    out += fmt::format("{} {}\n", plural(std::size_t(document.concerned), "regression"),
                       e.kind == history::EventKind::repair ? "recovered" : "acknowledged");
  if (e.kind == history::EventKind::repair && e.subject)
    out += style.fit(
        fmt::format("next: ringtrue check; where it is now other than before, after {} checks: ringtrue "
                    "baseline set {} --since 1d\n",
                    history::fewest_sessions, e.subject->node));
  return out;
}

std::string text(const ops::BaselineDocument& document, const Style& style) {
  if (document.retired)
    return fmt::format("{} retired\n", plural(std::size_t(*document.retired), "baseline"));
  std::string out;
  if (!document.set.empty()) {
    Table table({left("of"), "baseline", "deviation", "checks", left("")});
    std::size_t set = 0;
    for (const history::SetBaseline& one : document.set) {
      set += one.baseline.has_value();
      if (const auto& b = one.baseline)
        table.row({b->subject.text(), norm_text(b->metric, b->median),
                   fmt::format("{:.1f} %", b->mad / b->median * 100), fmt::format("{}", b->n),
                   one.before ? "was " + norm_text(b->metric, *one.before) : ""});
      else
        table.row({one.subject.text(), "-",
                   one.refused.scatter > 0 ? fmt::format("{:.1f} %", one.refused.scatter * 100) : "-",
                   fmt::format("{}", one.refused.n),
                   style.paint(one.refused.scatter > 0
                                   ? fmt::format("refused: more than {:.0f} %", history::most_mad * 100)
                                   : fmt::format("refused: {} are needed", history::fewest_sessions),
                               Ink::yellow)});
    }
    out = table.text();
    return out + fmt::format("{} of {} set\n", set, plural(document.set.size(), "baseline"));
  }
  Table table({left("of"), "baseline", "deviation", "checks", left("set"), left("by"), left("why")});
  for (const history::Baseline& b : document.baselines)
    table.row({b.subject.text(), norm_text(b.metric, b.median),
               fmt::format("{:.1f} %", b.mad / b.median * 100), fmt::format("{}", b.n),
               history::day_text(b.set_us), b.set_by,
               b.retired_us ? b.reason + " (retired " + history::day_text(*b.retired_us) + ")" : b.reason});
  if (document.baselines.empty())
    return style.fit(fmt::format("there is no baseline; after {} checks: ringtrue baseline set\n",
                                 history::fewest_sessions));
  return table.text();
}

std::string text(const ops::RegressionsDocument& document, const Style& style) {
  std::string out;
  if (!document.remark.empty()) out += style.fit("note: " + document.remark + "\n");
  for (const history::Regression& r : document.regressions)
    out += style.fit(regression_text(r, style) + "\n");
  if (document.regressions.empty()) out += "no regression\n";
  return out;
}

std::string remembered_text(const ops::Remembered& remembered, const Style& style) {
  std::string out;
  for (const history::Regression& r : remembered.regressions)
    out += style.fit("regression " + regression_text(r, style) + "\n");
  for (const history::Regression& r : remembered.ended)
    out += style.fit("regression " + regression_text(r, style) + "\n");
  std::vector<std::string> suspected;
  for (const history::Regression& r : remembered.regressions)
    if (r.state == history::State::suspected && !r.subject.node.empty() &&
        std::find(suspected.begin(), suspected.end(), r.subject.node) == suspected.end())
      suspected.push_back(r.subject.node);
  if (!suspected.empty())
    out += style.fit(
        fmt::format("  next: ringtrue check --confirm {} measures what is suspected again, in seconds\n",
                    fmt::join(suspected, ",")));
  if (remembered.level && std::abs(*remembered.level - 1) >= history::least_fall)
    out += style.fit(
        fmt::format("the fleet as a whole is at {:.1f} % of its baselines\n", *remembered.level * 100));
  if (!remembered.better.empty())
    out += style.fit(fmt::format("note: {}{} above baseline: too low? ringtrue baseline set sets it anew\n",
                                 remembered.better.front().text(),
                                 remembered.better.size() > 1
                                     ? fmt::format(" and {} more are", remembered.better.size() - 1)
                                     : " is"));
  return out;
}

}  // namespace ringtrue::report
