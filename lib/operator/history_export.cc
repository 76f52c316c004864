#include <fmt/format.h>

#include "base/clock.h"
#include "history/read.h"
#include "history/time.h"
#include "operator/history.h"

namespace ringtrue::ops {
namespace {

using history::Metric;
using history::SubjectKey;
using history::SubjectType;
using Write = std::function<bool(std::string_view)>;

// A label's value in OpenMetrics.
std::string label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

// Its samples follow one another, by subject, in the order of time.
Result<bool> write_family(const history::Store& store, const HistoryRequest& request,
                          const history::Which& which, Metric metric, const Write& write) {
  const auto subjects = history::subjects(store, request.place.fleet, request.node);
  if (!subjects) return tl::unexpected(subjects.error());
  const bool busbw = metric == Metric::busbw;
  const std::string name =
      busbw ? "ringtrue_ring_busbw_bytes_per_second" : "ringtrue_side_rate_bytes_per_second";
  if (!write(fmt::format(
          "# TYPE {0} gauge\n# UNIT {0} bytes_per_second\n# HELP {0} {1}\n", name,
          busbw ? "Busbw of the ring over all nodes." : "What a side of a node carried in a check.")))
    return false;
  for (const SubjectKey& subject : *subjects) {
    const bool side = subject.type == SubjectType::sender || subject.type == SubjectType::receiver;
    if (busbw ? subject.type != SubjectType::fleet : !side) continue;
    const auto points = history::series(store, subject, metric, which);
    if (!points) return tl::unexpected(points.error());
    const std::string labels =
        busbw ? fmt::format("fleet=\"{}\"", label(request.place.fleet))
              : fmt::format("fleet=\"{}\",node=\"{}\",side=\"{}\"", label(request.place.fleet),
                            label(subject.node), key_of(subject.type));
    std::int64_t last = INT64_MIN;
    for (const history::Point& point : *points) {
      // Times have to rise.
      if (!point.value || point.started_us / 1000 <= last / 1000) continue;
      last = point.started_us;
      if (!write(fmt::format("{}{{{}}} {} {:.3f}\n", name, labels, *point.value,
                             double(point.started_us) / 1e6)))
        return false;
    }
  }
  return true;
}

Result<void> openmetrics(const history::Store& store, const HistoryRequest& request,
                         const history::Which& which, const Write& write) {
  for (const Metric metric : {Metric::rate, Metric::busbw}) {
    const auto open = write_family(store, request, which, metric, write);
    if (!open) return tl::unexpected(open.error());
    if (!*open) return {};
  }
  write("# EOF\n");
  return {};
}

Result<void> csv(const history::Store& store, const HistoryRequest& request, const history::Which& which,
                 const Write& write) {
  const auto all = history::sessions(store, which);
  if (!all) return tl::unexpected(all.error());
  if (!write("session,started,verdict,accepted,fingerprint,subject,node,peer,device,metric,value,n\n"))
    return {};
  for (const history::Session& s : *all) {
    const auto readings = history::readings(store, s.id);
    if (!readings) return tl::unexpected(readings.error());
    const std::string head =
        fmt::format("{},{},{},{},{}", s.id, history::rfc3339(s.started_us), cell(s.verdict.value_or("")),
                    s.accepted ? 1 : 0, cell(s.fingerprint));
    std::string lines;
    for (const history::Reading& r : *readings) {
      if (request.node && r.subject.node != *request.node && r.subject.peer != *request.node) continue;
      lines += fmt::format("{},{},{},{},{},{},{},{}\n", head, key_of(r.subject.type), cell(r.subject.node),
                           cell(r.subject.peer), cell(r.subject.device), key_of(r.metric),
                           r.value ? fmt::format("{}", *r.value) : "", r.n);
    }
    if (!write(lines)) return {};
  }
  return {};
}

}  // namespace

Result<void> history_export(const HistoryRequest& request, ExportFormat format, const Write& write) {
  const auto store = history::Store::open(request.place.file, {});
  if (!store) return tl::unexpected(store.error());
  history::Which which;
  which.fleet = request.place.fleet;
  which.since_us = wall_clock_us() - request.span_us;
  return format == ExportFormat::csv ? csv(*store, request, which, write)
                                     : openmetrics(*store, request, which, write);
}

}  // namespace ringtrue::ops
