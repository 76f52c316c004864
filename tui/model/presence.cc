#include "tui/model/presence.h"

#include <algorithm>

namespace ringtrue::tui {

Presence::Presence(const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes)
    if (!node.empty()) now_.try_emplace(node);
}

bool Presence::take(const std::vector<fleet::NodeState>& nodes, double now) {
  const std::lock_guard lock(mutex_);
  bool changed = false;
  for (const fleet::NodeState& node : nodes) {
    Now& state = now_[node.node];
    changed = changed || !state.asked || state.answers != node.reachable || state.held_by != node.lease;
    state.asked = true;
    state.answers = node.reachable;
    state.held_by = node.lease;
    state.why = node.cause;
    if (node.reachable) state.heard = now;
  }
  return changed;
}

void Presence::touch(std::vector<NodeRow>& rows) const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) places[rows[i].name] = i;
  for (const auto& [name, state] : now_) {
    const auto [place, fresh] = places.emplace(name, rows.size());
    if (fresh) {
      rows.push_back({});
      rows.back().name = name;
      rows.back().level = state.asked ? Level::good : Level::unknown;
      if (!state.asked) rows.back().finding = "not asked yet";
    }
    if (!state.asked) continue;
    NodeRow& row = rows[place->second];
    row.held_by = state.held_by;
    row.answers = state.answers;
    row.seen = state.heard;
    if (state.answers) continue;
    row.silence = state.why;
    row.level = std::max(row.level, Level::silent);
  }
}

std::optional<std::string> Presence::holder() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, state] : now_)
    if (!state.held_by.empty()) return name + " is held by " + state.held_by;
  return std::nullopt;
}

}  // namespace ringtrue::tui
