// Findings about what is no side and no path: rails, leaves, trunks and spines, nodes that answer late or not
// at all.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/plural.h"
#include "diagnosis/conclusion.h"

namespace ringtrue::diagnosis {
namespace {

std::string list_of(const std::vector<int>& rails) {
  std::string out = rails.size() == 1 ? "rail " : "rails ";
  for (std::size_t i = 0; i < rails.size(); ++i) out += fmt::format("{}{}", i ? ", " : "", rails[i]);
  return out;
}

std::string time_text(double seconds) {
  return fmt::format("{:.1f} us", seconds * 1e6);
}

}  // namespace

// Where some of an accused end's rails are slow and others are not, that is where its wire is.
void Conclusion::name_rails(const Group& group, Finding& f) const {
  const std::vector<int> slow = parts_.slow_rails(*group[0]);
  if (slow.empty()) return;
  const auto ports = out_.rails.find(f.scope.node_name);
  const auto k = std::size_t(slow[0]);
  const bool known = slow.size() == 1 && ports != out_.rails.end() && k < ports->second.size();
  f.scope.device =
      known ? fmt::format("{}/{}", ports->second[k].device, ports->second[k].number) : list_of(slow);
  f.evidence.push_back(fmt::format("only its {} {} slow, the others carry what is usual", list_of(slow),
                                   slow.size() == 1 ? "is" : "are"));
  if (f.scope.type == ScopeType::path) return;
  f.scope.type = ScopeType::nic;
}

void Conclusion::add_parts() {
  for (const FabricPart& part : parts_.fabric()) {
    if (part.readings.empty()) continue;
    const double best = part.readings.front().rate;
    std::set<int> runs;
    for (const Reading& r : part.readings) runs.insert(r.run);
    const std::string fact =
        fmt::format("{} between leaves carry at most {} ({} in {}); expected {}",
                    plural(part.pairs.size(), "pair", "pairs"), rate_text(best),
                    plural(part.readings.size(), "reading", "readings"),
                    plural(runs.size(), "experiment", "experiments"), rate_text(reference_));
    if (!part.confirmed) {
      out_.not_checked.push_back({part.device, fact + "; that is too little to accuse it"});
      continue;
    }
    Suspect all;
    all.best = best;
    all.ratio = best / reference_;
    all.readings = part.readings;
    Finding f;
    f.scope.type = part.type;
    f.scope.device = part.device;
    f.kind = fmt::format("slow-{}", name(part.type));
    f.severity = severity(all.ratio);
    f.measured = BytesPerSecond(best);
    f.expected = BytesPerSecond(reference_);
    f.ratio = all.ratio;
    f.confidence = confidence(all);
    f.evidence = {fact, "the ends of these pairs do better below their own leaves"};
    for (std::size_t i = 0; i < std::min<std::size_t>(part.pairs.size(), 4); ++i)
      f.evidence.push_back(
          fmt::format("one of them: {} -> {}", node(part.pairs[i].first), node(part.pairs[i].second)));
    f.impact = fmt::format("traffic between leaves that crosses it is held to {}", rate_text(best));
    f.next = fmt::format("look at {} (speed and errors of its ports, cables), then run ringtrue check again",
                         part.device);
    out_.findings.push_back(std::move(f));
  }
  if (const auto& rail = parts_.slow_rail()) {
    Finding f;
    f.kind = "slow-rail";
    f.scope.type = ScopeType::rail;
    f.scope.device = fmt::format("rail {}", rail->rail);
    f.severity = severity(rail->rate / rail->usual);
    f.measured = BytesPerSecond(rail->rate);
    f.expected = BytesPerSecond(rail->usual);
    f.ratio = rail->rate / rail->usual;
    f.confidence = 0.9;
    f.evidence.push_back(fmt::format("most nodes' shares on rail {} carry {}, those on other rails {}",
                                     rail->rail, rate_text(rail->rate), rate_text(rail->usual)));
    f.impact = "every hop waits for its slowest rail";
    f.next = "look at what the NICs of this rail share: their switches, their settings";
    out_.findings.push_back(std::move(f));
  }
}

void Conclusion::add_dead() {
  for (const DeadNode& dead : c_.dead) {
    Finding f;
    f.kind = "dead-node";
    f.severity = Severity::critical;
    f.scope.type = ScopeType::node;
    f.scope.node = dead.node;
    f.scope.node_name = node(dead.node);
    f.confidence = 1;
    f.evidence = {dead.error.text()};
    if (c_.readings.pairs_measured() > 0) f.evidence.push_back("the others went on without it");
    f.impact = "no collective over all nodes can run";
    f.next = dead.error.next.empty() ? "see that the node is up" : dead.error.next;
    out_.findings.push_back(std::move(f));
  }
}

void Conclusion::add_late() {
  for (const Late& late : c_.late) {
    const std::string who =
        late.peer < 0 ? node(late.node) : fmt::format("{} <-> {}", node(late.node), node(late.peer));
    const std::string fact =
        fmt::format("smallest round trip {}, usual {}, in {}", time_text(late.latency), time_text(late.usual),
                    plural(std::size_t(late.runs), "experiment", "experiments"));
    if (!late.confirmed()) {
      out_.not_checked.push_back({who + " answers late", fact + ": too few"});
      continue;
    }
    Finding f;
    f.scope.type = late.peer < 0 ? ScopeType::node : ScopeType::path;
    f.kind = fmt::format("late-{}", name(f.scope.type));
    f.severity = Severity::warning;
    f.scope.node = late.node;
    f.scope.node_name = node(late.node);
    if (late.peer >= 0) f.scope.peer = late.peer, f.scope.peer_name = node(late.peer);
    f.ratio = late.usual / late.latency;
    f.confidence = 0.9;
    f.evidence = {fact, late.peer < 0 ? "with every node that it was measured with"
                                      : "both ends answer others as fast as is usual"};
    f.impact = "short messages take that much longer; every step of a collective waits for them";
    f.next =
        fmt::format("look at the way to {}: its port's negotiated mode, forward error correction, a detour",
                    f.scope.node_name);
    out_.findings.push_back(std::move(f));
  }
}

}  // namespace ringtrue::diagnosis
