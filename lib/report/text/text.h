// Documents for people.
#pragma once

#include <string>

#include "report/documents.h"
#include "report/style.h"
#include "run/counter_window.h"

namespace ringtrue::report {

std::string text(const ops::RunDocument& document, const Style& style);
std::string text(const ops::CheckDocument& document, const Style& style);
std::string text(const ops::SweepDocument& document, const Style& style);
std::string text(const ops::GpuSweepDocument& document, const Style& style);
std::string text(const ops::IdealDocument& document, const Style& style);
std::string text(const ops::NodesDocument& document, const Style& style);
std::string text(const ops::EventsDocument& document, const Style& style);
std::string text(const ops::GatherDocument& document, const Style& style);
std::string text(const ops::ConfigDocument& document, const Style& style);
std::string text(const ops::PkiDocument& document, const Style& style);
std::string text(const ops::DeployDocument& document, const Style& style);
std::string text(const ops::GridDocument& document, const Style& style);
std::string text(const ops::EvaluateDocument& document, const Style& style);
std::string text(const ops::CaseDocument& document, const Style& style);
std::string text(const ops::YearsDocument& document, const Style& style);
std::string markdown(const ops::YearsDocument& document);
std::string text(const ops::RoutesDocument& document, const Style& style);
std::string text(const ops::HistoryDocument& document, const Style& style);
std::string text(const ops::SessionDocument& document, const Style& style);
std::string text(const ops::CompareDocument& document, const Style& style);
std::string text(const ops::ImportDocument& document, const Style& style);
std::string text(const ops::PruneDocument& document, const Style& style);
std::string text(const ops::VerifyDocument& document, const Style& style);
std::string text(const ops::NoteDocument& document, const Style& style);
std::string text(const ops::BaselineDocument& document, const Style& style);
std::string text(const ops::RegressionsDocument& document, const Style& style);
std::string text(const ops::WatchRound& round, const Style& style);
// The same as a drawing that needs no other program.
std::string svg(const ops::HistoryDocument& document);
// What a check means beside those before it.
std::string remembered_text(const ops::Remembered& remembered, const Style& style);
// "confirmed: node5's sending side, 7.0 % below its baseline, since 2026-11-18 14:02 UTC"
std::string regression_text(const history::Regression& regression, const Style& style);
// The tables of a campaign as documentation shows them, with the command that makes them.
std::string markdown(const ops::EvaluateDocument& document);

// Schedules may be long: written piece by piece. `write` returns false when the output is closed.
using Write = std::function<bool(std::string_view)>;
void write_text(const ops::ScheduleDocument& document, const Write& write);
void write_text(const ops::ExplainDocument& document, const Style& style, const Write& write);
// Graphviz: one edge per pair that talks, or the trees of a double tree.
void write_dot(const ops::ScheduleDocument& document, const Write& write);

// What is in the nodes. Nodes that look alike are shown once; what is degraded carries '!' (critical), '?'
// (warning) or 'i' (info) and the reason.
enum class TopoView {
  overview,  // tree, matrix, findings and gaps
  tree,
  matrix,  // kinds of paths between GPUs and NICs, as nvidia-smi prints them
  links,   // every link with its rate; the narrowest of each way from a GPU to an NIC
};
// `all`: virtual devices, ports of switches and the rest of PCI as well, and every node that differs.
std::string text(const ops::TopoDocument& document, TopoView view, bool all, const Style& style);
// Graphviz.
std::string dot(const ops::TopoDocument& document);

// Worst first as given; what several nodes have alike is told once.
std::string findings_text(const std::vector<diagnosis::Finding>& findings, const Style& style);

// A line for each counter of errors that rose: "counters during the run: node3 mlx5_0 port 1: 412 symbol
// errors".
std::string counters_text(const std::map<std::string, run::CounterWindow>& counters, std::string_view when,
                          const Style& style);

// "mlx5_0 port 1 of node5 went down 3 times between 13:10 and 13:40"; in this machine's time zone.
std::string sentence(const ops::NodeEvent& event);
// A line each: what devices did in the hour before.
std::string events_text(const std::vector<ops::NodeEvent>& events, const Style& style);

// Lines about an omnireduce.
std::string omni_text(const ops::RunResult& result, const Style& style);

// A line for each kind of interface that data went over: "network: eth0 of node[0-7] (10.0.0.1 ... 10.0.0.8),
// 25 Gbit/s, MTU 9000".
std::string networks_text(const std::vector<run::Network>& networks);

// "12.5 GB/s", or "-" where it is unknown.
std::string rate_text(const Maybe& rate_Bps);
// "12.5 MiB": a size for reading, rounded.
std::string amount_text(std::uint64_t bytes);
// "97.3 %", or "-".
std::string percent_text(const Maybe& ratio);
// A line for each node that a failure concerns: who, which phase, why. Nothing where the summary, which is
// printed as the error, has said it all.
std::string failures_text(const ops::Trouble& trouble, const Style& style);
// "note: ..." for each.
std::string notes_text(const std::vector<std::string>& notes, const Style& style);
// "timeouts: 10 s per phase, 60 s per run", where there are any, and somebody was waited for.
std::string deadlines_text(const std::optional<ops::Deadlines>& deadlines, const ops::Trouble& trouble);

}  // namespace ringtrue::report
