// A fabric as directed links, and the way of a message over them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "collective/endpoint.h"
#include "sim/fabric.h"
#include "sim/levels.h"

namespace ringtrue::sim {

// What befalls a link beside its rate.
struct Link {
  double rate = 0;              // bytes per second
  double bucket = 0;            // bytes, see sharing.h
  double latency = 0;           // seconds, more than the hop's
  double lost = 0;              // share of the packets
  double patience = 0;          // seconds until a lost one is sent again
  double period = 0, down = 0;  // flapping: down for the last `down` seconds of every period
  double again = 0;  // flapping: until what was lost is sent again; twice that when lost again, ...

  bool flaps() const { return period > 0; }
  bool up(double now) const;
  double next_change(double now) const;               // of up(); after now
  double down_between(double from, double to) const;  // seconds
  // How much longer than the link is down a message waits that was in flight from `from` to `to`.
  double resent_between(double from, double to) const;  // seconds

 private:
  double turn(double now) const;
};

struct Route {
  std::array<std::uint32_t, 14> link{};
  std::uint8_t links = 0;
  std::uint8_t ingress = 0;  // which of them is the receiver's port
  bool inter = false;
  double latency = 0;  // seconds
  double rate = 0;     // of the slowest link

  std::span<const std::uint32_t> crossed() const { return {link.data(), links}; }
};

class Network {
 public:
  // The fabric has passed check(). `run_noise`: each link is slower by up to this share, drawn from the seed.
  Network(const Fabric& fabric, std::uint64_t seed, double run_noise);

  const collective::Layout& layout() const { return layout_; }
  int rails(collective::Rank from, collective::Rank to) const { return inter(from, to) ? fabric_.rails : 1; }
  // The rail of a lane's nth message from 0.
  int rail(collective::Rank from, collective::Rank to, collective::Lane lane, std::uint64_t nth) const;
  // Adds a link of its own where the pair has one. Deterministic: the order of calls does not matter but for
  // the numbers of those links.
  Route route(collective::Rank from, collective::Rank to, collective::Lane lane, int rail);
  // A link that only the hop crosses.
  std::uint32_t add_private(double rate);

  // The receiver's port, the last but for links of the pair's own.
  std::uint32_t ingress(collective::Rank to, int rail, bool inter) const {
    return inter && !fabric_.pcie ? nic(node(to), rail, true) : port(to, true);
  }

  std::size_t links() const { return links_.size(); }
  const Link& link(std::uint32_t number) const { return links_[number]; }

  bool inter(collective::Rank from, collective::Rank to) const { return node(from) != node(to); }
  int node(collective::Rank rank) const { return layout_.node_of_rank[std::size_t(rank)]; }
  double reduce_rate(collective::Rank rank) const { return reduce_rate_[std::size_t(node(rank))]; }  // 0: any
  bool dead(int node) const { return dead_[std::size_t(node)]; }
  // The largest message that gets through, by the MTUs of both ends.
  bool fits(collective::Rank from, collective::Rank to, std::uint64_t bytes) const;
  // Traffic of others: a route, and a private link at its end that caps it.
  struct Background {
    int source = 0, destination = 0;  // nodes
    int rail = 0;
    std::vector<std::uint32_t> links;
  };
  std::vector<Background> background();

 private:
  int leaf_of(int node, int rail) const { return fabric_.group_of(node) * fabric_.rails + rail; }
  std::uint32_t port(collective::Rank rank, bool in) const { return std::uint32_t(2 * rank + in); }
  // A GPU's way to the NICs.
  std::uint32_t to_nics(collective::Rank rank, bool in) const {
    return std::uint32_t(to_nics_ + 2 * std::size_t(rank) + in);
  }
  // The rank that a NIC belongs to: `rank` itself, or another of its node.
  collective::Rank owner(collective::Rank rank, int rail) const;
  std::uint32_t host(int node, bool back) const {
    return std::uint32_t(host_ + 2 * std::size_t(node) + back);
  }
  std::uint32_t nic(int node, int rail, bool in) const {
    return std::uint32_t(nic_ + 2 * (std::size_t(node) * std::size_t(fabric_.rails) + std::size_t(rail)) +
                         in);
  }
  // A cable of a leaf's trunk to a spine of its pod, by its place in it.
  std::uint32_t trunk(int leaf, int place, int cable, bool down) const {
    return cable_of(trunk_, std::size_t(leaf) * std::size_t(levels_.spines) + std::size_t(place), cable,
                    down);
  }
  // ... of a spine's to the nth of its cores.
  std::uint32_t core_trunk(int spine, int nth, int cable, bool down) const {
    return cable_of(core_trunk_, std::size_t(spine) * std::size_t(levels_.cores) + std::size_t(nth), cable,
                    down);
  }
  std::uint32_t cable_of(std::size_t first, std::size_t trunk, int cable, bool down) const {
    return std::uint32_t(first + 2 * (trunk * std::size_t(levels_.cables) + std::size_t(cable)) + down);
  }
  // All trunks of a leaf, or of a pod to the cores, one way, where each message takes the best of them.
  std::uint32_t bundle(int leaf, bool down) const {
    return std::uint32_t(bundle_ + 2 * std::size_t(leaf) + down);
  }
  std::uint32_t core_bundle(int pod, bool down) const { return bundle(levels_.leaves + pod, down); }
  void set_trunk_rates();
  void add_bundles();
  // Which of so many ways a connection takes at one of the switches on its way.
  int hashed(int a, int b, collective::Lane lane, int rail, std::uint64_t at, int ways) const;
  void across(int a, int b, collective::Lane lane, int rail, Route& route) const;
  std::vector<std::uint32_t> links_of(const Place& place) const;
  void break_down(const FabricFault& fault);
  void between(int a, int b, collective::Lane lane, int rail, Route& route);

  const Fabric& fabric_;
  collective::Layout layout_;
  std::vector<int> local_;     // by rank: which of its node
  std::vector<int> ranks_of_;  // by node
  std::vector<std::vector<collective::Rank>> on_node_;
  std::uint64_t seed_ = 0;
  std::size_t host_ = 0, to_nics_ = 0, nic_ = 0, trunk_ = 0, core_trunk_ = 0, bundle_ = 0;
  int nodes_ = 0;
  Levels levels_;
  std::vector<Link> links_;
  std::vector<double> reduce_rate_;
  std::vector<bool> dead_;
  std::vector<int> mtu_;
  std::map<std::tuple<int, int, int>, std::uint32_t> private_;  // by pair of nodes and rail
  std::map<std::pair<int, int>, Link> paths_;                   // what the pair's private links are like
};

// Errors (bad_input): no ranks, a rate or factor that is not above zero, a place that is not there.
Result<void> check(const Fabric& fabric);

}  // namespace ringtrue::sim
