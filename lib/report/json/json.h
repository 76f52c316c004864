// Documents for programs: typed numbers in SI units, null for unknown, "schema" at the top. The schemas are
// packaging/schema/*.json.
#pragma once

#include <string>

#include "report/documents.h"
#include "report/text/text.h"

namespace ringtrue::report {

std::string json(const ops::RunDocument& document);
std::string json(const ops::CheckDocument& document);
std::string json(const ops::SweepDocument& document);
std::string json(const ops::GpuSweepDocument& document);
std::string json(const ops::IdealDocument& document);
std::string json(const ops::NodesDocument& document);
std::string json(const ops::EventsDocument& document);
std::string json(const ops::GatherDocument& document);
std::string json(const ops::ConfigDocument& document);
std::string json(const ops::PkiDocument& document);
std::string json(const ops::DeployDocument& document);
std::string json(const ops::GridDocument& document);
std::string json(const ops::EvaluateDocument& document);
std::string json(const ops::CaseDocument& document);
std::string json(const ops::YearsDocument& document);
std::string json(const ops::HistoryDocument& document);
std::string json(const ops::SessionDocument& document);
std::string json(const ops::CompareDocument& document);
std::string json(const ops::ImportDocument& document);
std::string json(const ops::PruneDocument& document);
std::string json(const ops::VerifyDocument& document);
std::string json(const ops::NoteDocument& document);
std::string json(const ops::BaselineDocument& document);
std::string json(const ops::RegressionsDocument& document);
// In one line. `check`: the JSON of its check, where that goes along; may be empty.
std::string json(const ops::WatchRound& round, const std::string& check);
// topology/json.h's document, which --from reads again, with findings[], not_checked[], affinity[], paths[]
// and error beside what it has. Written piece by piece: a fleet's may be long.
void write_json(const ops::TopoDocument& document, const Write& write);
void write_json(const ops::RoutesDocument& document, const Write& write);
void write_json(const ops::ScheduleDocument& document, const Write& write);
// "steps" in the order of the text: a worker's "send", "answer" (empty) or "silent", then an aggregator's
// "multicast", whose peer is null.
void write_json(const ops::ExplainDocument& document, const Write& write);

// A command that failed before it had anything to say: {"schema": "ringtrue.COMMAND/1", "error": {...}}.
// Without a command: "ringtrue.error/1".
std::string json(const ops::Trouble& trouble, const std::string& command);

}  // namespace ringtrue::report
