// Documents for people.
#pragma once

#include <string>

#include "report/documents.h"
#include "report/style.h"
#include "run/counter_window.h"

namespace ringtrue::report {

std::string text(const RunDocument& document, const Style& style);
std::string text(const CheckDocument& document, const Style& style);
std::string text(const SweepDocument& document, const Style& style);
std::string text(const GpuSweepDocument& document, const Style& style);
std::string text(const IdealDocument& document, const Style& style);
std::string text(const NodesDocument& document, const Style& style);
std::string text(const GatherDocument& document, const Style& style);
std::string text(const ConfigDocument& document, const Style& style);
std::string text(const PkiDocument& document, const Style& style);

// Schedules may be long: written piece by piece. `write` returns false when nobody listens any more.
using Write = std::function<bool(std::string_view)>;
void write_text(const ScheduleDocument& document, const Write& write);
// Graphviz: one edge per pair that talks, or the trees of a double tree.
void write_dot(const ScheduleDocument& document, const Write& write);

// What is in the nodes. Nodes that look alike are shown once; what is degraded carries '!' (critical), '?'
// (warning) or 'i' (info) and the reason.
enum class TopoView {
  overview,  // tree, matrix, findings and gaps
  tree,
  matrix,  // kinds of paths between GPUs and NICs, as nvidia-smi prints them
  links,   // every link with its rate; the narrowest of each way from a GPU to an NIC
};
// `all`: virtual devices, ports of switches and the rest of PCI as well, and every node that differs.
std::string text(const TopoDocument& document, TopoView view, bool all, const Style& style);
// Graphviz.
std::string dot(const TopoDocument& document);

// Worst first as given; what several nodes have alike is told once.
std::string findings_text(const std::vector<diagnosis::Finding>& findings, const Style& style);

// A line for each counter of errors that rose: "counters during the run: node3 mlx5_0 port 1: 412 symbol
// errors".
std::string counters_text(const std::map<std::string, run::CounterWindow>& counters, std::string_view when,
                          const Style& style);

// "12.5 GB/s", or "-" where it is unknown.
std::string rate_text(const Maybe& rate_Bps);
// "12.5 MiB": a size for reading, rounded.
std::string amount_text(std::uint64_t bytes);
// "97.3 %", or "-".
std::string percent_text(const Maybe& ratio);
// A line for each node that a failure concerns: who, which phase, why. Nothing where the summary, which is
// printed as the error, has said it all.
std::string failures_text(const Trouble& trouble, const Style& style);
// "deadlines: 10 s a phase, 60 s a run", where there are any, and somebody was waited for.
std::string deadlines_text(const std::optional<Deadlines>& deadlines, const Trouble& trouble);

}  // namespace ringtrue::report
