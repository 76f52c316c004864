// A campaign's score, and one of its cases.
#pragma once

#include <string>

#include "operator/documents/evaluate.h"
#include "report/documents.h"
#include "report/style.h"

namespace ringtrue::report {

std::string text(const EvaluateDocument& document, const Style& style);
std::string json(const EvaluateDocument& document);
// The table that documentation shows, with the command that makes it.
std::string markdown(const EvaluateDocument& document);

std::string text(const CaseDocument& document, const Style& style);
std::string json(const CaseDocument& document);

}  // namespace ringtrue::report
