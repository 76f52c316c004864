#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <tuple>

#include "campaign/campaign.h"
#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "operator/evaluate.h"
#include "report/evaluate.h"

namespace ringtrue::cmd {
namespace {

constexpr long most_cases = 1'000'000, most_nodes = 4096;

struct Flags {
  campaign::Campaign campaign;
  long seed = 1, cases = 1000;
  int threads = 0;
  std::optional<long> one;  // case
  bool markdown = false;
};

Result<double> parse_noise(std::string_view text) {
  return parse_share_up_to(0.5, text);
}

// "8", "2-1024"
Result<std::pair<int, int>> parse_nodes(std::string_view text) {
  const auto dash = text.find('-');
  const auto low = parse_whole(text.substr(0, dash), 2, most_nodes);
  if (!low) return tl::unexpected(low.error());
  const auto high = dash == text.npos ? low : parse_whole(text.substr(dash + 1), *low, most_nodes);
  if (!high) return tl::unexpected(high.error());
  return std::pair(int(*low), int(*high));
}

Result<std::vector<const campaign::Kind*>> parse_kinds(std::string_view text) {
  std::vector<const campaign::Kind*> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto kind = campaign::find_kind(text.substr(0, comma));
    if (!kind) return tl::unexpected(kind.error());
    if ((*kind)->group == campaign::Kind::Group::healthy)
      return fail(Cause::bad_input, "every second case is healthy as it is", {}, "name kinds of faults");
    out.push_back(*kind);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return out;
}

Result<void> check(const Context& context, const Flags& flags) {
  if (auto status = reject_playing(context, "evaluate", "use --nodes"); !status) return status;
  if (auto status = reject_hosts(context, "evaluate", "leave it out: the clusters are modelled"); !status)
    return status;
  if (auto status = reject_inapplicable("evaluate", {{context.common.link_rate.has_value(), "--link-rate"}});
      !status)
    return status;
  if (flags.one)
    if (auto status = reject_inapplicable("evaluate --case", {{flags.threads > 0, "--threads"}}); !status)
      return status;
  if (!flags.markdown || (!flags.one && !context.common.json)) return {};
  return fail(Cause::bad_input,
              fmt::format("{} and --markdown exclude each other", flags.one ? "--case" : "--json"), {},
              "leave one out");
}

int run(Context& context, Flags& flags) {
  if (auto fits = check(context, flags); !fits) return failed(context, fits.error());
  campaign::Campaign& campaign = flags.campaign;
  campaign.seed = std::uint64_t(flags.seed);
  campaign.cases = int(flags.cases);
  campaign.threads = flags.threads;
  for (const campaign::Kind* kind : campaign.limits.kinds) {
    if (campaign::fits(*kind, campaign.limits)) continue;
    return failed(context, Error{Cause::bad_input, fmt::format("{} needs larger clusters", kind->name),
                                 "--kinds", "allow more --nodes"});
  }
  if (flags.one) {
    const auto document = ops::play_case(campaign, std::uint64_t(*flags.one));
    return print(context.common.json ? report::json(document) : report::text(document, context.style),
                 Exit::healthy);
  }
  const auto document = ops::evaluate(campaign, control({}));
  const int code = document.error ? Exit::unknown : Exit::healthy;
  if (!flags.markdown) return show(context, document, code);
  if (document.error) complain(document.error->error);
  return print(report::markdown(document), code);
}

}  // namespace

void add_evaluate(Commands& commands) {
  const auto flags = std::make_shared<Flags>();
  const Command app =
      commands.add("evaluate", "how often the check is right: modelled clusters with known faults");
  std::vector<std::string> names;
  for (const campaign::Kind& kind : campaign::kinds())
    if (kind.group != campaign::Kind::Group::healthy) names.emplace_back(kind.name);
  campaign::Limits& limits = flags->campaign.limits;
  add_whole(app, "--seed", flags->seed, 0, 1L << 53, "the same seed, the same cases (1)");
  add_whole(app, "--cases", flags->cases, 1, most_cases, "how many, every second one healthy (1000)");
  const Option kinds =
      add_parsed(app, "--kinds", limits.kinds, parse_kinds, "KIND,...",
                 fmt::format("kinds of faults, all if not given: {}", fmt::join(names, ", ")));
  commands.choices(kinds, names);
  add_parsed(
      app, "--nodes", limits,
      [&limits](std::string_view text) -> Result<campaign::Limits> {
        const auto range = parse_nodes(text);
        if (!range) return tl::unexpected(range.error());
        campaign::Limits out = limits;
        std::tie(out.fewest, out.most) = *range;
        return out;
      },
      "A-B", "nodes of the clusters (2-1024)");
  add_parsed(app, "--noise", limits.noise, parse_noise, "SHARE",
             "of a run and of a slice: both are slower by up to so much (5%)");
  add_whole(app, "--threads", flags->threads, 1, 1024, "as many as there are cores if not given");
  add_whole(app, "--case", flags->one, 0, most_cases - 1, "one case of the campaign in full");
  app.add_flag("--markdown", flags->markdown, "tables for documentation");
  commands.on(app, [flags](Context& context) { return run(context, *flags); });
}

}  // namespace ringtrue::cmd
