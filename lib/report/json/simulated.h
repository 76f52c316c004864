// What only a model can say, as JSON.
#pragma once

#include "operator/documents/simulated.h"
#include "report/json/value.h"

namespace ringtrue::report {

void add_simulated(Json& out, const Simulated& model);

}  // namespace ringtrue::report
