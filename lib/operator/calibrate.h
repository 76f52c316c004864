// simulate --calibrate: a fabric's cost from the document of a live run.
#pragma once

#include <string>

#include "base/result.h"
#include "collective/types.h"
#include "operator/documents/run.h"
#include "sim/fabric.h"

namespace ringtrue::ops {

// Sets the cost of the fabric's hops to what `file`, a document of `run --json` or `simulate --json`, took;
// and its shape to the document's, where `shape_given` is not. `call`: the slices and lanes of that run.
// Errors (bad_input): no such file, not such a document, too few sizes.
Result<Calibrated> calibrate_by(const std::string& file, const collective::Call& call, bool shape_given,
                                sim::Fabric& fabric);

}  // namespace ringtrue::ops
