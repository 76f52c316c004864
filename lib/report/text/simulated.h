// What only a model can say of a run, as text.
#pragma once

#include <cstdint>
#include <string>

#include "report/documents.h"

namespace ringtrue::report {

// Lines of text, each ended. `algorithm`, `bytes`: of the last result.
std::string text(const Simulated& model, const std::string& algorithm, std::uint64_t bytes);

}  // namespace ringtrue::report
