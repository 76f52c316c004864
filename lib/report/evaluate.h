// A campaign's score, and one of its cases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "campaign/score.h"
#include "report/documents.h"
#include "report/style.h"

namespace ringtrue::report {

struct EvaluateDocument {
  std::uint64_t seed = 1;
  campaign::Limits limits;
  campaign::Score score;
  std::optional<Trouble> error;  // why not all cases were played
};

std::string text(const EvaluateDocument& document, const Style& style);
std::string json(const EvaluateDocument& document);
// The table that documentation shows, with the command that makes it.
std::string markdown(const EvaluateDocument& document);

// One case in full: what is wrong, what was measured, what was said.
struct CaseDocument {
  std::uint64_t campaign_seed = 1;
  campaign::Outcome outcome;
  CheckDocument check;
};

std::string text(const CaseDocument& document, const Style& style);
std::string json(const CaseDocument& document);

}  // namespace ringtrue::report
