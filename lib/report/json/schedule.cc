#include <fmt/format.h>

#include <algorithm>

#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {

// Written line by line: steps may be millions.
void write_json(const ops::ScheduleDocument& document, const Write& to) {
  bool open = true;
  const Write write = [&](std::string_view text) { return open = open && to(text); };
  if (!write(fmt::format("{{\n  \"schema\": \"ringtrue.schedule/1\",\n  \"algorithm\": \"{}\",\n  \"ranks\": "
                         "{},\n  \"bytes\": {}",
                         key_of(document.algorithm), document.ranks, document.bytes)))
    return;
  for (std::size_t t = 0; t < document.trees.size(); ++t) {
    Rows rows(write, t == 0 ? ",\n  \"trees\": [\n    [" : ",\n    [", 6);
    int rank = 0;
    for (const collective::TreeRole& role : document.trees[t])
      rows.add(Json{{"rank", rank++},
                    {"parent", role.parent < 0 ? Json(nullptr) : Json(role.parent)},
                    {"children", role.children}});
    rows.end();
  }
  if (!document.trees.empty()) write("\n  ]");
  write(fmt::format(",\n  \"steps_omitted\": {}", document.steps_omitted));
  if (!document.steps_omitted && document.each_step) {
    Rows steps(write, ",\n  \"steps\": [");
    document.each_step([&](const collective::Step& s) {
      if (open)
        steps.add_text(fmt::format(R"({{"rank": {}, "step": {}, "kind": "{}", "peer": {}, "lane": {}, )"
                                   R"("range": {{"space": "{}", "offset": {}, "length": {}}}}})",
                                   s.rank, s.step, key_of(s.kind), s.peer, s.lane,
                                   s.slice.space == collective::Space::scratch ? "scratch" : "data",
                                   s.slice.offset, s.slice.length));
    });
    steps.end();
  }
  write("\n}\n");
}

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
  for (const char* of_pairs : {"pairs", "key_bytes"}) head.erase(of_pairs);  // bitmaps are of blocks
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
