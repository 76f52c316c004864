#include "collective/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "collective/chunks.h"

namespace ringtrue::collective {
namespace {

TEST(Algorithms, AreFoundByNameOrListed) {
  EXPECT_EQ((*find_algorithm("double-tree"))->program, &double_tree);
  const auto unknown = find_algorithm("bucket");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().cause, Cause::bad_input);
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_NE(unknown.error().next.find(algorithm.name), std::string::npos) << algorithm.name;
  }
}

TEST(Recorder, WritesTheRingDown) {
  Call call;
  call.elements = 6;
  const auto steps = record(**find_algorithm("ring"), Layout::one_node(3), 0, call);
  const auto at = [](Step::Kind kind) { return [kind](const Step& step) { return step.kind == kind; }; };
  EXPECT_EQ(std::count_if(steps.begin(), steps.end(), at(Step::Kind::send)), 4);
  EXPECT_EQ(std::count_if(steps.begin(), steps.end(), at(Step::Kind::reduce)), 1);
  EXPECT_EQ(std::count_if(steps.begin(), steps.end(), at(Step::Kind::reduce_last)), 1);
  EXPECT_EQ(std::count_if(steps.begin(), steps.end(), at(Step::Kind::receive)), 2);
  std::vector<std::uint64_t> sent;
  for (const Step& step : steps) {
    EXPECT_EQ(step.peer, step.kind == Step::Kind::send ? 1 : 2);
    EXPECT_EQ(step.slice.length, 8u);
    if (step.kind == Step::Kind::send) sent.push_back(step.slice.offset / 8);
  }
  EXPECT_EQ(sent, (std::vector<std::uint64_t>{0, 2, 1, 0}));
}

TEST(Recorder, SaysWhichOfSeveralSourcesCompletesTheSum) {
  Call call;
  call.elements = 6;
  std::vector<Step::Kind> kinds;
  record(**find_algorithm("naive"), Layout::one_node(3), 0, call,
         [&](const Step& step) { kinds.push_back(step.kind); });
  EXPECT_EQ(kinds,
            (std::vector{Step::Kind::reduce, Step::Kind::reduce_last, Step::Kind::send, Step::Kind::send}));
}

// What one end of a hop sends is what the other end expects, message by message.
TEST(Recorder, SeesBothEndsAgree) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.uses_packets()) continue;
    for (const Rank n : {2, 3, 6, 9, 16, 23}) {
      for (const Layout& layout : {Layout::one_node(n), Layout::uniform(n, 1)}) {
        Call call;
        call.elements = 1001;
        call.slice_bytes = 256;
        call.lanes = 3;
        std::map<std::tuple<Rank, Rank, Lane>, std::vector<std::uint64_t>> sent, received;
        for (Rank r = 0; r < n; ++r) {
          record(algorithm, layout, r, call, [&](const Step& step) {
            if (step.kind == Step::Kind::send) {
              sent[{r, step.peer, step.lane}].push_back(step.slice.length);
            } else if (step.kind != Step::Kind::copy) {
              received[{step.peer, r, step.lane}].push_back(step.slice.length);
            }
          });
        }
        EXPECT_EQ(sent, received) << algorithm.name << " " << n;
      }
    }
  }
}

// Connections that a transport makes: both ends want the same ones, and no call of any size needs another.
TEST(Edges, CoverEveryCallAndAgree) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.uses_packets()) continue;
    for (const Rank n : {1, 2, 3, 6, 7, 8, 12}) {
      for (const Layout& layout :
           {Layout::one_node(n), Layout::uniform(n, 1), Layout::uniform((n + 2) / 3, 3)}) {
        const Rank ranks = layout.ranks();
        Call call;
        call.lanes = 3;
        std::set<std::pair<Rank, Edge>> all;
        for (Rank r = 0; r < ranks; ++r) {
          const auto edges = edges_of(algorithm, layout, r, call);
          EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end()));
          EXPECT_EQ(std::adjacent_find(edges.begin(), edges.end()), edges.end());
          for (const Edge& edge : edges) all.insert({r, edge});
        }
        for (const auto& [r, edge] : all) {
          EXPECT_TRUE(all.contains({edge.peer, Edge{r, edge.lane}})) << algorithm.name << " " << ranks;
        }
        for (const std::uint64_t elements : {1u, 5u, 40u, 1000u, 70000u}) {
          call.elements = elements;
          call.slice_bytes = elements % 3 ? 4 : 300;
          for (Rank r = 0; r < ranks; ++r) {
            record(algorithm, layout, r, call, [&](const Step& step) {
              if (step.kind == Step::Kind::copy) return;
              ASSERT_TRUE(all.contains({r, Edge{step.peer, step.lane}}))
                  << algorithm.name << " ranks " << ranks << " elements " << elements << " peer " << step.peer
                  << " lane " << step.lane;
            });
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Edges, AreFewInARing) {
  Call call;
  const auto edges = edges_of(**find_algorithm("ring"), Layout::one_node(5000), 7, call);
  EXPECT_EQ(edges, (std::vector<Edge>{{6, 0}, {8, 0}}));
}

TEST(Barrier, HearsOfEverybody) {
  for (Rank n = 1; n <= 40; ++n) {
    // Who has (indirectly) heard of whom, round by round.
    const std::size_t count = std::size_t(n);
    std::vector<std::vector<Rank>> heard(count), told(count);
    for (Rank r = 0; r < n; ++r) {
      const Layout layout = Layout::one_node(n);
      Recorder paper(layout, r, [&](const Step& step) {
        EXPECT_EQ(step.lane, barrier_lane);
        EXPECT_EQ(step.slice.length, 0u);
        (step.kind == Step::Kind::send ? told : heard)[std::size_t(r)].push_back(step.peer);
      });
      Task program = barrier(paper);
      program.start();
      ASSERT_TRUE(program.finished());
    }
    std::vector<std::set<Rank>> knows(count);
    for (Rank r = 0; r < n; ++r) knows[std::size_t(r)] = {r};
    for (std::size_t round = 0; round < heard[0].size(); ++round) {
      const auto before = knows;
      for (Rank r = 0; r < n; ++r) {
        const Rank from = heard[std::size_t(r)][round];
        EXPECT_EQ(told[std::size_t(from)][round], r);
        knows[std::size_t(r)].insert(before[std::size_t(from)].begin(), before[std::size_t(from)].end());
      }
    }
    for (Rank r = 0; r < n; ++r) EXPECT_EQ(knows[std::size_t(r)].size(), count);
  }
}

TEST(Chunks, CoverEverythingOnce) {
  for (const std::uint64_t size : {0u, 1u, 7u, 100u, 1001u}) {
    for (std::uint64_t parts = 1; parts < 40; ++parts) {
      std::uint64_t at = 5;
      for (std::uint64_t i = 0; i < parts; ++i) {
        const Range range = part({5, 5 + size}, parts, i);
        EXPECT_EQ(range.begin, at);
        at = range.end;
        EXPECT_LE(range.size(), part({5, 5 + size}, parts, 0).size());
      }
      EXPECT_EQ(at, 5 + size);
    }
  }
}

}  // namespace
}  // namespace ringtrue::collective
