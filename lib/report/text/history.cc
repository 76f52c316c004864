#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/plural.h"
#include "history/rule.h"
#include "history/time.h"
#include "report/table.h"
#include "report/text/chart.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

using history::Metric;

std::string metric_text(Metric metric, const Maybe& value) {
  if (!value) return "-";
  return metric == Metric::level ? fmt::format("{:.1f} %", *value * 100) : to_text(BytesPerSecond(*value));
}

std::string down_text(double ratio) {
  return fmt::format("{:.1f} % below its baseline", (1 - ratio) * 100);
}

Ink ink_of(history::State state) {
  switch (state) {
    case history::State::confirmed:
      return Ink::red;
    case history::State::suspected:
      return Ink::yellow;
    case history::State::recovered:
      return Ink::green;
    default:
      return Ink::plain;
  }
}

std::string verdict_of(const history::Session& s, const Style& style) {
  const std::string verdict = s.verdict.value_or("-");
  return style.paint(verdict, verdict == "healthy"    ? Ink::green
                              : verdict == "degraded" ? Ink::yellow
                              : verdict == "faulty"   ? Ink::red
                                                      : Ink::cyan);
}

std::string since_text(const history::Since& since) {
  std::string out;
  if (since.last_good_us)
    out = fmt::format("{} until {} UTC, {}; since then {} low", to_text(BytesPerSecond(since.usual)),
                      history::minute_text(*since.last_good_us), plural(std::size_t(since.good), "check"),
                      plural(std::size_t(since.low), "check"));
  else
    out = fmt::format("low in all {}", plural(std::size_t(since.low), "check"));
  if (since.falls > 2) out += fmt::format("; it has fallen {} times in all", since.falls);
  return out;
}

std::string session_lines(const std::vector<history::Session>& sessions, const Style& style) {
  constexpr std::size_t shown = 20;
  Table table({"id", left("started (UTC)"), left("verdict"), "nodes", "seconds", "level", left("")});
  const std::size_t from = sessions.size() > shown ? sessions.size() - shown : 0;
  for (std::size_t i = from; i < sessions.size(); ++i) {
    const history::Session& s = sessions[i];
    std::string note = s.why_not;
    if (s.clock_went_back) note += note.empty() ? "the clock had gone back" : ", the clock had gone back";
    table.row({fmt::format("{}", s.id), history::minute_text(s.started_us), verdict_of(s, style),
               fmt::format("{}", s.nodes), fmt::format("{:.1f}", s.seconds),
               s.level ? fmt::format("{:.1f} %", *s.level * 100) : "-", note});
  }
  return (from > 0 ? fmt::format("{} before these; --json lists them\n", plural(from, "check")) : "") +
         table.text();
}

std::string event_lines(const std::vector<history::Event>& events) {
  std::string out;
  for (const history::Event& e : events)
    out += fmt::format("{}  {}{}: {} ({})\n", history::minute_text(e.at_us), key_of(e.kind),
                       e.subject ? " of " + e.subject->text() : "", e.text, e.who);
  return out;
}

}  // namespace

std::string regression_text(const history::Regression& r, const Style& style) {
  std::string out = fmt::format("{}: {}, {}, since {} UTC", style.paint(key_of(r.state), ink_of(r.state)),
                                r.subject.text(), down_text(r.ratio), history::minute_text(r.first_us));
  if (r.low > 1) out += fmt::format(", {} checks low", r.low);
  if (r.ended_us) out += fmt::format(", until {} UTC", history::minute_text(*r.ended_us));
  if (!r.note.empty()) out += fmt::format(" ({})", r.note);
  return out;
}

Chart chart_of(const ops::HistorySeries& series, std::int64_t from_us, std::int64_t until_us) {
  Chart chart;
  const double span = std::max(1.0, double(until_us - from_us));
  for (const history::Point& p : series.points)
    if (p.value) chart.points.push_back({double(p.started_us - from_us) / span, *p.value});
  if (const auto& b = series.baseline) {
    const double threshold = history::Norm{b->median, b->mad, b->n}.threshold();
    chart.low = b->median * (1 - threshold);
    chart.usual = b->median;
    chart.high = b->median * (1 + threshold);
  }
  chart.left = history::minute_text(from_us);
  chart.right = history::minute_text(until_us);
  return chart;
}

std::string chart_title(const ops::HistorySeries& series) {
  const history::Point* last = nullptr;
  for (const history::Point& p : series.points)
    if (p.value) last = &p;
  std::string out =
      series.metric == Metric::busbw ? "busbw of the ring over all nodes" : series.subject.text();
  out += last ? ": " + metric_text(series.metric, last->value) : ": not measured in this time";
  if (const auto& b = series.baseline)
    out += fmt::format(", baseline {} of {} (set {} by {})", metric_text(series.metric, b->median),
                       plural(std::size_t(b->n), "check"), history::day_text(b->set_us), b->set_by);
  return out;
}

std::string text(const ops::HistoryDocument& document, const Style& style) {
  const std::size_t width = style.width > 0 ? style.width : usual_width;
  std::string out = style.fit(fmt::format("{}{}, fleet {}, since {} UTC\n",
                                          document.node ? *document.node + ", " : "", document.place.file,
                                          document.place.fleet, history::minute_text(document.since_us)));
  if (!document.remark.empty()) out += style.fit("note: " + document.remark + "\n");
  for (const ops::HistorySeries& series : document.series) {
    out += "\n" + style.fit(chart_title(series) + "\n");
    if (series.since) out += style.fit("  " + since_text(*series.since) + "\n");
    out += chart_text(chart_of(series, document.since_us, document.now_us), width, style);
    if (series.days.size() > 1)
      out += style.fit(style.paint(fmt::format("  daily medians are kept since {}: {} to {}\n",
                                               history::day_text(series.days.front().day * 86'400'000'000),
                                               metric_text(series.metric, series.days.front().median),
                                               metric_text(series.metric, series.days.back().median)),
                                   Ink::dim));
  }
  if (!document.regressions.empty()) out += "\n";
  for (const history::Regression& r : document.regressions)
    out += style.fit(regression_text(r, style) + "\n");
  if (!document.events.empty()) out += "\n" + style.fit(event_lines(document.events));
  if (!document.node) {
    out += "\n";
    out += document.sessions.empty() ? "no check in this time\n" : session_lines(document.sessions, style);
  }
  return out;
}

std::string svg(const ops::HistoryDocument& document) {
  std::vector<ChartPanel> panels;
  for (const ops::HistorySeries& series : document.series)
    panels.push_back({chart_title(series), chart_of(series, document.since_us, document.now_us)});
  return chart_svg(panels);
}

std::string text(const ops::SessionDocument& document, const Style& style) {
  const history::Session& s = document.session;
  std::string out = style.fit(fmt::format("{} {} of {} UTC, {}: {}, {}, {}\n", key_of(s.kind), s.id,
                                          history::minute_text(s.started_us), s.uuid, verdict_of(s, style),
                                          plural(std::size_t(s.nodes), "node"), s.fingerprint));
  out += style.fit(
      fmt::format("ringtrue {}, {}, {:.1f} s{}{}\n", s.version, plural(std::size_t(s.runs), "run"), s.seconds,
                  s.level ? fmt::format(", the fleet at {:.1f} % of its baselines", *s.level * 100) : "",
                  s.accepted ? "" : ", not for baselines: " + s.why_not));
  for (const history::Found& f : document.findings)
    out += style.fit(fmt::format("{}: {} of {}{}\n", f.severity, f.kind, f.subject.text(),
                                 f.ratio ? fmt::format(", {:.0f} %", *f.ratio * 100) : ""));
  Table table({left("of"), "rate", "partners"});
  for (const history::Reading& r : document.readings)
    if (r.subject.type != history::SubjectType::path)
      table.row({r.metric == Metric::busbw ? "the ring's busbw" : r.subject.text(),
                 metric_text(r.metric, r.value), fmt::format("{}", r.n)});
  out += document.readings.empty() ? "its readings are older than is kept\n" : "\n" + table.text();
  if (!document.facts.empty())
    out +=
        fmt::format("{} of its nodes are recorded; --json has them\n", plural(document.facts.size(), "fact"));
  if (document.document.empty()) out += "its document is older than is kept\n";
  return out;
}

std::string text(const ops::CompareDocument& document, const Style& style) {
  constexpr std::size_t shown = 30;
  const auto name = [&](const history::Session& s) {
    return fmt::format("{} ({} UTC, {})", s.id, history::minute_text(s.started_us), s.verdict.value_or("-"));
  };
  std::string out = style.fit(fmt::format("{} -> {}\n", name(document.before), name(document.after)));
  if (!document.same_fingerprint)
    out += style.fit(fmt::format("note: they measured differently: {} and {}\n", document.before.fingerprint,
                                 document.after.fingerprint));
  out += fmt::format("all sides together: {:+.1f} %\n", (document.level - 1) * 100);
  for (const history::Found& f : document.come)
    out += style.fit(fmt::format("new: {} of {}\n", f.kind, f.subject.text()));
  for (const history::Found& f : document.gone)
    out += style.fit(fmt::format("gone: {} of {}\n", f.kind, f.subject.text()));
  Table table({left("of"), "before", "after", "change", "beside the fleet"});
  for (std::size_t i = 0; i < document.rates.size() && i < shown; ++i) {
    const auto& r = document.rates[i];
    const bool both = r.before && r.after && *r.before > 0;
    const double ratio = both ? *r.after / *r.before : 0;
    table.row({r.metric == Metric::busbw ? "the ring's busbw" : r.subject.text(),
               metric_text(r.metric, r.before), metric_text(r.metric, r.after),
               both ? fmt::format("{:+.1f} %", (ratio - 1) * 100) : "-",
               both ? fmt::format("{:+.1f} %", (ratio / document.level - 1) * 100) : "-"});
  }
  if (!document.rates.empty()) out += "\n" + table.text();
  if (document.rates.size() > shown)
    out += fmt::format("{} more; --json lists them\n", document.rates.size() - shown);
  out += fmt::format("{} differ by less than 2 % beside the fleet\n",
                     plural(std::size_t(document.alike), "rate"));
  for (std::size_t i = 0; i < document.facts.size() && i < shown; ++i) {
    const auto& c = document.facts[i];
    out += style.fit(fmt::format(
        "{}{} {}: {} -> {}\n", c.fact.node, c.fact.device.empty() ? "" : " " + c.fact.device, c.fact.name,
        c.before.empty() ? "(none)" : c.before, c.fact.value.empty() ? "(none)" : c.fact.value));
  }
  if (document.facts.size() > shown)
    out += fmt::format("{} more facts changed; --json lists them\n", document.facts.size() - shown);
  return out;
}

}  // namespace ringtrue::report
