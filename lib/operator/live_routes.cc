// Forwarding tables read live, by one machine.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/plural.h"
#include "fleet/inspect.h"
#include "operator/facts.h"
#include "operator/routes.h"
#include "operator/runner.h"
#include "probe/live.h"
#include "probe/recording.h"

namespace ringtrue::ops {
namespace {

// All nodes of one fabric can read the same: where so many cannot, the next ones hardly can.
constexpr std::size_t most_asked = 8;

Seconds long_enough() {
  probe::LiveOptions options;
  options.routes = true;
  return probe::max_reading_time(options) + Seconds(2);  // its daemon says why before that
}

Result<std::string> answer_here(const Setup& setup) {
  auto recording = record_routes_here(setup);
  if (!recording) return tl::unexpected(recording.error());
  return probe::routes_in(std::move(*recording), {Cause::unavailable,
                                                  "ringtrue-probe is older and reads no forwarding tables",
                                                  {},
                                                  "install the whole package"});
}

Result<KnownRoutes> read(const Result<std::string>& answer) {
  return answer.and_then(read_live_routes);
}

constexpr const char* give_files = "give what dump_fts and ibnetdiscover write with --routes FILE...";

std::string told(const std::string& who, std::int64_t began) {
  return fmt::format("forwarding tables were read by {} in {:.1f} s", who, seconds_since(began).value);
}

}  // namespace

Outcome<KnownRoutes> live_routes(const Setup& setup, bool hosts, const Control& control) {
  std::int64_t began = now_ns();
  if (!hosts) {
    auto known = read(answer_here(setup));
    if (!known) {
      if (known.error().next.empty()) known.error().next = give_files;
      return trouble(known.error());
    }
    known->notes.insert(known->notes.begin(), told("this machine", began));
    return std::move(*known);
  }
  auto targets = targets_of(setup);
  if (!targets) return trouble(targets.error());
  const fleet::Options options = fleet_options(setup, {}, {}, control);
  std::vector<Failure> failures;
  std::vector<std::string> notes;
  for (const fleet::Target& target : *targets) {
    if (failures.size() == most_asked || control.stopped()) break;
    control.tell(progress::Step{fmt::format("reading forwarding tables on {}", target.node)});
    began = now_ns();
    auto known = read(fleet::routes_of(target, options, long_enough()));
    if (!known) {
      Error error = known.error();
      error.where = target.node;
      notes.push_back(fmt::format("{} did not read forwarding tables: {}", target.node, error.what));
      failures.push_back({target.node, Phase::inspect, std::move(error), true});
      continue;
    }
    notes.push_back(told(target.node, began));
    notes.insert(notes.end(), known->notes.begin(), known->notes.end());
    return KnownRoutes{std::move(known->routes), std::move(notes)};
  }
  if (control.stopped()) return trouble({Cause::cancelled, "interrupted", {}, {}});
  Trouble why = *trouble_of(failures);
  why.error.what = "no forwarding tables: " + failures.front().error.what;
  if (failures.size() > 1)
    why.error.what += fmt::format(" (and {})", plural(failures.size() - 1, "more node"));
  if (why.error.next.empty()) why.error.next = give_files;
  return tl::unexpected(std::move(why));
}

}  // namespace ringtrue::ops
