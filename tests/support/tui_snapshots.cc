#include "tests/support/tui_snapshots.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace ringtrue::tui {
namespace {

constexpr double now = 1'790'000'000;
constexpr double expected = 59.8e6;

std::string name_of(int node, Condition condition) {
  if (condition == Condition::hostile && node % 4 == 1) {
    static const char* const names[] = {"東京-計算機", "e\xcc\x81\xcc\x82\xcc\x83xe",
                                        "\x1b[2J\x1b]0;x\x07node", "שלום-7"};
    return fmt::format("{}{}", names[node / 4 % 4], node);
  }
  if (condition == Condition::hostile && node % 8 == 3)
    return fmt::format("a-name-that-is-far-longer-than-any-column-of-a-table-{}", node);
  return fmt::format("node{:04}", node);
}

// 0.97 to 1.02, and one in 13 slow.
double share_of(int node, int other, Condition condition) {
  const double wave = 0.995 + 0.024 * std::sin(node * 1.7 + other * 0.9);
  return condition != Condition::healthy && node % 13 == 5 ? wave * 0.51 : wave;
}

NodeRow node_of(int i, Condition condition) {
  NodeRow n;
  n.name = name_of(i, condition);
  n.place = fmt::format("leaf{:02}", i / 16);
  n.expected = expected;
  n.send = share_of(i, 3, condition) * expected;
  n.receive = expected * 1.01;
  n.seen = now - 4;
  n.errors_per_hour = 0;
  n.level = Level::good;
  for (int day = 0; day < 14; ++day)
    n.days.emplace_back(day < 9 ? 1.0 - 0.01 * (day % 3) : share_of(i, day, condition));
  if (condition == Condition::healthy) return n;
  if (i % 13 == 5) {
    n.level = Level::critical;
    n.finding = "slow-sender 51 % (93 % sure)";
  }
  if (i % 29 == 7) {
    n.level = Level::warning;
    n.errors_per_hour = 412;
    n.finding = "symbol errors on mlx5_0";
    n.held_by = condition == Condition::hostile ? hostile_text() : "alice@login1 (check)";
  }
  if (i % 31 == 4) {
    n.answers = false;
    n.level = Level::silent;
    n.silence = condition == Condition::hostile ? hostile_text() : "connection refused";
    n.seen = now - 250;
    n.send = n.receive = n.errors_per_hour = {};
  }
  if (i % 37 == 6)
    n.send = n.receive = n.expected = n.errors_per_hour = {}, n.level = Level::unknown, n.days = {{}, {}};
  return n;
}

}  // namespace

std::string hostile_text() {
  return "\x1b[31mred\x1b]0;title\x07\x1b]52;c;cm0gLXJm\x1b\\\xc2\x9b"
         "2J\xe2\x80\xae"
         "drawkcab\xe2\x81\xa6 \xff\xfe 東京 e\xcc\x81\r\n\tend";
}

Snapshot fleet_of(int nodes, Condition condition) {
  Snapshot s;
  s.source = condition == Condition::hostile ? hostile_text() : "gpu-a";
  s.production = condition != Condition::healthy;
  s.now = now;
  s.verdict = condition == Condition::healthy ? "healthy" : "faulty";
  s.level = condition == Condition::healthy ? Level::good : Level::critical;
  s.checked = now - 190;
  const std::size_t n = std::size_t(nodes);
  auto matrix = std::make_shared<Matrix>();
  auto topology = std::make_shared<Topology>();
  auto history = std::make_shared<History>();
  matrix->expected = expected;
  matrix->layers = {{"all", std::vector<float>(n * n)}, {"mlx5_0", std::vector<float>(n * n)}};
  for (int i = 0; i < nodes; ++i) {
    s.nodes.push_back(node_of(i, condition));
    matrix->names.push_back(s.nodes.back().name);
    matrix->group.push_back(i / 16);
    if (i % 16 == 0) matrix->groups.push_back(fmt::format("leaf{:02}", i / 16));
    for (int j = 0; j < nodes; ++j) {
      const bool unknown = i == j || (i * 7 + j * 3) % 11 == 0;
      const float rate =
          unknown ? std::numeric_limits<float>::quiet_NaN() : float(share_of(i, j, condition) * expected);
      matrix->layers[0].rate[std::size_t(i) * n + std::size_t(j)] = rate;
      matrix->layers[1].rate[std::size_t(i) * n + std::size_t(j)] = rate / 2;
    }
    Topology::Node node{s.nodes.back().name, {}};
    for (int line = 0; line < 30; ++line)
      node.lines.push_back({fmt::format("{}GPU{} 0000:{:02x}:00.0, PCIe 5.0 x16",
                                        std::string(std::size_t(line % 4) * 2, ' '), line, line),
                            condition != Condition::healthy && line == 7 ? Level::warning : Level::good});
    topology->nodes.push_back(std::move(node));
  }
  matrix->baseline = matrix->layers[0].rate;
  topology->fabric = {{"2 leaves of 40 ports", Level::good},
                      {"leaf00 -> spine1: 3 of 4 cables", Level::warning}};
  if (condition != Condition::healthy)
    for (int i = 0; i < nodes; ++i) {
      if (i % 13 != 5) continue;
      FindingRow f;
      f.level = Level::critical;
      f.kind = "slow-sender";
      f.node = s.nodes[std::size_t(i)].name;
      f.where = f.node + "'s sending side";
      f.measured = 30.6e6;
      f.expected = expected;
      f.ratio = 0.51;
      f.confidence = 0.93;
      f.evidence = {
          f.node + " sends at most 30.6 MB/s to any of 7 partners (9 readings in 9 experiments)",
          "each of these partners receives 60.5 MB/s or more with others",
          condition == Condition::hostile ? hostile_text() : "it receives 60.5 MB/s: that side is fine"};
      f.impact = "fixing it: 30.1 MB/s -> 59.8 MB/s busbw";
      f.next = "on " + f.node + ", look at what it sends through: port speed, shaping, errors on its cable";
      f.command = "ringtrue check --hosts " + f.node;
      f.since = now - 5 * 86400;
      s.findings.push_back(std::move(f));
    }
  if (condition != Condition::healthy)
    for (int i = 0; i < nodes; ++i)
      if (i % 29 == 7)
        s.counters.push_back({s.nodes[std::size_t(i)].name, "mlx5_0/1", "symbol_error", 412, 10, 1234,
                              i % 2 == 1, Level::warning});
  for (int day = 0; day < 14; ++day) {
    const bool bad = condition != Condition::healthy && day >= 9;
    history->sessions.push_back({now - (13 - day) * 86400.0 - 190, bad ? "faulty" : "healthy",
                                 bad ? "slow-sender: node0005" : "nothing was found",
                                 bad ? Level::critical : Level::good});
  }
  for (const NodeRow& node : s.nodes) {
    if (history->series.size() == 16) break;
    History::Series series;
    series.name = node.name + " sends";
    for (std::size_t day = 0; day < history->sessions.size(); ++day) {
      series.when.push_back(history->sessions[day].when);
      const Maybe share = day < node.days.size() ? node.days[day] : Maybe();
      series.value.push_back(share ? Maybe(*share * expected) : Maybe());
    }
    series.low = 0.96 * expected;
    series.high = 1.02 * expected;
    history->series.push_back(std::move(series));
  }
  if (condition != Condition::healthy)
    history->marks.push_back({now - 4.5 * 86400, "cable replaced", Level::info});
  s.run.state = condition == Condition::healthy ? Run::State::none : Run::State::running;
  s.run.what = "check of " + std::to_string(nodes) + " nodes";
  s.run.phase = "run";
  s.run.step = "pairs: shift 2 of 7";
  s.run.answered = s.run.of = nodes;
  s.run.matrix = matrix;
  s.run.suspects = {{s.nodes.size() > 5 ? s.nodes[5].name + "'s sending side" : "a side", 0.87, false}};
  s.run.sizes = {{1024, 0.001, 12e6, 59.8e6}, {1048576, 0.02, 58e6, 59.8e6}, {67108864, 1.2, {}, 59.8e6}};
  s.run.bytes = 2.3 * 1024 * 1024 * 1024;
  s.run.runs = 12;
  s.run.budget_s = 16;
  s.run.used_s = 9;
  s.offer = {true, "", "check of " + std::to_string(nodes) + " nodes",
             "18 runs, 9 s, 2.3 GiB, held by nobody"};
  s.matrix = std::move(matrix);
  s.topology = std::move(topology);
  s.history = std::move(history);
  return s;
}

}  // namespace ringtrue::tui
