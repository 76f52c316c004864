#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/hostlist.h"
#include "base/plural.h"
#include "history/time.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

std::string transition_text(const ops::WatchTransition& t) {
  const std::string what = t.of == ops::WatchedThing::verdict ? std::string("the fleet") : t.subject;
  std::string out =
      t.before ? fmt::format("{}: {} -> {}", what, *t.before, t.after) : fmt::format("{}: {}", what, t.after);
  if (t.ratio && *t.ratio < 1) out += fmt::format(", {:.1f} % below its baseline", (1 - *t.ratio) * 100);
  return out;
}

}  // namespace

std::string text(const ops::WatchRound& round, const Style& style) {
  std::string line = fmt::format("{}  {}: ", history::rfc3339(round.started_us), round.fleet);
  if (!round.skipped.empty())
    line += fmt::format("nothing measured: {}", round.skipped);
  else
    line += fmt::format("{}, {} of {}, {:.1f} s{}", round.verdict.value_or("unknown"),
                        plural(std::size_t(round.findings), "finding"), plural(round.nodes.size(), "node"),
                        round.seconds, round.confirmed_again ? ", what is suspected measured twice" : "");
  std::string out = style.fit(line + "\n");
  // Nodes that are left out for the same reason are told together.
  std::map<std::string, std::vector<std::string>> reasons;
  for (const auto& left : round.left_out) reasons[left.why].push_back(left.node);
  for (const auto& [why, nodes] : reasons)
    out += style.fit(fmt::format("  left out: {}: {}\n", fold_hostlist(nodes), why));
  for (const auto& t : round.transitions) out += style.fit("  " + transition_text(t) + "\n");
  return out;
}

}  // namespace ringtrue::report
