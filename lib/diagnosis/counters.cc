#include "diagnosis/counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/counters.h"
#include "topology/merge.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t max_lines = 8;  // of evidence, of one node

// Worst first. Of RDMA ports only those of `rails`, where there are any.
std::vector<const run::CounterChange*> errors(const run::CounterWindow& window,
                                              const std::vector<RdmaPort>& rails) {
  std::vector<const run::CounterChange*> found;
  for (const run::CounterChange& change : window.changes) {
    const bool of_port = change.device.find('/') != std::string::npos;
    if (of_port && !rails.empty() && !of_rails(change.device, rails)) continue;
    if (topology::counter_class(change.counter) == topology::CounterClass::error &&
        topology::rise(change) > 0)
      found.push_back(&change);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto* a, const auto* b) { return topology::rise(*a) > topology::rise(*b); });
  return found;
}

}  // namespace

void add(const Windows& windows, Windows& sum) {
  for (const auto& [node, window] : windows) {
    const auto [at, fresh] = sum.try_emplace(node, window);
    if (!fresh) at->second = topology::join(at->second, window);
  }
}

bool of_rails(const std::string& device, const std::vector<RdmaPort>& rails) {
  return std::any_of(rails.begin(), rails.end(),
                     [&](const RdmaPort& port) { return device == port_name(port); });
}

std::vector<std::string> risen(const run::CounterWindow& window, const std::vector<RdmaPort>& rails) {
  std::vector<std::string> lines;
  for (const run::CounterChange* change : errors(window, rails)) lines.push_back(topology::text(*change));
  return lines;
}

std::vector<std::string> risen_by_name(const run::CounterWindow& window, const std::vector<RdmaPort>& rails) {
  std::map<std::string, std::string> ports;
  for (const run::CounterChange* change : errors(window, rails)) {
    if (!of_rails(change->device, rails)) continue;
    std::string& line = ports[change->device];
    line += fmt::format("{} {} +{}", line.empty() ? ":" : ",", change->counter, topology::rise(*change));
  }
  std::vector<std::string> lines;
  for (const auto& [device, line] : ports) lines.push_back(topology::device_words(device) + line);
  return lines;
}

void join_counters(const Windows& windows, const std::map<std::string, std::vector<RdmaPort>>& rails,
                   std::string_view when, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    const Scope& scope = finding.scope;
    if (scope.type != ScopeType::path && scope.type != ScopeType::sender &&
        scope.type != ScopeType::receiver && scope.type != ScopeType::node)
      continue;
    const std::vector<Statement> told = finding.evidence;
    for (const std::string& node : {scope.subject.node, scope.peer_name}) {
      const auto window = windows.find(node);
      if (node.empty() || window == windows.end()) continue;
      const auto ports = rails.find(node);
      std::vector<std::string> lines =
          risen(window->second, ports == rails.end() ? std::vector<RdmaPort>() : ports->second);
      std::erase_if(lines, [&](const std::string& line) {
        const auto port = line.substr(0, line.find(": ") + 2);
        return std::any_of(told.begin(), told.end(), [&](const Statement& t) {
          return t.kind == StatementKind::counter && t.subjects[0] == node && t.text.starts_with(port);
        });
      });
      if (lines.size() > max_lines) lines.resize(max_lines);
      for (const std::string& line : lines)
        finding.evidence.push_back({StatementKind::counter, {node}, {}, fmt::format("{} {}", line, when)});
    }
  }
}

}  // namespace ringtrue::diagnosis
