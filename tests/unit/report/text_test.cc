#include "report/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "hop.h"
#include "report/nagios.h"
#include "report/table.h"
#include "report/text/run_lines.h"

namespace ringtrue::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Table, AlignsColumns) {
  Table table({{"name", Table::Align::left}, {"n"}, {"note", Table::Align::left}});
  table.row({"a", "1", "x"});
  table.row({"long", "1000"});
  table.row({"\xc2\xb5", "\x1b[31m22\x1b[0m", "y"});
  EXPECT_EQ(table.text(1),
            " name     n  note\n"
            " a        1  x\n"
            " long  1000\n"
            " \xc2\xb5       \x1b[31m22\x1b[0m  y\n");
}

TEST(Style, PaintsOnlyWhereItMay) {
  EXPECT_EQ((Style{false}).paint("x", Ink::red), "x");
  EXPECT_EQ((Style{true}).paint("x", Ink::red), "\x1b[31mx\x1b[0m");
  EXPECT_EQ((Style{false}).heat("x", 0.5, 0.95, 0.85), "x");
  const Style style{true};
  EXPECT_NE(style.heat("x", 0.5, 0.95, 0.85), style.heat("x", 0.9, 0.95, 0.85));
  EXPECT_NE(style.heat("x", 0.9, 0.95, 0.85), style.heat("x", 0.99, 0.95, 0.85));
  EXPECT_TRUE(colour_allowed(Color::always, 99));
  EXPECT_FALSE(colour_allowed(Color::never, 1));
  EXPECT_FALSE(colour_allowed(Color::automatic, 99));  // no terminal
}

TEST(HeatMap, MarksSlowCells) {
  const RateMatrix rates = {
      {std::nullopt, 60e6, 55e6}, {30e6, std::nullopt, 60e6}, {60e6, 60e6, std::nullopt}};
  const std::string text = heat_map({"n0", "n1", "n2"}, rates, {60e6, 0.95, 0.85}, {});
  EXPECT_EQ(text,
            "rate, MB/s, rows send to columns\n"
            "         n0     n1     n2\n"
            "  n0     .   60.0   55.0?\n"
            "  n1  30.0!     .   60.0\n"
            "  n2  60.0   60.0      .\n"
            "  ? below 95 %, ! below 85 % of what is expected\n");
  EXPECT_THAT(heat_map({"n0", "n1", "n2"}, rates, {60e6, 0.95, 0.85}, {true}), HasSubstr("\x1b[48;5;"));
  EXPECT_EQ(heat_map({"a"}, {{std::nullopt}}, {}, {}), "");
  // Long names stand once.
  EXPECT_THAT(heat_map({"longnamed0", "b"}, {{std::nullopt, 2e9}, {1e9, std::nullopt}}, {}, {}),
              HasSubstr("[0] longnamed0"));
}

TEST(RunText, ShowsTheColumnsAndWhatIsWrong) {
  ops::RunDocument d;
  d.where = "2 ranks in this process";
  ops::RunResult r;
  r.algorithm = collective::AlgorithmId::ring;
  r.transports = {run::Transport::tcp};
  r.bytes = 1 << 20;
  r.count = 1 << 18;
  r.type = "float32";
  r.op = "sum";
  r.iterations = 5;
  r.time_s = ops::Spread{0.019, 0.020, 0.021};
  r.algbw_Bps = 52.4e6;
  r.busbw_Bps = 52.4e6;
  r.ideal_busbw_Bps = 62.5e6;
  r.ratio = 0.838;
  r.wrong = 3;
  r.wrong_by_rank = {0, 3};
  d.results = {r};
  d.hops = {hop(0, 1, 1 << 20, 0.01), hop(1, 0, 1 << 20, 0.02)};
  const std::string out = text(d, {});
  EXPECT_THAT(out, HasSubstr("busbw (MB/s)"));
  EXPECT_THAT(out, HasSubstr("83.8"));
  EXPECT_THAT(out, HasSubstr("wrong results: ring at 1048576 bytes: 3 elements, on rank 1"));
  EXPECT_LT(out.find("1 > 0"), out.find("0 > 1"));  // the slowest first
  d.results[0].busbw_Bps = std::nullopt;
  d.results[0].wrong = std::nullopt;
  EXPECT_THAT(text(d, {}), HasSubstr("N/A"));
}

ops::CheckDocument slow_sender() {
  ops::CheckDocument d;
  d.diagnosis.verdict = diagnosis::Verdict::faulty;
  d.diagnosis.nodes = {"node0", "node1", "node2"};
  diagnosis::Finding f;
  f.severity = diagnosis::Severity::critical;
  f.kind = diagnosis::FindingKind::slow_sender;
  f.scope.type = diagnosis::ScopeType::sender;
  f.scope.node = 1;
  f.scope.subject.node = "node1";
  f.measured = BytesPerSecond(30e6);
  f.expected = BytesPerSecond(60e6);
  f.ratio = 0.5;
  f.confidence = 0.99;
  f.evidence = {"slow | twice"};
  f.next = "look at its port";
  d.diagnosis.findings = {f};
  d.diagnosis.expected.value = BytesPerSecond(60e6);
  d.diagnosis.rates.assign(3, std::vector<std::optional<BytesPerSecond>>(3, BytesPerSecond(60e6)));
  d.diagnosis.rates[1][2] = BytesPerSecond(30e6);
  d.diagnosis.not_checked = {{diagnosis::StatementKind::unread_node, {"node1"}, {}, "none here"}};
  return d;
}

TEST(CheckText, NamesTheSlowWire) {
  const std::string out = text(slow_sender(), {});
  EXPECT_EQ(out.find("FAULTY  3 nodes, node[0-2]"), 0u);
  EXPECT_THAT(
      out, HasSubstr("critical  slow-sender: node1's sending side, 30.0 MB/s of 60.0 MB/s expected (50 %), "
                     "99 % sure"));
  EXPECT_THAT(out, HasSubstr("next: look at its port"));
  EXPECT_THAT(out, HasSubstr("30.0!"));
  EXPECT_THAT(out, HasSubstr("not checked: what is in node1 (none here)"));
  EXPECT_THAT(out, Not(HasSubstr("\x1b")));
}

TEST(CheckText, FitsProseAndNoCommand) {
  ops::CheckDocument d = slow_sender();
  d.diagnosis.findings[0].evidence = {"a sentence that is somewhat longer than forty columns are"};
  d.diagnosis.findings[0].command = "ringtrue sweep --hosts node1:7464,node2:7464 --insecure";
  const std::string out = text(d, {false, 40});
  EXPECT_THAT(out,
              HasSubstr("          - a sentence that is somewhat\n            longer than forty columns\n"));
  EXPECT_THAT(out, HasSubstr("to reproduce: ringtrue sweep --hosts node1:7464,node2:7464 --insecure\n"));
}

TEST(CheckText, NamesWhatMostReach) {
  ops::CheckDocument d = slow_sender();
  d.diagnosis.expected.origin = ideal::Origin::declared;
  EXPECT_THAT(text(d, {}), Not(HasSubstr("compared with")));
  d.diagnosis.expected.of_most = BytesPerSecond(57e6);
  EXPECT_THAT(text(d, {}), HasSubstr("\nexpected rate of a hop: 60.0 MB/s (declared)\n"
                                     "compared with: 57.0 MB/s, 95.0 % of that, which most nodes reach\n"));
  d.diagnosis.findings.emplace_back().kind = diagnosis::FindingKind::mixed_generations;
  EXPECT_THAT(text(d, {}), HasSubstr("95.0 % of that, which most nodes reach for their ports\n"));
}

TEST(CheckText, MarksWhatIsBelowMost) {
  ops::CheckDocument d = slow_sender();
  d.diagnosis.verdict = diagnosis::Verdict::healthy;
  d.diagnosis.findings.clear();
  for (auto& row : d.diagnosis.rates)
    for (auto& rate : row)
      if (rate) rate = BytesPerSecond(55e6);
  EXPECT_THAT(text(d, {}), HasSubstr("low rates in the matrix"));
  d.diagnosis.expected.of_most = BytesPerSecond(56e6);
  EXPECT_THAT(text(d, {}), Not(HasSubstr("low rates in the matrix")));
  EXPECT_THAT(text(d, {}), Not(HasSubstr("55.0?")));
}

TEST(SweepText, ShowsPortsWithTheirCounters) {
  ops::SweepDocument d;
  d.nodes = {"a", "b"};
  d.transport = "verbs";
  d.bytes = 1 << 20;
  d.rate_Bps = {{std::nullopt, 5e8}, {1e9, std::nullopt}};
  d.latency_s = {{std::nullopt, 2.25e-6}, {3e-3, std::nullopt}};
  d.latency_origin = "latency (half of a round trip)";
  d.expected_Bps = 1e9;
  d.port_pairs = 8;
  d.notes = {"a note"};
  const ops::SweepEnd a{"a", run::RdmaPort{"rxe0", 1}}, b{"b", run::RdmaPort{"rxe1", 1}};
  d.pairs = {{a, b, 5e8, 2.25e-6, 0.5, {}}, {b, a, 1e9, 3e-3, 1, {}}, {a, a, std::nullopt, {}, {}, {}}};
  d.pairs[0].counters["b"] = {1, {{"rxe1/1", "out_of_seq_request", 0, 7, false, false}}};
  const std::string out = text(d, Style{false});
  EXPECT_THAT(out, HasSubstr("latency (half of a round trip), us"));
  EXPECT_THAT(out, HasSubstr("2.2"));
  EXPECT_THAT(out, HasSubstr("3000"));
  EXPECT_THAT(out, HasSubstr("500 MB/s!"));
  EXPECT_THAT(out, HasSubstr("b rxe1 port 1: 7 requests out of sequence"));
  EXPECT_THAT(out, HasSubstr("pairs of ports of different nodes: 2 of 8 measured; --per-port measures all"));
  EXPECT_THAT(out, HasSubstr("note: a note"));
  // Of very many only those that have something to say.
  d.pairs.resize(1);
  for (int i = 0; i < 100; ++i) d.pairs.push_back({b, a, 1e9, 1e-6, 1, {}});
  EXPECT_THAT(text(d, Style{false}), HasSubstr("and 100 more pairs; --json has all"));
}

TEST(Nagios, IsOneLine) {
  ops::CheckDocument d = slow_sender();
  EXPECT_EQ(nagios(d),
            "CRITICAL: slow-sender node1's sending side, 30.0 MB/s of 60.0 MB/s | "
            "slowest_hop_Bps=30000000;57000000:;51000000:\n");
  d.diagnosis.findings.clear();
  d.diagnosis.verdict = diagnosis::Verdict::healthy;
  EXPECT_EQ(nagios(d).find("OK: 3 nodes, node[0-2] |"), 0u);
  auto upgraded = d;
  upgraded.diagnosis.not_checked.push_back({diagnosis::StatementKind::daemon_stopping});
  EXPECT_EQ(nagios(upgraded).find("OK: 2 of 3 nodes, node[0-2] |"), 0u);
  ops::CheckDocument lost;
  lost.error = ops::Trouble{{Cause::unreachable, "no | route", "node1 lease", ""}, {}};
  EXPECT_EQ(nagios(lost), "UNKNOWN: node1 lease: no / route\n");
}

TEST(Failures, NameNodeAndPhase) {
  ops::Trouble t{{Cause::deadline, "x", "", ""}, {}};
  for (int i = 0; i < 20; ++i)
    t.failures.push_back({"n" + std::to_string(i), Phase::run, {Cause::deadline, "late", "", ""}, i == 0});
  const std::string out = failures_text(t, {});
  EXPECT_EQ(out.find("  n0 run: late\n  n1 run: late (waited for the others)\n"), 0u);
  EXPECT_THAT(out, HasSubstr("and 4 more nodes"));
  EXPECT_EQ(deadlines_text(ops::Deadlines{10, 60}, t), "timeouts: 10.0 s per phase, 60.0 s per run\n");
  EXPECT_EQ(deadlines_text(std::nullopt, t), "");
}

TEST(Failures, AreNotSaidTwice) {
  ops::Trouble t{{Cause::unavailable, "no driver; also n1", "n0 prepare", ""}, {}};
  for (const char* node : {"n0", "n1"})
    t.failures.push_back({node, Phase::prepare, {Cause::unavailable, "no driver", "", ""}, true});
  EXPECT_EQ(failures_text(t, {}), "");
  EXPECT_EQ(deadlines_text(ops::Deadlines{10, 60}, t), "") << "nobody was waited for";
  t.failures[1].error.what = "no GPU";
  EXPECT_EQ(failures_text(t, {}), "  n0 prepare: no driver\n  n1 prepare: no GPU\n");
}

TEST(Schedule, DrawsTrees) {
  ops::ScheduleDocument d;
  d.algorithm = collective::AlgorithmId::double_tree;
  d.ranks = 3;
  d.steps_omitted = true;
  d.trees = {{{-1, {2}}, {2, {}}, {0, {1}}}};
  std::string out;
  const Write write = [&](std::string_view piece) { return out += piece, true; };
  write_text(d, write);
  EXPECT_THAT(out, HasSubstr("  0\n  `-- 2\n      `-- 1\n"));
  out.clear();
  write_dot(d, write);
  EXPECT_THAT(out, HasSubstr("0 -> 2 [color=black];"));
}

TEST(Text, OmnireduceShowsItsRingItsModelAndTheSlowestAggregator) {
  ops::RunDocument d;
  d.where = "8 ranks on 8 nodes";
  ops::RunResult r;
  r.algorithm = collective::AlgorithmId::omnireduce;
  r.transports = {run::Transport::tcp};
  r.bytes = 1024;
  r.time_s = ops::Spread{1e-3, 1e-3, 1e-3};
  ops::RunResult ring = r;
  ring.algorithm = collective::AlgorithmId::ring;
  ring.wrong = 5;
  ring.wrong_by_rank = {0, 5};
  ops::OmniResult o;
  o.shape.workers = 4;
  o.shape.aggregators = 3;
  o.placement = "dedicated";
  o.shape.block = 256;
  o.shape.streams = 6;
  o.shape.fusion = 8;
  o.bytes_sent = 1024;
  o.bytes_dense = 4096;
  o.counts.worker_packets = {3, 9};
  o.counts.worker_blocks = {4, 4};
  o.model = ops::OmniModel{1e-3, 4.0, 1e-3, 2e-3};
  o.ring = ops::OmniRing{{run::Transport::tcp}, 3e-3, std::nullopt, 3.0, 5};
  o.share = 0.75;
  o.receive = {{4, "a0", 512, 60e6}, {5, "a1", 512, 20e6}, {6, "a2", 512, 61e6}};
  r.omni = o;
  d.results = {r};
  d.rings = {ring};
  d.hops = {hop(0, 5, 256, 1e-3), hop(0, 4, 512, 1e-3)};
  d.rank_nodes = {"n0", "n1", "n2", "n3", "a0", "a1", "a2"};
  d.notes = {"smaller blocks"};
  const std::string out = text(d, {});
  EXPECT_THAT(out, HasSubstr("25.0 %"));
  EXPECT_THAT(out, HasSubstr("each 3 to 9 packets, 4 blocks in all"));
  EXPECT_THAT(
      out, HasSubstr("ring on the same data: 3.00 ms; omnireduce is 3.00x as fast, 75.0 % of the model's"));
  EXPECT_THAT(out, HasSubstr("s):\n  aggregator 1 on a1"));
  EXPECT_THAT(out, HasSubstr("0 (n0) > aggregator 1 (a1)"));
  EXPECT_THAT(out, HasSubstr("wrong results: ring at 1024 bytes: 5 elements, on rank 1"));
  EXPECT_THAT(out, HasSubstr("note: smaller blocks"));
  d.results[0].omni->model.reset();
  EXPECT_THAT(text(d, {}), HasSubstr("unknown without --link-rate"));
}

// As sizes are measured, so that what was printed stays as it is.
TEST(RunText, ComesInRowsThatFitEachOther) {
  ops::RunDocument d;
  d.where = "2 ranks in this process";
  const Style style;
  RunLines lines(style, true);
  std::string printed;
  EXPECT_EQ(lines.next(d), "");
  for (const std::uint64_t bytes : {1ull << 10, 1ull << 20, 1ull << 33}) {
    ops::RunResult r;
    r.algorithm = collective::AlgorithmId::ring;
    r.transports = {run::Transport::tcp};
    r.bytes = bytes;
    r.count = bytes / 4;
    r.type = "float32";
    r.op = "sum";
    r.time_s = ops::Spread{1, 1, 1};
    r.algbw_Bps = r.busbw_Bps = double(bytes) / 10;
    r.wrong = 0;
    d.results.push_back(r);
    const std::string next = lines.next(d);
    EXPECT_EQ(std::count(next.begin(), next.end(), '\n'), d.results.size() == 1 ? 3 : 1) << next;
    EXPECT_EQ(lines.next(d), "") << "told twice";
    printed += next;
  }
  d.notes = {"a note"};
  printed += lines.rest(d);
  EXPECT_EQ(printed, RunLines(style, true).rest(d));
  EXPECT_THAT(printed, testing::EndsWith("note: a note\n"));
  EXPECT_THAT(printed, HasSubstr("8589934592"));
}

}  // namespace
}  // namespace ringtrue::report
