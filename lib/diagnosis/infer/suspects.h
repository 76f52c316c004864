// Sides, paths and programs that may be slow: as few as explain every slow pair. The model is in inference.h.
#pragma once

#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

// Adds suspects, slowest first, to what is known of the reference and of the sides; and whose readings mean
// nothing, who did well alone, and whether hops seem to share links.
void add_suspects(const Readings& readings, const Readings& alone, const Structure& structure,
                  Inference& inference);

}  // namespace ringtrue::diagnosis
