// simulate: the sizes one after the other, on a modelled fabric.
#pragma once

#include "operator/documents/grid.h"
#include "operator/documents/run.h"
#include "operator/setup.h"
#include "operator/simulate_task.h"

namespace ringtrue::ops {

Outcome<RunDocument> simulate(const SimulateRequest& request, const Control& control);

// The grid of the paper: 2, 4, 8 workers, 10 and 100 Gbit/s, densities from 1 to 0.01, 100 MB.
Outcome<GridDocument> simulate_grid(const SimulateRequest& request, const Control& control);

}  // namespace ringtrue::ops
