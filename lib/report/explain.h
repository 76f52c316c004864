// An omnireduce as it happened.
#pragma once

#include "operator/documents/explain.h"
#include "report/text/text.h"

namespace ringtrue::report {

void write_text(const ExplainDocument& document, const Style& style, const Write& write);
// "steps" in the order of the text: a worker's "send", "answer" (empty) or "silent", then an aggregator's
// "multicast", whose peer is null.
void write_json(const ExplainDocument& document, const Write& write);

}  // namespace ringtrue::report
