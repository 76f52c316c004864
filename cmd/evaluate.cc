#include "operator/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "campaign/campaign.h"
#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"

namespace ringtrue::cmd {
namespace {

constexpr long max_cases = 1'000'000, max_nodes = 4096;

struct EvaluateFlags {
  campaign::Campaign campaign;
  std::optional<long> one;  // case
  bool markdown = false;
  bool history = false;
  std::optional<long> years;
};

Result<std::vector<const campaign::Kind*>> parse_kinds(std::string_view text) {
  std::vector<const campaign::Kind*> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto kind = campaign::find_kind(text.substr(0, comma));
    if (!kind) return tl::unexpected(kind.error());
    if ((*kind)->group == campaign::Kind::Group::healthy)
      return fail(Cause::bad_input, "every second case is healthy anyway", {}, "name kinds of faults");
    out.push_back(*kind);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return out;
}

template <class E>
std::vector<std::pair<std::string, E>> words() {
  std::vector<std::pair<std::string, E>> out;
  for (const std::string& key : all_keys<E>()) out.emplace_back(key, *parse_key<E>(key));
  return out;
}

Result<void> check(const Context& context, const EvaluateFlags& flags) {
  auto fits = reject(
      "evaluate", {running(context, "use --nodes"), hosts(context, "leave it out: the clusters are modelled"),
                   common(context, {"--link-rate"})});
  if (fits && flags.campaign.limits.told != campaign::Told::routes)
    fits = reject("evaluate without --told routes",
                  {{{flags.campaign.limits.stale_routes > 0, "--stale-routes"}}});
  if (fits && flags.one) fits = reject("evaluate --case", {{{flags.campaign.threads > 0, "--threads"}}});
  if (!fits) return fits;
  if (flags.markdown && (flags.one || context.common.json))
    return both(flags.one ? "--case" : "--json", "--markdown");
  for (const campaign::Kind* kind : flags.campaign.limits.kinds)
    if (const auto lacks = campaign::takes(*kind, flags.campaign.limits); !lacks.empty())
      return fail(Cause::bad_input, fmt::format("{} needs {}", kind->name, lacks), "--kinds",
                  "allow more --nodes, and --fabrics varied");
  return {};
}

// Years of checks: what is drawn there is no matter of the flags about single cases.
int run_years(Context& context, const EvaluateFlags& flags) {
  const campaign::Campaign usual;
  const campaign::Campaign& c = flags.campaign;
  const auto fits = reject("evaluate --history", {running(context, "use --nodes"),
                                                  hosts(context, "leave it out: the fleets are modelled"),
                                                  common(context, {"--link-rate"}),
                                                  {{flags.one.has_value(), "--case"},
                                                   {c.cases != usual.cases, "--cases", "use --years"},
                                                   {!c.limits.kinds.empty(), "--kinds"},
                                                   {c.limits.noise != usual.limits.noise, "--noise"},
                                                   {c.limits.busy != usual.limits.busy, "--busy"},
                                                   {c.limits.told != usual.limits.told, "--told"},
                                                   {c.limits.fabrics != usual.limits.fabrics, "--fabrics"}}});
  if (!fits) return failed(context, fits.error());
  if (flags.markdown && context.common.json) return failed(context, both("--json", "--markdown").value());
  campaign::HistoryYears years;
  years.seed = c.seed;
  years.years = flags.years.value_or(years.years);
  years.threads = c.threads;
  if (c.limits.min_nodes != usual.limits.min_nodes || c.limits.max_nodes != usual.limits.max_nodes) {
    years.min_nodes = std::max(4, c.limits.min_nodes);
    years.max_nodes = std::max(4, c.limits.max_nodes);
  }
  const auto document = ops::evaluate_history(years, control({}));
  const int code = document.error ? Exit::unknown : Exit::healthy;
  if (!flags.markdown) return show(context, document, code);
  if (document.error) complain(document.error->error);
  return print(report::markdown(document), code);
}

int evaluate(Context& context, const EvaluateFlags& flags) {
  if (flags.history) return run_years(context, flags);
  if (flags.years) return failed(context, Error{Cause::bad_input, "--years needs --history", "", ""});
  if (auto fits = check(context, flags); !fits) return failed(context, fits.error());
  if (flags.one)
    return show(context, ops::play_case(flags.campaign, std::uint64_t(*flags.one)), Exit::healthy);
  const auto document = ops::evaluate(flags.campaign, control({}));
  const int code = document.error ? Exit::unknown : Exit::healthy;
  if (!flags.markdown) return show(context, document, code);
  if (document.error) complain(document.error->error);
  return print(report::markdown(document), code);
}

}  // namespace

Command evaluate_command() {
  static EvaluateFlags flags;
  campaign::Campaign& campaign = flags.campaign;
  campaign::Limits& limits = campaign.limits;
  std::vector<std::string> names;
  for (const campaign::Kind& kind : campaign::kinds())
    if (kind.group != campaign::Kind::Group::healthy) names.emplace_back(kind.name);
  const auto noise = [](std::string_view text) { return parse_share_up_to(0.5, text); };
  const auto range = [](std::string_view text) -> Result<void> {
    const auto nodes = parse_range(text, 2, max_nodes);
    if (!nodes) return tl::unexpected(nodes.error());
    std::tie(flags.campaign.limits.min_nodes, flags.campaign.limits.max_nodes) = *nodes;
    return {};
  };
  const auto severity = [](std::string_view text) -> Result<void> {
    const auto percent = parse_range(text, 1, 99);
    if (!percent) return tl::unexpected(percent.error());
    flags.campaign.limits.min_severity = double(percent->first) / 100;
    flags.campaign.limits.max_severity = double(percent->second) / 100;
    return {};
  };
  std::vector<std::string_view> dials;
  for (const campaign::Dial& dial : campaign::dials()) dials.push_back(dial.name);
  return {
      "evaluate",
      "Measures how often the check is right, on modelled clusters with known faults",
      {
          whole("--seed", campaign.seed, 0, 1L << 53, "the same seed gives the same cases (1)"),
          whole("--cases", campaign.cases, 1, max_cases, "number of cases, every second one healthy (1000)"),
          parsed("--kinds", limits.kinds, parse_kinds, "KIND,...",
                 fmt::format("kinds of faults, all if not given: {}", fmt::join(names, ", ")), names),
          choice<campaign::Weights>(
              "--weights", limits.weights, words<campaign::Weights>(), "WORD",
              "how often each kind is drawn: field, as published statistics of failures "
              "have it, or even (field)"),
          {"--nodes", "A-B", "nodes of the clusters (2-1024)", range},
          parsed("--noise", limits.noise, noise, "SHARE",
                 "of a run and of a slice: both are slower by up to this share (5%)"),
          parsed(
              "--busy", limits.busy, [](std::string_view text) { return parse_share_up_to(1, text); },
              "SHARE", "of the cases: those in which 5% of the nodes send for others (25%)"),
          {"--severity", "A-B", "percent of what is lost, from one to another (3-99)", severity},
          choice<campaign::Told>(
              "--told", limits.told, words<campaign::Told>(), "WORD",
              "what the check is told of the fabric: nothing, leaves, fabric, or routes: tables by "
              "destination, by which it then forwards (nothing)"),
          parsed("--stale-routes", limits.stale_routes, noise, "SHARE",
                 "with --told routes: of the tables' rows, that are not in use any more (0%)"),
          choice<campaign::Fabrics>("--fabrics", limits.fabrics, words<campaign::Fabrics>(), "WORD",
                                    "plain: leaves and spines, by a hash of addresses, at most 2:1, nodes in "
                                    "order; leaf-spine: all ways to choose a spine, up to 8:1, nodes in any "
                                    "order; varied: also cores, and 1, 2 or 4 cables a trunk (varied)"),
          parsed(
              "--nuisances", limits.nuisances, campaign::parse_nuisances, "DIALS",
              fmt::format("what healthy clusters have: none, half, full, or some of {} as NAME=SHARE (none)",
                          fmt::join(dials, ", ")),
              {"none", "half", "full"}),
          whole("--threads", campaign.threads, 1, 1024, "threads; as many as there are cores if not given"),
          whole("--case", flags.one, 0, max_cases - 1, "one case of the campaign in full"),
          toggle("--markdown", flags.markdown, "tables for documentation"),
          toggle(
              "--history", flags.history,
              "how often the rule of regressions is right instead: years of daily checks of modelled fleets"),
          whole("--years", flags.years, 1, 100'000, "with --history: so many years of a fleet each (100)"),
      },
      {},
      [](Context& context) { return evaluate(context, flags); }};
}

}  // namespace ringtrue::cmd
