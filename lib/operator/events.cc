#include "operator/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/hostlist.h"
#include "base/plural.h"
#include "fleet/events.h"
#include "operator/facts.h"
#include "operator/runner.h"

namespace ringtrue::ops {
namespace {

// Of one link going down the counters that tell it best come first.
constexpr std::string_view down_counters[] = {"link_downed", "carrier_down_count", "port_down"};

int down_rank(std::string_view counter) {
  const auto it = std::ranges::find(down_counters, counter);
  return int(it - std::begin(down_counters));
}

bool tells_down(std::string_view counter) {
  return down_rank(counter) < int(std::size(down_counters));
}

std::string span_text(std::int64_t minutes) {
  if (minutes < 1) return "less than a minute";
  if (minutes < 2 * 60) return plural(minutes, "minute") + " only";
  if (minutes < 48 * 60) return plural(minutes / 60, "hour") + " only";
  return plural(minutes / (24 * 60), "day") + " only";
}

}  // namespace

std::vector<NodeEvent> worth_telling(std::vector<NodeEvent> events, std::size_t most) {
  std::map<std::tuple<std::string, std::string, std::string>, NodeEvent> joined;
  for (NodeEvent& e : events) {
    const auto [it, fresh] = joined.try_emplace({e.node, e.event.device, e.event.counter}, e);
    if (fresh) continue;
    run::DeviceEvent& whole = it->second.event;
    whole.first = std::min(whole.first, e.event.first);
    whole.last = std::max(whole.last, e.event.last);
    whole.count += e.event.count;
  }
  std::map<std::pair<std::string, std::string>, int> best;  // of a device's counters of going down
  for (const auto& [key, e] : joined) {
    const auto [it, fresh] = best.try_emplace({e.node, e.event.device}, down_rank(e.event.counter));
    if (!fresh) it->second = std::min(it->second, down_rank(e.event.counter));
  }
  std::vector<NodeEvent> out;
  for (auto& [key, e] : joined)
    if (!tells_down(e.event.counter) || down_rank(e.event.counter) == best[{e.node, e.event.device}])
      out.push_back(std::move(e));
  std::ranges::stable_sort(out, [](const NodeEvent& a, const NodeEvent& b) {
    return std::pair(!tells_down(a.event.counter), -double(a.event.count)) <
           std::pair(!tells_down(b.event.counter), -double(b.event.count));
  });
  if (out.size() > most) out.resize(most);
  return out;
}

std::vector<NodeEvent> events_of(const std::vector<fleet::Target>& targets, const fleet::Options& options,
                                 Seconds since) {
  std::vector<NodeEvent> all;
  for (fleet::NodeEvents& node : fleet::events(targets, options, std::int64_t(since.value))) {
    if (!node.events) continue;
    for (run::DeviceEvent& event : node.events->events) all.push_back({node.node, std::move(event)});
  }
  return all;
}

Outcome<EventsDocument> events(const Setup& setup, Seconds since, const Control& control) {
  const auto targets = targets_of(setup);
  if (!targets) return tl::unexpected(Trouble{targets.error(), {}});
  EventsDocument document;
  document.seconds = std::int64_t(since.value);
  std::vector<std::string> cut;
  std::map<std::int64_t, std::vector<std::string>> younger;  // nodes by how long they have watched
  std::vector<Failure> failures;
  for (fleet::NodeEvents& node :
       fleet::events(*targets, fleet_options(setup, {}, {}, control), document.seconds)) {
    if (!node.events) {
      failures.push_back({node.node, Phase::inspect, node.events.error(), true});
      continue;
    }
    document.nodes.push_back(node.node);
    if (node.events->cut) cut.push_back(node.node);
    const std::int64_t watched = node.events->now - node.events->watched;
    if (watched + 60 < document.seconds) younger[watched / 60].push_back(node.node);
    for (run::DeviceEvent& event : node.events->events)
      document.events.push_back({node.node, std::move(event)});
  }
  if (document.nodes.empty()) {
    Error error = failures.front().error;
    error.where = failures.front().node;
    return tl::unexpected(Trouble{std::move(error), std::move(failures)});
  }
  document.error = trouble_of(failures);
  std::ranges::stable_sort(document.events, {}, [](const NodeEvent& e) { return e.event.last; });
  for (const auto& [minutes, nodes] : younger)
    document.notes.push_back(fmt::format("{} {} watched for {}", fold_hostlist(nodes),
                                         nodes.size() == 1 ? "has" : "have", span_text(minutes)));
  if (!cut.empty())
    document.notes.push_back(fmt::format("of {} only the latest are told", fold_hostlist(cut)));
  return document;
}

}  // namespace ringtrue::ops
