// Documents for programs: typed numbers in SI units, null for unknown, "schema" at the top. The schemas are
// packaging/schema/*.json.
#pragma once

#include <string>

#include "report/documents.h"
#include "report/text/text.h"

namespace ringtrue::report {

std::string json(const RunDocument& document);
std::string json(const CheckDocument& document);
std::string json(const SweepDocument& document);
std::string json(const GpuSweepDocument& document);
std::string json(const IdealDocument& document);
std::string json(const NodesDocument& document);
std::string json(const GatherDocument& document);
std::string json(const ConfigDocument& document);
std::string json(const PkiDocument& document);
// topology/json.h's document, which --from reads again, with findings[], not_checked[], affinity[], paths[]
// and error beside what it has. Written piece by piece: a fleet's may be long.
void write_json(const TopoDocument& document, const Write& write);
void write_json(const ScheduleDocument& document, const Write& write);

// A command that failed before it had anything to say: {"schema": "ringtrue.COMMAND/1", "error": {...}}.
// Without a command: "ringtrue.error/1".
std::string json(const Trouble& trouble, const std::string& command);

}  // namespace ringtrue::report
