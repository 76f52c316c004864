// Leaves from round trips: of nodes in order and in any, with scatter; none where there are none.
#include "diagnosis/infer/leaf_guess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "wires.h"

namespace ringtrue::diagnosis {
namespace {

struct Fabric {
  std::vector<int> leaf;  // by node
  double near = 4e-6, far = 6e-6;
  double scatter = 0;  // each round trip is longer by up to this
  int leaves_a_pod = 0;
  double across_pods = 0;  // seconds more, where there are pods
  std::mt19937_64 random{1};

  Observation play(const LeafGuess::NodePairs& pairs) {
    Observation out;
    std::uniform_real_distribution<double> more(0, scatter);
    for (const auto& [x, y] : pairs)
      for (const auto& [from, to] : {std::pair(x, y), std::pair(y, x)}) {
        HopReading hop;
        hop.source = from, hop.destination = to;
        const int a = leaf[std::size_t(x)], b = leaf[std::size_t(y)];
        const bool pods = leaves_a_pod > 0 && a / leaves_a_pod != b / leaves_a_pod;
        hop.latency = Seconds(((a == b ? near : far) + (pods ? across_pods : 0)) * (1 + more(random)));
        out.hops.push_back(hop);
      }
    return out;
  }
};

std::vector<int> in_leaves(int nodes, int size, bool any_order) {
  std::vector<int> out;
  for (int node = 0; node < nodes; ++node) out.push_back(node / size);
  std::mt19937_64 random(7);
  if (any_order) std::shuffle(out.begin(), out.end(), random);
  return out;
}

// Asks until nothing more would tell.
LeafGuess asked(Fabric& fabric, const std::function<void(Observation&)>& tamper = {}, int* runs = nullptr) {
  const int n = int(fabric.leaf.size());
  std::vector<int> nodes(std::size_t(n), 0);
  std::iota(nodes.begin(), nodes.end(), 0);
  LeafGuess guess(n);
  for (int turn = 0; turn < 200; ++turn) {
    const auto pairs = guess.next(nodes, 8, 1);
    if (pairs.empty()) break;
    std::vector<int> times(std::size_t(n), 0);
    for (const auto& [x, y] : pairs) {
      EXPECT_NE(x, y);
      EXPECT_LE(++times[std::size_t(x)], 8);
      EXPECT_LE(++times[std::size_t(y)], 8);
    }
    Observation seen = fabric.play(pairs);
    if (tamper) tamper(seen);
    guess.add(seen);
    if (runs) ++*runs;
  }
  return guess;
}

std::vector<int> guess_of(Fabric& fabric, int* runs = nullptr) {
  return asked(fabric, {}, runs).leaves();
}

// Pairs that are together in one and not in the other.
int differences(const std::vector<int>& a, const std::vector<int>& b) {
  int out = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) out += (a[i] == a[j]) != (b[i] == b[j]);
  return out;
}

TEST(LeafGuess, FindsLeavesInOrderAndInAny) {
  for (const bool any : {false, true})
    for (const int size : {4, 8, 16, 32})
      for (const int nodes : {2 * size, 8 * size, 16 * size}) {
        Fabric fabric{in_leaves(nodes, size, any)};
        int runs = 0;
        const auto leaves = guess_of(fabric, &runs);
        ASSERT_EQ(leaves.size(), fabric.leaf.size()) << size << " " << nodes << " " << any;
        EXPECT_EQ(differences(leaves, fabric.leaf), 0) << size << " " << nodes << " " << any;
        EXPECT_LE(runs, 40);
      }
}

TEST(LeafGuess, FindsThemThoughRoundTripsScatter) {
  for (const bool any : {false, true}) {
    Fabric fabric{in_leaves(64, 8, any)};
    fabric.near = 40e-6, fabric.far = 44e-6, fabric.scatter = 0.08;
    const auto leaves = guess_of(fabric);
    if (leaves.empty()) continue;  // no guess is no mistake
    int wrong = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) wrong += leaves[i] == leaves[j] && fabric.leaf[i] != fabric.leaf[j];
    EXPECT_EQ(wrong, 0) << any;
  }
}

// One round trip of each pair tells kinds of 5 % apart no more where they scatter by 5 %; the least of
// several does.
TEST(LeafGuess, TheLeastOfSeveralTellsKindsApart) {
  for (const bool any : {false, true})
    for (const auto& [nodes, size] : {std::pair(12, 4), std::pair(64, 8), std::pair(512, 16)}) {
      Fabric fabric{in_leaves(nodes, size, any)};
      fabric.near = 40e-6, fabric.far = 42e-6, fabric.scatter = 0.05;
      int runs = 0;
      const auto leaves = guess_of(fabric, &runs);
      ASSERT_EQ(leaves.size(), fabric.leaf.size()) << nodes << " " << any;
      EXPECT_EQ(differences(leaves, fabric.leaf), 0) << nodes << " " << any;
      EXPECT_LE(runs, 120) << nodes << " " << any;
    }
}

// With scatter, what is across a core stands apart at once, and what is across a spine does not.
TEST(LeafGuess, APodIsNotTakenForALeaf) {
  for (const int nodes : {32, 96, 256}) {
    Fabric fabric{in_leaves(nodes, 8, true)};
    fabric.near = 40e-6, fabric.far = 42e-6, fabric.scatter = 0.05;
    fabric.leaves_a_pod = 2, fabric.across_pods = 4e-6;
    const auto leaves = guess_of(fabric);
    ASSERT_EQ(leaves.size(), fabric.leaf.size()) << nodes;
    EXPECT_EQ(differences(leaves, fabric.leaf), 0) << nodes;
  }
}

TEST(LeafGuess, OneSwitchIsNoGuess) {
  for (const double scatter : {0.0, 0.01, 0.1, 0.5})
    for (const int nodes : {8, 16, 100}) {
      Fabric fabric{std::vector<int>(std::size_t(nodes), 0)};
      fabric.scatter = scatter;
      EXPECT_TRUE(guess_of(fabric).empty()) << scatter << " " << nodes;
    }
}

// Below one switch no way is longer than another; where round trips scatter too much, nobody knows.
TEST(LeafGuess, TellsThatAllAreAlike) {
  const auto alike = [](Fabric fabric) { return asked(fabric).all_alike(); };
  for (const int nodes : {8, 16, 100}) {
    Fabric fabric{std::vector<int>(std::size_t(nodes), 0)};
    for (const double scatter : {0.0, 0.01, 0.05}) {
      fabric.scatter = scatter;
      EXPECT_TRUE(alike(fabric)) << scatter << " " << nodes;
    }
    fabric.near = 40e-6;  // scatters by 2 us: as much as a way over a spine would add
    EXPECT_TRUE(alike(fabric)) << nodes;
  }
  Fabric scattered{std::vector<int>(100, 0)};
  scattered.scatter = 0.5;
  EXPECT_FALSE(alike(scattered));
  Fabric slow{in_leaves(64, 8, true)};  // 2 % apart: no kinds, and not alike either
  slow.near = 60e-6, slow.far = 61.2e-6;
  EXPECT_FALSE(alike(slow));
  for (const bool any : {false, true}) {
    Fabric fabric{in_leaves(64, 8, any)};
    fabric.near = 40e-6, fabric.far = 42e-6, fabric.scatter = 0.05;
    EXPECT_FALSE(alike(fabric)) << any;
  }
}

// A kernel that tells microseconds makes kinds of one: 8 and 9.
TEST(LeafGuess, WhatTheClockDoesNotTellIsNoKind) {
  const auto floors = [](Observation& seen) {
    for (HopReading& hop : seen.hops) hop.latency = Seconds(std::floor(hop.latency->value * 1e6) * 1e-6);
  };
  for (const int nodes : {8, 16, 100}) {
    Fabric fabric{std::vector<int>(std::size_t(nodes), 0)};
    fabric.near = 8e-6, fabric.scatter = 0.2;
    EXPECT_TRUE(asked(fabric, floors).leaves().empty()) << nodes;
  }
}

// A node that answers late is none of another leaf.
TEST(LeafGuess, ALateNodeIsNoLeaf) {
  Fabric fabric{std::vector<int>(24, 0)};
  fabric.leaf[5] = 1;
  EXPECT_TRUE(guess_of(fabric).empty());
}

// Near is not always transitive: then round trips do not tell leaves.
TEST(LeafGuess, WhatDoesNotFitTogetherIsNoGuess) {
  std::mt19937_64 random(3);
  const auto at_random = [&](Observation& seen) {
    for (std::size_t i = 0; i < seen.hops.size(); i += 2)
      if (random() % 2) seen.hops[i].latency = seen.hops[i + 1].latency = Seconds(6e-6);
  };
  Fabric fabric{std::vector<int>(64, 0)};
  EXPECT_TRUE(asked(fabric, at_random).leaves().empty());
}

TEST(LeafGuess, NothingIsKnownWithoutRoundTrips) {
  LeafGuess guess(16);
  EXPECT_TRUE(guess.leaves().empty());
  Observation none;
  none.hops.resize(4);
  guess.add(none);
  EXPECT_TRUE(guess.leaves().empty());
}

// What a check asks of nodes of four leaves, each of which allows so many ranks.
TEST(LeafGuess, TakesAsManyRanksAsNodesAllow) {
  for (const int allowed : {1, 3, most_ranks_a_node}) {
    Wires wires(32);
    wires.ranks = allowed;
    wires.tamper = [](Observation& o) {
      for (HopReading& hop : o.hops)
        hop.latency = Seconds(hop.source / 8 == hop.destination / 8 ? 4e-6 : 6e-6);
    };
    const Diagnosis d = wires.check();
    EXPECT_TRUE(d.findings.empty()) << explain(d);
    int most = 0;
    for (const Experiment& e : wires.asked) {
      std::vector<int> times(32, 0);
      for (const int node : e.order) most = std::max(most, ++times[std::size_t(node)]);
    }
    EXPECT_EQ(most, allowed);
  }
}

}  // namespace
}  // namespace ringtrue::diagnosis
