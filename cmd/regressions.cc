#include "cmd/command.h"
#include "cmd/history_flags.h"
#include "cmd/output.h"
#include "operator/history.h"

namespace ringtrue::cmd {
namespace {

struct RegressionFlags {
  HistoryFlags where;
  std::vector<history::State> states;
};

int run_regressions(Context& context, const RegressionFlags& flags) {
  if (auto fits = only_a_file(context); !fits) return failed(context, fits.error());
  const auto where = flags.where.place(context);
  if (!where) return failed(context, where.error());
  const auto document = ops::regressions(*where, flags.states);
  if (!document) return failed(context, document.error());
  return show(context, *document, ops::exit_code(*document));
}

}  // namespace

Command regressions_command() {
  static RegressionFlags flags;
  const auto read = [](std::string_view text) -> Result<void> {
    const auto one = parse_one_of<history::State>(text, "state");
    if (!one) return tl::unexpected(one.error());
    flags.states.push_back(*one);
    return {};
  };
  Flag state = {"--state", "STATE,...",
                "those of these states alone: suspected, confirmed, acknowledged, recovered or "
                "withdrawn (all that are not over)",
                read};
  state.choices = all_keys<history::State>();
  state.many = true;
  state.split = ',';
  return {"regressions", "Lists what reads below its baseline, and since when",
          join({{state}, history_flags(flags.where)}),
          "Exit codes: 0 none, 1 one is suspected, 2 one is confirmed, 3 unknown.",
          [](Context& context) { return run_regressions(context, flags); }};
}

}  // namespace ringtrue::cmd
