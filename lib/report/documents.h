// What is reported: the operator's documents.
#pragma once

#include <string>
#include <vector>

#include "operator/documents/check.h"
#include "operator/documents/events.h"
#include "operator/documents/grid.h"
#include "operator/documents/history.h"
#include "operator/documents/nodes.h"
#include "operator/documents/routes.h"
#include "operator/documents/run.h"
#include "operator/documents/schedule.h"
#include "operator/documents/sweep.h"
#include "operator/documents/topo.h"
#include "operator/documents/watch.h"

namespace ringtrue::ops {

struct EvaluateDocument;  // operator/documents/evaluate.h
struct CaseDocument;
struct YearsDocument;

}  // namespace ringtrue::ops

namespace ringtrue::report {

using ops::Maybe;

std::string transport_text(const std::vector<run::Transport>& transports);  // "shm+tcp", "model"

}  // namespace ringtrue::report
