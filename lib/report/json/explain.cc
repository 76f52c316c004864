#include <algorithm>

#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {

namespace {

// What the blocks span, in bytes of the data.
Json range_of(const ops::ExplainDocument& d, const std::vector<ops::BlockIndex>& blocks) {
  const std::uint64_t bytes = d.omni.block * d.element_bytes;
  if (blocks.empty()) return {{"space", "data"}, {"offset", 0}, {"length", 0}};
  const auto [first, last] = std::minmax_element(blocks.begin(), blocks.end());
  return {{"space", "data"}, {"offset", *first * bytes}, {"length", (*last - *first + 1) * bytes}};
}

Json step_value(const ops::ExplainDocument& d, const ops::ExplainStep& step) {
  std::vector<ops::BlockIndex> blocks;
  for (const ops::ExplainBlock& b : step.blocks) blocks.push_back(b.block);
  const bool multicast = step.kind == ops::ExplainStep::Kind::multicast;
  Json out = {{"rank", step.rank},
              {"step", step.round},
              {"kind", key_of(step.kind)},
              {"peer", multicast ? Json(nullptr) : Json(step.aggregator)},
              {"lane", 0},
              {"range", range_of(d, blocks)},
              {"stream", step.stream},
              {"round", step.round},
              {"blocks", blocks},
              {"next", array(step.blocks, [](const auto& b) { return maybe(b.next); })}};
  if (multicast) out["workers"] = array(step.blocks, [](const auto& b) -> Json { return b.workers; });
  return out;
}

}  // namespace

void write_json(const ops::ExplainDocument& d, const Write& write) {
  Json head = {{"schema", "ringtrue.schedule/1"},  {"algorithm", "omnireduce"},
               {"ranks", d.omni.workers},          {"bytes", d.blocks * d.omni.block * d.element_bytes},
               {"steps_omitted", d.steps_omitted}, {"blocks", d.blocks}};
  head.update(record_value(d.omni));
  add_counts(head, d.counts);
  std::string text = head.dump(2);
  text.resize(text.size() - 2);  // without its "\n}"
  if (!write(text)) return;
  if (!d.steps_omitted) {
    Rows steps(write, ",\n  \"steps\": [");
    for (const ops::ExplainStep& step : d.steps)
      if (!steps.add(step_value(d, step))) return;
    steps.end();
  }
  write("\n}\n");
}

}  // namespace ringtrue::report
