#include "operator/history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "base/fd.h"
#include "cmd/command.h"
#include "cmd/history_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "history/time.h"
#include "metrics/textfile.h"
#include "operator/metrics.h"
#include "report/metrics.h"

namespace ringtrue::cmd {
namespace {

struct HistoryCommand {
  HistoryFlags where;
  ops::HistoryRequest request;
  std::optional<std::int64_t> since_us;
  std::optional<std::string> node;
  std::string session, other, output;
  std::vector<std::string> files;
  bool openmetrics = false, csv = false, paths = false;
  ops::KeepRequest keep;
  std::optional<std::string> repair, acknowledge, firmware, cabling, topology, note;
};
HistoryCommand typed;

// What all below `history` begin with: the place of the file, where the flags fit.
Result<ops::HistoryPlace> place(Context& context) {
  if (auto fits = only_a_file(context); !fits) return tl::unexpected(fits.error());
  return typed.where.place(context);
}

template <class Document>
int shown(Context& context, const Result<Document>& document, int code = Exit::healthy) {
  if (!document) return failed(context, document.error());
  return show(context, *document, code);
}

Result<ops::HistoryRequest> request(Context& context) {
  auto where = place(context);
  if (!where) return tl::unexpected(where.error());
  ops::HistoryRequest request;
  request.place = *where;
  request.node = typed.node;
  if (typed.since_us) request.span_us = *typed.since_us;
  return request;
}

int list(Context& context) {
  const auto asked = request(context);
  if (!asked) return failed(context, asked.error());
  return shown(context, ops::history(*asked));
}

int show_one(Context& context) {
  const auto where = place(context);
  return where ? shown(context, ops::history_show(*where, typed.session)) : failed(context, where.error());
}

int compare(Context& context) {
  const auto where = place(context);
  return where ? shown(context, ops::history_compare(*where, typed.session, typed.other))
               : failed(context, where.error());
}

int import_files(Context& context) {
  const auto where = place(context);
  if (!where) return failed(context, where.error());
  const auto document = ops::history_import(*where, typed.files, RINGTRUE_VERSION);
  if (!document) return failed(context, document.error());
  bool all = true;
  for (const auto& row : document->rows) all = all && row.detail.empty();
  return show(context, *document, all ? Exit::healthy : Exit::unknown);
}

int export_all(Context& context) {
  const auto asked = request(context);
  if (!asked) return failed(context, asked.error());
  if (const auto fits = reject("history export", {common(context, {"--json"})}); !fits)
    return failed(context, fits.error());
  if (typed.openmetrics == typed.csv)
    return failed(context, Error{Cause::bad_input, "in which form?", "", "give --openmetrics or --csv"});
  Output out;
  const auto done =
      ops::history_export(*asked, typed.csv ? ops::ExportFormat::csv : ops::ExportFormat::openmetrics,
                          [&](std::string_view text) { return out.write(text); });
  if (!done) return failed(context, done.error());
  return out.finish(Exit::healthy);
}

int metrics_of_last(Context& context) {
  const auto where = place(context);
  if (!where) return failed(context, where.error());
  if (const auto fits = reject("history metrics", {common(context, {"--json"})}); !fits)
    return failed(context, fits.error());
  const std::string& file = typed.output;
  if (!file.empty() && file != "-")
    if (const auto fits = metrics::fits_textfile(file); !fits) return failed(context, fits.error());
  const auto document =
      ops::metrics_recorded({where->fleet, RINGTRUE_VERSION, *where, std::nullopt, typed.paths});
  if (!document) return failed(context, document.error());
  const std::string text = report::metrics(*document);
  if (file.empty() || file == "-") return print(text, Exit::healthy);
  const auto written = metrics::write_textfile(file, text);
  return written ? int(Exit::healthy) : failed(context, written.error());
}

int plot(Context& context) {
  const auto asked = request(context);
  if (!asked) return failed(context, asked.error());
  if (const auto fits = reject("history plot", {common(context, {"--json"})}); !fits)
    return failed(context, fits.error());
  const auto document = ops::history(*asked);
  if (!document) return failed(context, document.error());
  const std::string drawing = report::svg(*document);
  if (typed.output == "-") return print(drawing, Exit::healthy);
  const OwnedFd file(open(typed.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file || write(file.get(), drawing.data(), drawing.size()) != ssize_t(drawing.size()))
    return failed(context, Error{Cause::unavailable,
                                 fmt::format("cannot write {}: {}", typed.output, std::strerror(errno)), "",
                                 "name another file, or - for the standard output"});
  return Exit::healthy;
}

int prune(Context& context) {
  const auto where = place(context);
  return where ? shown(context, ops::history_prune(*where, typed.keep)) : failed(context, where.error());
}

int verify(Context& context) {
  const auto where = place(context);
  if (!where) return failed(context, where.error());
  const auto document = ops::history_verify(*where);
  if (!document) return failed(context, document.error());
  return show(context, *document, document->wrong.empty() ? Exit::healthy : Exit::unknown);
}

int note(Context& context) {
  const auto where = place(context);
  if (!where) return failed(context, where.error());
  using history::EventKind;
  const std::pair<const std::optional<std::string>*, EventKind> kinds[] = {
      {&typed.repair, EventKind::repair},     {&typed.acknowledge, EventKind::acknowledge},
      {&typed.firmware, EventKind::firmware}, {&typed.cabling, EventKind::cabling},
      {&typed.topology, EventKind::topology}, {&typed.note, EventKind::note}};
  const std::optional<std::string>* text = nullptr;
  EventKind kind{};
  for (const auto& [given, of] : kinds) {
    if (!*given) continue;
    if (text)
      return failed(context, Error{Cause::bad_input, "one note at a time", "", "give one of the flags"});
    text = given;
    kind = of;
  }
  if (!text)
    return failed(context,
                  Error{Cause::bad_input, "what is to be noted?", "", "give --repair TEXT, or --text TEXT"});
  return shown(context, ops::history_note(*where, typed.node, kind, **text));
}

Flag operand(const std::string& name, std::string& target, const std::string& help) {
  return required(text(name, target, "", help));
}

}  // namespace

Command history_command() {
  const Flags where = history_flags(typed.where);
  const Flag since = since_flag(typed.since_us, "how far to look back: 30d, 12h (30d)");
  const Flag node = text("NODE", typed.node, "", "this node alone");
  const auto with = [&](Flags more) { return join({std::move(more), where}); };
  const auto days = [](const std::string& name, std::optional<std::int64_t>& target,
                       const std::string& help) {
    return parsed(name, target, history::parse_span, "SPAN", help);
  };
  return {
      "history",
      "Shows what checks before have measured: of the fleet, or of a node beside its baseline",
      with({node, since}),
      "Example: ringtrue history node05 --since 30d",
      list,
      {{"show",
        "Shows one check of the history",
        with({operand("CHECK", typed.session, "its number, its uuid or how that begins, or last")}),
        {},
        show_one},
       {"compare",
        "Tells what changed between two checks: rates, findings, facts, firmware",
        with({operand("BEFORE", typed.session, "number or uuid of the one, or last"),
              operand("AFTER", typed.other, "of the other")}),
        {},
        compare},
       {"import", "Takes in documents of earlier checks (check --json), gzip too",
        with({required(texts("FILES", typed.files, "", "the files"))}),
        "Exit code 3 where one could not be taken.", import_files},
       {"export",
        "Writes all readings, for other programs",
        with({text("NODE", typed.node, "", "this node alone"), since,
              toggle("--openmetrics", typed.openmetrics,
                     "as samples with their times, for a time series database"),
              excluding(toggle("--csv", typed.csv, "as a table"), "--openmetrics")}),
        {},
        export_all},
       {"metrics",
        "Writes what the last recorded check found, for Prometheus",
        with({text("-o,--output", typed.output, "FILE.prom",
                   "where to, whole at any time (node_exporter's textfile collector reads it); the standard "
                   "output if not given"),
              toggle("--metrics-paths", typed.paths, "a series a path as well, of 32 nodes at most")}),
        {},
        metrics_of_last},
       {"plot",
        "Draws the readings and the band of their baseline as SVG",
        with({text("NODE", typed.node, "", "this node alone"), since,
              required(text("-o,--output", typed.output, "FILE", "where to; - is the standard output"))}),
        {},
        plot},
       {"note", "Notes what was done: it ends or quiets what is open on that node",
        with({text("NODE", typed.node, "", "whom it concerns; the fleet if not given"),
              text("--repair", typed.repair, "TEXT", "it was repaired: what is open on it is over"),
              text("--acknowledge", typed.acknowledge, "TEXT",
                   "it is known: what is open on it stays, quietly"),
              text("--firmware", typed.firmware, "TEXT", "new firmware or drivers"),
              text("--cabling", typed.cabling, "TEXT", "other cables"),
              text("--topology", typed.topology, "TEXT", "other switches or nodes"),
              text("--text", typed.note, "TEXT", "anything else")}),
        "Example: ringtrue history note node05 --repair \"new cable\"", note},
       {"prune", "Drops what is older than is to be kept; the file remembers what was given",
        with({days("--readings", typed.keep.readings_us, "how long single readings are kept (90d)"),
              days("--documents", typed.keep.documents_us, "how long whole documents are kept (30d)"),
              parsed("--max-size", typed.keep.max_size, parse_size, "SIZE",
                     "of the file: beyond it the oldest documents go, then the oldest readings (512M)")}),
        "Recording does the same once a day. What days had in sum is kept for ever.", prune},
       {"verify", "Reads all of the file, and tells whether it is sound", where,
        "Exit code 3 where it is damaged.", verify}}};
}

}  // namespace ringtrue::cmd
