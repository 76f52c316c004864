// Hierarchical (2D) allreduce: reduce-scatter inside each node, a ring between the ranks that own the same
// chunk on every node, all-gather inside. Each node's links then carry only a node's share. The data is cut
// into segments, so that the three stages run at once on different segments, and so do the rings of several
// segments between many nodes: one ring's steps are short there, and its links stand still for their latency.
//
// Where nodes have unequal numbers of ranks there are no such rings: then each node's first rank reduces for
// its node, the first ranks form one ring, and each spreads the result.
#include <array>
#include <vector>

#include "collective/algorithm.h"
#include "collective/gate.h"
#include "collective/places.h"
#include "collective/ring_steps.h"

namespace ringtrue::collective {

namespace {

struct Plan {
  Plan(const Layout& layout, Rank rank, const Call& call) : places(places_of(layout, rank)) {
    const std::vector<Rank>& near = places.neighbours();
    even = places.uniform();
    inside = circle(near, places.local);
    leads = places.local == 0;
    std::vector<Rank> peers;  // who owns the same chunk, one a node
    for (const std::vector<Rank>& node : places.nodes) peers.push_back(node[even ? places.local : 0]);
    between = circle(peers, places.node);
    lanes = Lane(std::max(call.lanes, 1));
    // Messages between nodes of at least 64 KiB, where the call is long enough for more than one segment, and
    // nodes have something to do meanwhile.
    const std::uint64_t min_segment = std::uint64_t(layout.ranks()) * 64 * 1024;
    const bool alone = even && near.size() == 1;
    segments = alone ? 1 : std::clamp<std::uint64_t>(call.bytes() / min_segment, 1, 16);
    at_once = std::clamp<std::uint64_t>(std::min<std::uint64_t>(peers.size() / 4, segments), 1, max_at_once);
  }

  static Circle circle(const std::vector<Rank>& members, std::size_t index) {
    const std::size_t n = members.size();
    return {Rank(n), Rank(index), members[(index + n - 1) % n], members[(index + 1) % n]};
  }
  Range segment(const Call& call, std::uint64_t m) const { return part(whole(call), segments, m); }
  std::vector<Rank> followers() const { return {places.neighbours().begin() + 1, places.neighbours().end()}; }

  Places places;
  bool even = true;
  bool leads = false;
  static constexpr std::uint64_t max_at_once = 4;

  // Of those that one ring between nodes takes: segments i, i + at_once, ...
  Gate& reduced_for(std::uint64_t m) { return reduced[m % at_once]; }
  Gate& complete_for(std::uint64_t m) { return complete[m % at_once]; }
  std::uint64_t turn(std::uint64_t m) const { return m / at_once + 1; }

  Circle inside, between;
  Lane lanes = 1;
  std::uint64_t segments = 1, at_once = 1;
  std::array<Gate, max_at_once> reduced, complete;  // segments that passed the first, the second stage
};

// Up: each follower of the node sends its data, and the leader adds it up. Down: the leader sends the result
// to its followers.
Task to_leader_or_back(Endpoint& self, const Call& call, const Plan& plan, Range range, bool up) {
  const std::vector<Rank> followers = plan.followers();
  const Rank leader = plan.places.neighbours()[0];
  const Slicing slicing(call, range.size());
  std::vector<Token> tokens;
  for (std::uint64_t k = 0; k < slicing.count(); ++k) {
    const Slice slice = slice_of(call, slicing.of(range, k));
    if (plan.leads && followers.empty()) break;
    if (up)
      tokens.push_back(plan.leads ? self.receive_reduce_all(followers, 0, slice, Arrival::reduce)
                                  : self.send(leader, 0, slice));
    else
      tokens.push_back(plan.leads ? self.send_all(followers, plan.lanes, slice)
                                  : self.receive(leader, plan.lanes, slice));
  }
  for (const Token token : tokens) co_await self.wait(token);
}

Task first_stage(Endpoint& self, const Call& call, Plan& plan) {
  const Arrival last = plan.between.size > 1 ? Arrival::reduce : Arrival::reduce_last;
  for (std::uint64_t m = 0; m < plan.segments; ++m) {
    const Range segment = plan.segment(call, m);
    if (plan.even) {
      const Task scatter =
          ring_steps(self, call, plan.inside, segment, Steps::reduce_scatter(plan.inside.size), last, 0);
      co_await scatter;
    } else {
      const Task collecting = to_leader_or_back(self, call, plan, segment, true);
      co_await collecting;
    }
    plan.reduced_for(m).raise();
  }
}

// One of the rings that run at once.
Task second_stage(Endpoint& self, const Call& call, Plan& plan, std::uint64_t first) {
  const Lane lane = Lane(first * plan.lanes);
  for (std::uint64_t m = first; m < plan.segments; m += plan.at_once) {
    co_await plan.reduced_for(m).reaches(plan.turn(m));
    Range range = plan.segment(call, m);
    if (plan.even) {  // the chunk that the reduce-scatter left here
      const std::uint64_t size = std::uint64_t(plan.inside.size);
      range = part(range, size, (std::uint64_t(plan.inside.index) + 1) % size);
    }
    if (plan.even || plan.leads) {
      const Task around = ring_steps(self, call, plan.between, range, Steps::all(plan.between.size),
                                     Arrival::reduce_last, lane);
      co_await around;
    }
    plan.complete_for(m).raise();
  }
}

Task third_stage(Endpoint& self, const Call& call, Plan& plan) {
  for (std::uint64_t m = 0; m < plan.segments; ++m) {
    co_await plan.complete_for(m).reaches(plan.turn(m));
    const Range segment = plan.segment(call, m);
    if (plan.even) {
      const Task gather = ring_steps(self, call, plan.inside, segment, Steps::all_gather(plan.inside.size),
                                     Arrival::store, plan.lanes);
      co_await gather;
    } else {
      const Task spreading = to_leader_or_back(self, call, plan, segment, false);
      co_await spreading;
    }
  }
}

}  // namespace

Task hierarchical(Endpoint& self, const Call& call) {
  if (self.ranks() < 2 || call.elements == 0) co_return;
  Plan plan(self.layout(), self.rank(), call);
  Group stages;
  stages.add(first_stage(self, call, plan));
  for (std::uint64_t ring = 0; ring < plan.at_once; ++ring) stages.add(second_stage(self, call, plan, ring));
  stages.add(third_stage(self, call, plan));
  co_await stages;
}

}  // namespace ringtrue::collective
