// OmniReduce over workers, rates and densities.
#pragma once

#include <string>

#include "operator/documents/grid.h"
#include "report/documents.h"
#include "report/style.h"

namespace ringtrue::report {

std::string text(const GridDocument& document, const Style& style);
std::string json(const GridDocument& document);

}  // namespace ringtrue::report
