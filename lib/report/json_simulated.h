// What only a model can say, as JSON.
#pragma once

#include "report/json_value.h"
#include "report/simulated.h"

namespace ringtrue::report {

void add_simulated(Json& out, const Simulated& model);

}  // namespace ringtrue::report
