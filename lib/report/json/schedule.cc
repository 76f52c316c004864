#include <fmt/format.h>

#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {

// Written line by line: steps may be millions.
void write_json(const ops::ScheduleDocument& document, const Write& write) {
  bool on =
      write(fmt::format("{{\n  \"schema\": \"ringtrue.schedule/1\",\n  \"algorithm\": {},\n  \"ranks\": {},\n"
                        "  \"bytes\": {}",
                        Json(key_of(document.algorithm)).dump(), document.ranks, document.bytes));
  if (!document.trees.empty()) {
    on = on && write(",\n  \"trees\": [");
    for (std::size_t t = 0; t < document.trees.size(); ++t) {
      on = on && write(t == 0 ? "\n    [" : ",\n    [");
      bool first = true;
      for (const ops::TreeNode& node : document.trees[t]) {
        const Json value = {{"rank", node.rank}, {"parent", maybe(node.parent)}, {"children", node.children}};
        on = on && write(fmt::format("{}\n      {}", first ? "" : ",", value.dump()));
        first = false;
      }
      on = on && write("\n    ]");
    }
    on = on && write("\n  ]");
  }
  on = on && write(fmt::format(",\n  \"steps_omitted\": {}", document.steps_omitted));
  if (!document.steps_omitted && document.each_step) {
    on = on && write(",\n  \"steps\": [");
    bool first = true;
    document.each_step([&](const ops::StepRow& s) {
      if (!on) return;
      on = write(fmt::format(
          "{}\n    {{\"rank\": {}, \"step\": {}, \"kind\": \"{}\", \"peer\": {}, \"lane\": {}, \"range\": "
          "{{\"space\": \"{}\", \"offset\": {}, \"length\": {}}}}}",
          first ? "" : ",", s.rank, s.step, key_of(s.kind), s.peer, s.lane, s.scratch ? "scratch" : "data",
          s.offset, s.length));
      first = false;
    });
    on = on && write("\n  ]");
  }
  if (on) write("\n}\n");
}

}  // namespace ringtrue::report
