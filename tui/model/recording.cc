#include "tui/model/recording.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace ringtrue::tui {
namespace {

using Json = nlohmann::json;

constexpr double largest = 1e18;  // of anything that is measured

// The members of each, once.
void each(auto&& f, auto& n) requires std::is_same_v<std::remove_cvref_t<decltype(n)>, NodeRow> {
  f("name", n.name), f("place", n.place), f("level", n.level), f("send", n.send), f("receive", n.receive);
  f("expected", n.expected), f("days", n.days), f("errors", n.errors_per_hour), f("held", n.held_by);
  f("finding", n.finding), f("answers", n.answers), f("silence", n.silence), f("seen", n.seen);
}
void each(auto&& f, auto& r) requires std::is_same_v<std::remove_cvref_t<decltype(r)>, FindingRow> {
  f("level", r.level), f("kind", r.kind), f("where", r.where), f("node", r.node), f("measured", r.measured);
  f("expected", r.expected), f("ratio", r.ratio), f("confidence", r.confidence), f("evidence", r.evidence);
  f("impact", r.impact), f("next", r.next), f("command", r.command), f("since", r.since);
  f("acknowledged", r.acknowledged);
}
void each(auto&& f, auto& l) requires std::is_same_v<std::remove_cvref_t<decltype(l)>, Matrix::Layer> {
  f("name", l.name), f("rate", l.rate);
}
void each(auto&& f, auto& m) requires std::is_same_v<std::remove_cvref_t<decltype(m)>, Matrix> {
  f("names", m.names), f("groups", m.groups), f("group", m.group), f("layers", m.layers),
      f("baseline", m.baseline);
  f("expected", m.expected), f("warning", m.warning), f("critical", m.critical);
}
void each(auto&& f, auto& l) requires std::is_same_v<std::remove_cvref_t<decltype(l)>, Line> {
  f("text", l.text), f("level", l.level);
}
void each(auto&& f, auto& n) requires std::is_same_v<std::remove_cvref_t<decltype(n)>, Topology::Node> {
  f("name", n.name), f("lines", n.lines);
}
void each(auto&& f, auto& t) requires std::is_same_v<std::remove_cvref_t<decltype(t)>, Topology> {
  f("nodes", t.nodes), f("fabric", t.fabric);
}
void each(auto&& f, auto& c) requires std::is_same_v<std::remove_cvref_t<decltype(c)>, CounterRow> {
  f("node", c.node), f("device", c.device), f("counter", c.counter), f("window", c.window),
      f("seconds", c.seconds);
  f("hour", c.hour), f("flaps", c.flaps), f("level", c.level);
}
void each(auto&& f, auto& s) requires std::is_same_v<std::remove_cvref_t<decltype(s)>, Suspect> {
  f("where", s.where), f("confidence", s.confidence), f("confirmed", s.confirmed);
}
void each(auto&& f, auto& s) requires std::is_same_v<std::remove_cvref_t<decltype(s)>, SizeRow> {
  f("bytes", s.bytes), f("time", s.time_s), f("busbw", s.busbw), f("ideal", s.ideal);
}
void each(auto&& f, auto& r) requires std::is_same_v<std::remove_cvref_t<decltype(r)>, Run> {
  f("state", r.state), f("what", r.what), f("phase", r.phase), f("step", r.step), f("answered", r.answered);
  f("of", r.of), f("matrix", r.matrix), f("suspects", r.suspects), f("sizes", r.sizes), f("bytes", r.bytes);
  f("runs", r.runs), f("budget", r.budget_s), f("used", r.used_s), f("verdict", r.verdict),
      f("error", r.error);
  f("level", r.level);
}
void each(auto&& f, auto& s) requires std::is_same_v<std::remove_cvref_t<decltype(s)>, History::Session> {
  f("when", s.when), f("verdict", s.verdict), f("text", s.text), f("level", s.level);
}
void each(auto&& f, auto& s) requires std::is_same_v<std::remove_cvref_t<decltype(s)>, History::Series> {
  f("name", s.name), f("when", s.when), f("value", s.value), f("low", s.low), f("high", s.high);
}
void each(auto&& f, auto& m) requires std::is_same_v<std::remove_cvref_t<decltype(m)>, History::Mark> {
  f("when", m.when), f("text", m.text), f("level", m.level);
}
void each(auto&& f, auto& h) requires std::is_same_v<std::remove_cvref_t<decltype(h)>, History> {
  f("sessions", h.sessions), f("series", h.series), f("marks", h.marks);
}
void each(auto&& f, auto& s) requires std::is_same_v<std::remove_cvref_t<decltype(s)>, Snapshot> {
  f("source", s.source), f("production", s.production), f("now", s.now), f("as_of", s.as_of);
  f("session", s.session), f("verdict", s.verdict), f("level", s.level), f("checked", s.checked),
      f("nodes", s.nodes);
  f("findings", s.findings), f("counters", s.counters), f("matrix", s.matrix), f("topology", s.topology);
  f("history", s.history), f("run", s.run), f("message", s.message);
}

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_shared = false;
template <class T>
inline constexpr bool is_shared<std::shared_ptr<const T>> = true;

template <class T>
Json put(const T& value) {
  if constexpr (std::is_same_v<T, Maybe>) {
    return value ? Json(*value) : Json(nullptr);
  } else if constexpr (std::is_same_v<T, float>) {  // NaN: unknown
    return value == value ? Json(double(value)) : Json(nullptr);
  } else if constexpr (std::is_enum_v<T>) {
    return int(value);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (is_list<T>) {
    Json out = Json::array();
    for (const auto& item : value) out.push_back(put(item));
    return out;
  } else if constexpr (is_shared<T>) {
    return value ? put(*value) : Json(nullptr);
  } else {
    Json out = Json::object();
    each([&](const char* key, const auto& member) { out[key] = put(member); }, value);
    return out;
  }
}

// Highest values of enumerations.
int most(Level) {
  return int(Level::critical);
}
int most(Run::State) {
  return int(Run::State::failed);
}

template <class T>
void get(const Json& json, T& value) {
  if constexpr (std::is_same_v<T, Maybe>) {
    if (json.is_number() && std::abs(json.get<double>()) <= largest) value = json.get<double>();
  } else if constexpr (std::is_same_v<T, float>) {
    const bool known = json.is_number() && std::abs(json.get<double>()) <= largest;
    value = known ? json.get<float>() : std::numeric_limits<float>::quiet_NaN();
  } else if constexpr (std::is_enum_v<T>) {
    if (json.is_number_unsigned() && json.get<std::uint64_t>() <= std::uint64_t(most(value)))
      value = T(json.get<int>());
  } else if constexpr (std::is_same_v<T, bool>) {
    if (json.is_boolean()) value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, int>) {
    if (json.is_number_integer() && json.get<std::int64_t>() >= -1 && json.get<std::int64_t>() < 1 << 30)
      value = json.get<int>();
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (json.is_number() && std::abs(json.get<double>()) <= largest) value = json.get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (json.is_string()) value = json.get<std::string>();
  } else if constexpr (is_list<T>) {
    if (!json.is_array()) return;
    for (const Json& item : json) {
      typename T::value_type one{};
      get(item, one);
      value.push_back(std::move(one));
    }
  } else if constexpr (is_shared<T>) {
    if (!json.is_object()) return;
    auto made = std::make_shared<std::remove_const_t<typename T::element_type>>();
    get(json, *made);
    value = std::move(made);
  } else {
    if (!json.is_object()) return;
    each(
        [&](const char* key, auto& member) {
          if (const auto found = json.find(key); found != json.end()) get(*found, member);
        },
        value);
  }
}

// A matrix whose parts do not fit one another is none.
void mend(std::shared_ptr<const Matrix>& matrix) {
  if (!matrix) return;
  const std::size_t n = matrix->names.size();
  bool fits = matrix->group.empty() || matrix->group.size() == n;
  for (const Matrix::Layer& layer : matrix->layers) fits = fits && layer.rate.size() == n * n;
  for (const int group : matrix->group) fits = fits && group < int(matrix->groups.size());
  if (!fits || (!matrix->baseline.empty() && matrix->baseline.size() != n * n)) matrix = nullptr;
}

}  // namespace

std::string to_line(const Snapshot& snapshot) {
  return put(snapshot).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Snapshot> read_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("now"))
    return fail(Cause::bad_input, "no recording of the dashboard: a line is none of its own");
  Snapshot out;
  get(json, out);
  mend(out.matrix);
  mend(out.run.matrix);
  return out;
}

}  // namespace ringtrue::tui
