#include "collective/algorithm.h"

#include <algorithm>
#include <set>

#include "collective/omnireduce/omnireduce.h"
#include "collective/recorder.h"

namespace ringtrue::collective {

namespace {

std::uint64_t none(const Layout&, Rank, const Call&) {
  return 0;
}
std::uint64_t as_data(const Layout& layout, Rank, const Call& call) {
  return layout.ranks() > 1 ? call.bytes() : 0;
}

constexpr Algorithm table[] = {
    {AlgorithmId::ring, "n chunks around a ring; the slowest hop decides", ring, none, true},
    {AlgorithmId::double_tree, "two binary trees over the nodes, half of the data each", double_tree, none,
     true},
    {AlgorithmId::recursive_doubling, "log2 n exchanges of everything; lowest latency", recursive_doubling,
     as_data, true},
    {AlgorithmId::halving_doubling, "Rabenseifner: halves, quarters, ... and back", halving_doubling, none,
     true},
    {AlgorithmId::hierarchical, "2D: inside nodes, between them, inside again", hierarchical, none, true},
    {AlgorithmId::two_shot, "all pairs through shared memory", two_shot, none, true},
    {AlgorithmId::one_shot, "every rank reduces everything by itself; one round", one_shot, as_data, true},
    {AlgorithmId::naive, "reduce on rank 0 and send the result back; incast", naive, none, true},
    {AlgorithmId::pairwise, "each rank sends to the one `shift` further; single paths", pairwise, as_data,
     false},
    {AlgorithmId::omnireduce, "non-zero blocks only, through aggregators; incast", omnireduce,
     omnireduce_scratch, true, omnireduce_edges},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (table[i].id != AlgorithmId(i)) return false;
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const Algorithm> algorithms() {
  return table;
}

const Algorithm& algorithm_of(AlgorithmId id) {
  return table[std::size_t(id)];
}

Result<const Algorithm*> find_algorithm(std::string_view name) {
  std::string names;
  for (const Algorithm& algorithm : table) {
    if (algorithm.name == name) return &algorithm;
    names.append(names.empty() ? "" : ", ").append(algorithm.name);
  }
  return fail(Cause::bad_input, "unknown algorithm '" + std::string(name) + "'", {}, "use one of " + names);
}

std::vector<Edge> edges_of(const Algorithm& algorithm, const Layout& layout, Rank rank, const Call& call) {
  if (algorithm.edges) return algorithm.edges(layout, rank, call);
  // Slices of one element, and enough of them in each rank's share for every lane to get one.
  Call large = call;
  large.slice_bytes = size_of(call.type);
  large.elements = 2 * std::uint64_t(layout.ranks()) * std::uint64_t(std::max(call.lanes, 1));
  std::set<Edge> edges;
  record(algorithm, layout, rank, large, [&](const Step& step) {
    if (step.kind != Step::Kind::copy) edges.insert({step.peer, step.lane});
  });
  return {edges.begin(), edges.end()};
}

}  // namespace ringtrue::collective
