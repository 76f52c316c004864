#include "cmd/command.h"
#include "cmd/history_flags.h"
#include "cmd/output.h"
#include "operator/history.h"

namespace ringtrue::cmd {
namespace {

struct BaselineCommand {
  HistoryFlags where;
  ops::BaselineRequest request;
  bool retired = false;
};
BaselineCommand baseline_words;

int answer(Context& context, const auto& use_case) {
  if (auto fits = only_a_file(context); !fits) return failed(context, fits.error());
  auto where = baseline_words.where.place(context);
  if (!where) return failed(context, where.error());
  baseline_words.request.place = *where;
  const auto document = use_case();
  if (!document) return failed(context, document.error());
  bool all = true;
  for (const auto& one : document->set) all = all && one.baseline;
  return show(context, *document, all ? Exit::healthy : Exit::unknown);
}

}  // namespace

Command baseline_command() {
  const Flags where = history_flags(baseline_words.where);
  const Flag nodes = texts("NODES", baseline_words.request.nodes, "", "these nodes alone; all if not given");
  const Flags retired = join({{toggle("--all", baseline_words.retired, "retired ones as well")}, where});
  const auto show_all = [](Context& context) {
    return answer(context,
                  [] { return ops::baseline_list(baseline_words.request.place, baseline_words.retired); });
  };
  return {"baseline",
          "Sets what is usual of each side of each node, by which regressions are told",
          {},
          {},
          {},
          {{"set", "Sets baselines by the latest checks; what stood before is retired",
            join({{nodes,
                   whole("--sessions", baseline_words.request.sessions, 10, 1000,
                         "by so many checks at most, the latest (20)"),
                   since_flag(baseline_words.request.span_us, "by none that are older: 2d"),
                   text("--reason", baseline_words.request.reason, "TEXT", "why")},
                  where}),
            "At least 10 accepted checks that measured alike are needed, and readings that deviate by 3 % at "
            "most. "
            "Exit code 3 where one was refused.",
            [](Context& context) {
              return answer(context, [] { return ops::baseline_set(baseline_words.request); });
            }},
           {"show", "Shows the baselines", retired, {}, show_all},
           {"list", "The same as show", retired, {}, show_all},
           {"retire",
            "Retires baselines: nothing is held against them any more",
            join({{nodes}, where}),
            {},
            [](Context& context) {
              return answer(context, [] { return ops::baseline_retire(baseline_words.request); });
            }}}};
}

}  // namespace ringtrue::cmd
