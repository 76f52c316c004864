// The documents to write: the operator's, and two of the command's own.
#pragma once

#include <string_view>

#include "base/result.h"
#include "operator/documents/check.h"
#include "operator/documents/gather.h"
#include "operator/documents/ideal.h"
#include "operator/documents/nodes.h"
#include "operator/documents/run.h"
#include "operator/documents/schedule.h"
#include "operator/documents/settings.h"
#include "operator/documents/sweep.h"
#include "operator/documents/topo.h"

namespace ringtrue::report {

using namespace ops;  // NOLINT(google-build-using-namespace): a document is written under its own name

std::string transport_text(const std::vector<run::Transport>& transports);  // "shm+tcp", "model"

}  // namespace ringtrue::report
