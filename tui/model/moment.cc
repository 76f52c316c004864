#include "tui/model/moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace ringtrue::tui {
namespace {

constexpr double day = 86400;
constexpr int days_shown = 14;
constexpr std::size_t series_at_most = 64;
constexpr std::size_t baseline_of = 20;   // sessions
constexpr std::size_t baseline_from = 3;  // fewer say nothing
constexpr std::size_t baseline_nodes = 256;

Maybe median(std::vector<double> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool same(const FindingRow& a, const FindingRow& b) {
  const auto share = [](const FindingRow& group, const FindingRow& other) {
    return std::any_of(group.members.begin(), group.members.end(),
                       [&](const std::string& name) { return other.is_about(name); });
  };
  return a.kind == b.kind && (a.where == b.where || share(a, b) || share(b, a));
}

std::string short_text(const FindingRow& f) {
  std::string text = f.kind;
  if (f.ratio) text += fmt::format(" {:.0f} %", *f.ratio * 100);
  if (f.confidence > 0) text += fmt::format(" ({:.0f} % sure)", f.confidence * 100);
  return text;
}

Maybe worse_share(const Sides& sides, const Maybe& expected) {
  if (!expected || *expected <= 0 || (!sides.send && !sides.receive)) return {};
  const double infinity = std::numeric_limits<double>::infinity();
  return std::min(sides.send.value_or(infinity), sides.receive.value_or(infinity)) / *expected;
}

}  // namespace

Sides sides_of(const Matrix& m, std::size_t node) {
  std::vector<double> sent, received;
  for (std::size_t other = 0; other < m.names.size(); ++other) {
    if (const Maybe rate = m.rate(0, node, other)) sent.push_back(*rate);
    if (const Maybe rate = m.rate(0, other, node)) received.push_back(*rate);
  }
  return {median(std::move(sent)), median(std::move(received))};
}

Timeline::Timeline(Moments moments, const std::vector<History::Mark>& marks) : moments_(std::move(moments)) {
  std::stable_sort(moments_.begin(), moments_.end(),
                   [](const auto& a, const auto& b) { return a->when < b->when; });
  auto history = std::make_shared<History>();
  std::vector<std::string> order;  // nodes that something was found of first
  std::set<std::string> seen;
  const auto remember = [&](const std::string& node) {
    if (!node.empty() && seen.insert(node).second) order.push_back(node);
  };
  const std::vector<FindingRow> none;
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    const Moment& m = *moments_[i];
    SidesByNode sides = m.sides;
    if (m.matrix)
      for (std::size_t node = 0; node < m.matrix->names.size(); ++node)
        sides.insert_or_assign(m.matrix->names[node], sides_of(*m.matrix, node));
    sides_.push_back(std::move(sides));
    history->sessions.push_back({m.when, m.verdict, m.text, m.level});
    const auto& before = i > 0 ? moments_[i - 1]->findings : none;
    const auto in = [](const std::vector<FindingRow>& list, const FindingRow& f) {
      return std::any_of(list.begin(), list.end(), [&](const FindingRow& other) { return same(other, f); });
    };
    for (const FindingRow& f : m.findings)
      if (f.level >= Level::warning && !in(before, f))
        history->marks.push_back({m.when, f.kind + ": " + f.where, f.level});
    for (const FindingRow& f : before)
      if (f.level >= Level::warning && !in(m.findings, f))
        history->marks.push_back({m.when, "recovered: " + f.where, Level::good});
  }
  history->marks.insert(history->marks.end(), marks.begin(), marks.end());
  std::stable_sort(history->marks.begin(), history->marks.end(),
                   [](const History::Mark& a, const History::Mark& b) { return a.when < b.when; });
  for (auto m = moments_.rbegin(); m != moments_.rend(); ++m)
    for (const FindingRow& f : (*m)->findings) {
      remember(f.node);
      for (const std::string& member : f.members) remember(member);
    }
  if (!moments_.empty())
    for (const std::string& node : moments_.back()->nodes) remember(node);
  for (const std::string& node : order) {
    if (history->series.size() >= series_at_most) break;
    for (const bool sends : {true, false}) {
      History::Series series;
      series.name = node + (sends ? " sends" : " receives");
      std::vector<double> known;
      for (std::size_t i = 0; i < moments_.size(); ++i) {
        const auto at = sides_[i].find(node);
        const Maybe value = at == sides_[i].end() ? Maybe() : sends ? at->second.send : at->second.receive;
        series.when.push_back(moments_[i]->when);
        series.value.push_back(value);
        if (value) known.push_back(*value);
      }
      if (known.empty()) continue;
      if (known.size() >= baseline_from) {
        // Half of the time and more it was as it should be.
        std::sort(known.begin(), known.end());
        series.high = known[known.size() * 9 / 10];
        series.low = std::min(*series.high, std::max(known[known.size() / 2] * 0.95, known.front()));
      }
      history->series.push_back(std::move(series));
    }
  }
  history_ = std::move(history);
}

int Timeline::session_at(double when) const {
  int found = -1;
  for (std::size_t i = 0; i < moments_.size(); ++i)
    if (moments_[i]->when <= when) found = int(i);
  return found;
}

Maybe Timeline::since(std::size_t session, const FindingRow& finding) const {
  std::size_t first = session;
  for (std::size_t i = session; i-- > 0;) {
    const auto& list = moments_[i]->findings;
    if (std::none_of(list.begin(), list.end(), [&](const FindingRow& f) { return same(f, finding); })) break;
    first = i;
  }
  return moments_[first]->when;
}

std::vector<NodeRow> Timeline::nodes_of(std::size_t session) const {
  const Moment& m = *moments_[session];
  std::map<std::string, NodeRow> rows;
  for (const std::string& node : m.nodes) {
    NodeRow row;
    row.name = node;
    row.expected = m.expected;
    row.seen = m.when;
    if (m.counted.contains(node)) row.errors_per_hour = 0;
    if (const auto at = sides_[session].find(node); at != sides_[session].end()) {
      row.send = at->second.send;
      row.receive = at->second.receive;
    }
    if (row.send || row.receive || m.level == Level::good) row.level = Level::good;
    // A day each, the worst of it.
    row.days.assign(days_shown, {});
    for (std::size_t i = 0; i <= session; ++i) {
      const int back = int(std::floor((m.when - moments_[i]->when) / day));
      if (back < 0 || back >= days_shown) continue;
      const auto at = sides_[i].find(node);
      if (at == sides_[i].end()) continue;
      const Maybe share = worse_share(at->second, moments_[i]->expected);
      Maybe& of_day = row.days[std::size_t(days_shown - 1 - back)];
      if (share) of_day = std::min(of_day.value_or(*share), *share);
    }
    rows.emplace(node, std::move(row));
  }
  for (const CounterRow& c : m.counters)
    if (const auto row = rows.find(c.node); row != rows.end() && c.seconds > 0 && c.level >= Level::warning)
      row->second.errors_per_hour = row->second.errors_per_hour.value_or(0) + c.window * 3600 / c.seconds;
  for (const FindingRow& f : m.findings) {
    const auto mark = [&](const std::string& node) {
      const auto row = rows.find(node);
      if (row == rows.end()) return;
      if (f.level > row->second.level || row->second.finding.empty()) row->second.finding = short_text(f);
      row->second.level = std::max(row->second.level, f.level);
    };
    if (f.members.empty()) mark(f.node);
    for (const std::string& member : f.members) mark(member);
  }
  for (const auto& [node, why] : m.silent)
    if (const auto row = rows.find(node); row != rows.end()) {
      row->second.answers = false;
      row->second.silence = why;
      row->second.level = std::max(row->second.level, Level::silent);
    }
  std::vector<NodeRow> out;
  for (const std::string& node : m.nodes)
    if (const auto row = rows.find(node); row != rows.end()) {
      if (m.matrix && m.matrix->group.size() == m.matrix->names.size())
        for (std::size_t i = 0; i < m.matrix->names.size(); ++i)
          if (m.matrix->names[i] == node && m.matrix->group[i] >= 0)
            row->second.place = m.matrix->groups[std::size_t(m.matrix->group[i])];
      out.push_back(std::move(row->second));
      rows.erase(row);  // named twice, shown once
    }
  return out;
}

std::shared_ptr<const Matrix> Timeline::with_baseline(std::size_t session) const {
  const auto& now = moments_[session]->matrix;
  if (!now || now->names.size() > baseline_nodes || session < baseline_from) return now;
  const std::size_t n = now->names.size(), first = session > baseline_of ? session - baseline_of : 0;
  std::vector<const Matrix*> earlier;
  for (std::size_t i = first; i < session; ++i)
    if (const auto& m = moments_[i]->matrix; m && m->names == now->names) earlier.push_back(m.get());
  if (earlier.size() < baseline_from) return now;
  auto out = std::make_shared<Matrix>(*now);
  out->baseline.assign(n * n, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<double> values;
      for (const Matrix* m : earlier)
        if (const Maybe rate = m->rate(0, i, j)) values.push_back(*rate);
      if (values.size() >= baseline_from) out->baseline[i * n + j] = float(*median(std::move(values)));
    }
  return out;
}

Snapshot Timeline::snapshot(int session, double now) const {
  Snapshot s;
  s.now = now;
  s.history = history_;
  if (moments_.empty()) return s;
  const bool past = session >= 0 && session < size();
  const std::size_t at = past ? std::size_t(session) : moments_.size() - 1;
  const Moment& m = *moments_[at];
  if (past) {
    s.session = session;
    s.as_of = s.now = m.when;
  }
  s.verdict = m.verdict;
  s.level = m.level;
  s.checked = m.when;
  s.nodes = nodes_of(at);
  s.findings = m.findings;
  for (FindingRow& f : s.findings) f.since = since(at, f);
  s.counters = m.counters;
  for (CounterRow& c : s.counters) {
    // What checks of the hour before saw; all of them are windows, not the whole hour.
    double sum = 0;
    for (std::size_t i = 0; i <= at; ++i) {
      if (moments_[i]->when < m.when - 3600) continue;
      for (const CounterRow& other : moments_[i]->counters)
        if (other.node == c.node && other.device == c.device && other.counter == c.counter)
          sum += other.window;
    }
    c.hour = sum;
    c.flaps =
        c.counter.find("carrier") != std::string::npos || c.counter.find("link_down") != std::string::npos;
  }
  s.matrix = with_baseline(at);
  return s;
}

}  // namespace ringtrue::tui
