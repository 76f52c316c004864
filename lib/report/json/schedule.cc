#include <fmt/format.h>

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

}  // namespace ringtrue::report
