// Documents for people.
#pragma once

#include <string>

#include "report/documents.h"
#include "report/style.h"

namespace ringtrue::report {

std::string text(const RunDocument& document, const Style& style);
std::string text(const CheckDocument& document, const Style& style);
std::string text(const SweepDocument& document, const Style& style);
std::string text(const IdealDocument& document, const Style& style);
std::string text(const NodesDocument& document, const Style& style);
std::string text(const ConfigDocument& document, const Style& style);
std::string text(const PkiDocument& document, const Style& style);

// Schedules may be long: written piece by piece. `write` returns false when nobody listens any more.
using Write = std::function<bool(std::string_view)>;
void write_text(const ScheduleDocument& document, const Write& write);
// Graphviz: one edge per pair that talks, or the trees of a double tree.
void write_dot(const ScheduleDocument& document, const Write& write);

// "12.5 GB/s", or "-" where it is unknown.
std::string rate_text(const Maybe& rate_Bps);
// "12.5 MiB": a size for reading, rounded.
std::string amount_text(std::uint64_t bytes);
// "97.3 %", or "-".
std::string percent_text(const Maybe& ratio);
// A line for each node that a failure concerns: who, which phase, why. Without the summary itself.
std::string failures_text(const Trouble& trouble, const Style& style);
// "deadlines: 10 s a phase, 60 s a run", where there are any.
std::string deadlines_text(const std::optional<Deadlines>& deadlines);

}  // namespace ringtrue::report
