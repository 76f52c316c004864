#include "sim/network.h"

#include <algorithm>
#include <cmath>

#include "base/splitmix64.h"

namespace ringtrue::sim {

using collective::Lane;
using collective::Rank;

namespace {

template <class Map, class Key>
double factor(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? 1.0 : found->second;
}

// What of an Ethernet frame is a TCP segment's payload.
double payload(int mtu) {
  return double(mtu - 52) / double(mtu + 14);
}

}  // namespace

// Which period `now` lies in, whatever the division rounds to.
double Link::turn(double now) const {
  double n = std::floor(now / period);
  if (n * period > now) --n;
  if ((n + 1) * period <= now) ++n;
  return n;
}

bool Link::up(double now) const {
  return !flaps() || now < turn(now) * period + (period - down);
}

double Link::next_change(double now) const {
  const double n = turn(now), fall = n * period + (period - down);
  return now < fall ? fall : (n + 1) * period;
}

double Link::down_between(double from, double to) const {
  const auto until = [&](double now) {
    const double n = turn(now);
    return n * down + std::max(0.0, now - (n * period + (period - down)));
  };
  return flaps() ? until(to) - until(from) : 0;
}

double Link::resent_between(double from, double to) const {
  if (!flaps() || again <= 0) return 0;
  double timers = again;  // all that have run out when one finds the link up
  for (double next = 2 * again; timers < down; next *= 2) timers += next;
  const auto falls = [&](double now) {
    const double n = turn(now);
    return n + (now > n * period + (period - down) ? 1 : 0);
  };
  return (falls(to) - falls(from)) * (timers - down);
}

Network::Network(const Fabric& fabric, std::uint64_t seed, double run_noise)
    : fabric_(fabric), layout_(fabric.layout()), seed_(seed) {
  const std::size_t ranks = std::size_t(layout_.ranks());
  for (const int node : layout_.node_of_rank) nodes_ = std::max(nodes_, node + 1);
  local_.resize(ranks);
  ranks_of_.resize(std::size_t(nodes_));
  on_node_.resize(std::size_t(nodes_));
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::size_t node = std::size_t(layout_.node_of_rank[r]);
    local_[r] = ranks_of_[node]++;
    on_node_[node].push_back(Rank(r));
  }
  const bool apart = fabric.gpu_pcie.value > 0 && !fabric.pcie;

  levels_ = levels_of(fabric, nodes_);
  host_ = 2 * ranks;
  to_nics_ = host_ + (fabric.pcie ? 2 * std::size_t(nodes_) : 0);
  nic_ = to_nics_ + (apart ? 2 * ranks : 0);
  trunk_ = nic_ + 2 * std::size_t(nodes_) * std::size_t(fabric.rails);
  const std::size_t both_ways = 2 * std::size_t(levels_.cables);
  core_trunk_ = trunk_ + both_ways * std::size_t(levels_.leaves) * std::size_t(levels_.spines);
  links_.resize(core_trunk_ + both_ways * std::size_t(levels_.all_spines()) * std::size_t(levels_.cores));
  for (std::size_t i = 0; i < nic_; ++i)
    links_[i].rate = (i < to_nics_ ? fabric.intra.rate : fabric.gpu_pcie).value;
  for (int node = 0; node < nodes_; ++node) {
    for (int rail = 0; rail < fabric.rails; ++rail) {
      links_[nic(node, rail, false)].rate = fabric.inter.rate.value * factor(fabric.egress, node);
      links_[nic(node, rail, true)].rate = fabric.inter.rate.value * factor(fabric.ingress, node);
    }
  }
  for (std::size_t i = nic_; i < trunk_; ++i) links_[i].bucket = double(fabric.bucket.value);
  set_trunk_rates();
  if (run_noise > 0) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      links_[i].rate /= 1 + run_noise * double(splitmix64(splitmix64(seed ^ 0x4c1) + i) >> 11) * 0x1p-53;
    }
  }
  reduce_rate_.assign(std::size_t(nodes_), fabric.reduce_rate.value);
  dead_.resize(std::size_t(nodes_));
  mtu_.assign(std::size_t(nodes_), fabric.mtu);
  for (const FabricFault& fault : fabric.faults) break_down(fault);
  if (fabric.hashing == Hashing::adaptive) add_bundles();
}

void Network::set_trunk_rates() {
  if (levels_.leaves == 0) return;
  const double trunk = fabric_.inter.rate.value * fabric_.leaf / (fabric_.oversubscription * levels_.spines);
  const double core = levels_.cores == 0
                          ? 0
                          : trunk * levels_.leaves_of_pod / (fabric_.core_oversubscription * levels_.cores);
  for (std::size_t i = trunk_; i < links_.size(); ++i)
    links_[i].rate = (i < core_trunk_ ? trunk : core) / levels_.cables;
}

void Network::add_bundles() {
  bundle_ = links_.size();
  links_.resize(bundle_ + 2 * std::size_t(levels_.leaves + levels_.pods));
  const auto add = [&](std::uint32_t to, std::uint32_t from, int of) {
    Link& all = links_[to];
    const Link& one = links_[from];
    // What is down is left out, for as long as it is.
    all.rate += one.flaps() ? one.rate * (1 - one.down / one.period) : one.rate;
    all.lost += one.lost / of;
    all.patience = std::max(all.patience, one.patience);
    all.latency = std::max(all.latency, one.latency);
  };
  const int ups = levels_.spines * levels_.cables;
  for (int leaf = 0; leaf < levels_.leaves; ++leaf)
    for (const bool down : {false, true})
      for (int up = 0; up < ups; ++up)
        add(bundle(leaf, down), trunk(leaf, up % levels_.spines, up / levels_.spines, down), ups);
  if (levels_.cores == 0) return;
  const int core_ups = levels_.cores * levels_.cables;
  for (int spine = 0; spine < levels_.all_spines(); ++spine)
    for (const bool down : {false, true})
      for (int up = 0; up < core_ups; ++up)
        add(core_bundle(levels_.pod_of_spine(spine), down),
            core_trunk(spine, up % levels_.cores, up / levels_.cores, down), levels_.spines * core_ups);
}

std::vector<std::uint32_t> Network::links_of(const Place& place) const {
  using What = Place::What;
  std::vector<std::uint32_t> out;
  const auto add = [&](std::uint32_t forth, std::uint32_t back) {
    if (place.side != Place::Side::in) out.push_back(forth);
    if (place.side != Place::Side::out) out.push_back(back);
  };
  const auto cables = [&](auto each) {
    for (int cable = 0; cable < levels_.cables; ++cable)
      if (place.cable < 0 || place.cable == cable) each(cable);
  };
  // As seen from the switch below, or from the one above.
  const auto to_spine = [&](int leaf, int spine, bool from_below) {
    if (leaf >= levels_.leaves || spine >= levels_.all_spines() || !levels_.joined(leaf, spine)) return;
    cables([&](int cable) {
      const auto up = trunk(leaf, spine % levels_.spines, cable, false);
      from_below ? add(up, up + 1) : add(up + 1, up);
    });
  };
  const auto to_core = [&](int spine, int core, bool from_below) {
    if (core >= levels_.all_cores() || spine >= levels_.all_spines() || !levels_.joins(core, spine)) return;
    cables([&](int cable) {
      const auto up = core_trunk(spine, core % levels_.cores, cable, false);
      from_below ? add(up, up + 1) : add(up + 1, up);
    });
  };
  switch (place.what) {
    case What::node:
      for (int rail = 0; rail < fabric_.rails; ++rail)
        add(nic(place.node, rail, false), nic(place.node, rail, true));
      break;
    case What::nic:
      add(nic(place.node, place.part, false), nic(place.node, place.part, true));
      break;
    case What::gpu:
      for (Rank r = 0; r < layout_.ranks(); ++r) {
        if (node(r) == place.node && local_[std::size_t(r)] == place.part) add(port(r, false), port(r, true));
      }
      break;
    case What::trunk:
      to_spine(place.node, place.part, true);
      break;
    case What::core_trunk:
      to_core(place.node, place.part, true);
      break;
    case What::leaf:
      for (int spine = 0; spine < levels_.all_spines(); ++spine) to_spine(place.node, spine, true);
      break;
    case What::spine:
      for (int leaf = 0; leaf < levels_.leaves; ++leaf) to_spine(leaf, place.part, false);
      for (int core = 0; core < levels_.all_cores(); ++core) to_core(place.part, core, true);
      break;
    case What::core:
      for (int spine = 0; spine < levels_.all_spines(); ++spine) to_core(spine, place.part, false);
      break;
    case What::path:
      break;
  }
  return out;
}

void Network::break_down(const FabricFault& fault) {
  using Kind = FabricFault::Kind;
  if (fault.place.node >= nodes_ && !fault.place.of_switches())
    return;  // a run that the node takes no part in
  const auto worsen = [&](Link& link) {
    switch (fault.kind) {
      case Kind::slow_link:
      case Kind::narrow:
        link.rate *= fault.share;
        break;
      case Kind::lossy:
        link.lost = 1 - (1 - link.lost) * (1 - fault.share);
        link.patience = std::max(link.patience, fault.time.value);
        break;
      case Kind::late:
        link.latency += fault.time.value;
        break;
      case Kind::flapping:
        link.period = fault.period.value;
        link.down = fault.share * fault.period.value;
        link.again = fault.time.value;
        break;
      case Kind::mtu:
        link.rate *= std::min(1.0, payload(fault.mtu) / payload(fabric_.mtu));
        break;
      default:
        break;
    }
  };
  const std::size_t node = std::size_t(fault.place.node);
  if (fault.kind == Kind::dead) {
    dead_[node] = true;
  } else if (fault.kind == Kind::slow_node) {
    double& rate = reduce_rate_[node];
    rate = (rate > 0 ? rate : fabric_.inter.rate.value) * fault.share;
  } else if (fault.kind == Kind::background) {
    // See background().
  } else if (fault.place.what == Place::What::path) {
    const auto [entry, fresh] = paths_.try_emplace({fault.place.node, fault.place.part});
    if (fresh) entry->second.rate = fabric_.inter.rate.value;
    worsen(entry->second);
  } else {
    if (fault.kind == Kind::mtu) mtu_[node] = fault.mtu;
    for (const std::uint32_t link : links_of(fault.place)) worsen(links_[link]);
  }
}

int Network::rail(Rank from, Rank to, Lane lane, std::uint64_t nth) const {
  if (fabric_.rails == 1 || !inter(from, to)) return 0;
  return int((std::uint64_t(local_[std::size_t(from)]) + lane + nth) % std::uint64_t(fabric_.rails));
}

std::uint32_t Network::add_private(double rate) {
  links_.emplace_back().rate = rate;
  return std::uint32_t(links_.size() - 1);
}

int Network::hashed(int a, int b, Lane lane, int rail, std::uint64_t at, int ways) const {
  // As switches do: a hash over the connection's ends, each switch with a seed of its own.
  std::uint64_t hash = splitmix64(std::uint64_t(a) << 32 | std::uint64_t(b));
  hash = splitmix64(hash ^ (std::uint64_t(rail) << 16 | lane));
  if (fabric_.hashing == Hashing::connections) hash = splitmix64(hash ^ seed_);
  if (at > 0) hash = splitmix64(hash ^ (at << 56));
  return int(hash % std::uint64_t(ways));
}

// The trunks between two groups of nodes.
void Network::across(int a, int b, Lane lane, int rail, Route& route) const {
  const auto cross = [&](std::uint32_t link) { route.link[route.links++] = link; };
  const int from = leaf_of(a, rail), to = leaf_of(b, rail);
  const int pod = levels_.pod_of_leaf(from), other = levels_.pod_of_leaf(to);
  route.latency += fabric_.spine_latency.value + (pod != other ? fabric_.core_latency.value : 0);
  if (fabric_.hashing == Hashing::adaptive) {
    cross(bundle(from, false));
    if (pod != other) cross(core_bundle(pod, false)), cross(core_bundle(other, true));
    cross(bundle(to, true));
    return;
  }
  const bool tables = fabric_.hashing == Hashing::destination;
  const int slot = fabric_.slot_of(b), cables = levels_.cables;
  const auto way = [&](std::uint64_t at, int ways) { return hashed(a, b, lane, rail, at, ways); };
  // Tables go down by the cable that they went up by.
  const auto down = [&](std::uint64_t at, int up) { return tables ? up : cables > 1 ? way(at, cables) : 0; };
  const int up = tables ? uplink_by_destination(levels_, slot) : way(0, levels_.spines * cables);
  const int place = up % levels_.spines, cable = up / levels_.spines;
  cross(trunk(from, place, cable, false));
  if (pod != other) {
    const int core = tables ? core_link_by_destination(levels_, slot, rail, fabric_.rails)
                            : way(1, levels_.cores * cables);
    const int nth = core % levels_.cores, core_cable = core / levels_.cores;
    cross(core_trunk(levels_.spine(pod, place), nth, core_cable, false));
    cross(core_trunk(levels_.spine(other, place), nth, down(2, core_cable), true));
  }
  cross(trunk(to, place, down(3, cable), true));
}

// From NIC to NIC, both of them included.
void Network::between(int a, int b, Lane lane, int rail, Route& route) {
  const auto cross = [&](std::uint32_t link) { route.link[route.links++] = link; };
  cross(nic(a, rail, false));
  if (levels_.leaves > 0 && fabric_.group_of(a) != fabric_.group_of(b)) across(a, b, lane, rail, route);
  cross(nic(b, rail, true));
  const auto path = paths_.find({a, b});
  if (path == paths_.end()) return;
  const auto [known, fresh] = private_.try_emplace({a, b, rail});
  if (fresh) {
    known->second = std::uint32_t(links_.size());
    links_.push_back(path->second);
  }
  cross(known->second);
}

Rank Network::owner(Rank rank, int rail) const {
  const std::vector<Rank>& ranks = on_node_[std::size_t(node(rank))];
  const int count = int(ranks.size()), rails = fabric_.rails, local = local_[std::size_t(rank)];
  if (count >= rails ? local * rails / count == rail : rail * count / rails == local) return rank;
  return ranks[std::size_t(count >= rails ? (rail * count + rails - 1) / rails : rail * count / rails)];
}

Route Network::route(Rank from, Rank to, Lane lane, int rail) {
  Route route;
  const auto cross = [&](std::uint32_t link) { route.link[route.links++] = link; };
  const int a = node(from), b = node(to);
  route.inter = a != b;
  route.latency = (route.inter ? fabric_.inter : fabric_.intra).latency.value;
  const bool apart = route.inter && nic_ > to_nics_;
  if (!route.inter || fabric_.pcie) cross(port(from, false));
  if (apart) {
    const Rank by = owner(from, rail);
    if (by != from) cross(port(from, false)), cross(port(by, true));
    cross(to_nics(by, false));
  }
  if (route.inter) {
    between(a, b, lane, rail, route);
  } else if (fabric_.pcie) {
    const int half = (ranks_of_[std::size_t(a)] + 1) / 2;
    const bool first = local_[std::size_t(from)] < half, second = local_[std::size_t(to)] < half;
    if (first != second) cross(host(a, second));
  }
  if (apart) {
    const Rank by = owner(to, rail);
    cross(to_nics(by, true));
    if (by != to) cross(port(by, false)), cross(port(to, true));
  }
  if (!route.inter || fabric_.pcie) cross(port(to, true));
  route.rate = links_[route.link[0]].rate;
  for (std::uint8_t i = 0; i < route.links; ++i) {
    const std::uint32_t link = route.link[i];
    route.rate = std::min(route.rate, links_[link].rate);
    route.latency += links_[link].latency;
    if (link == ingress(to, rail, route.inter)) route.ingress = i;
  }
  return route;
}

bool Network::fits(Rank from, Rank to, std::uint64_t bytes) const {
  if (!inter(from, to)) return true;
  const int a = mtu_[std::size_t(node(from))], b = mtu_[std::size_t(node(to))];
  // A sender cuts what it sends to its own MTU, and to what the other end says it takes; only what the fabric
  // between them does not carry is lost.
  return std::min(a, b) <= fabric_.mtu || bytes + 52 <= std::uint64_t(fabric_.mtu);
}

std::vector<Network::Background> Network::background() {
  std::vector<Background> out;
  for (const FabricFault& fault : fabric_.faults) {
    if (fault.kind != FabricFault::Kind::background) continue;
    if (fault.place.node >= nodes_ || fault.place.part >= nodes_) continue;
    const int only = fault.rail < fabric_.rails ? fault.rail : -1;
    for (int rail = 0; rail < fabric_.rails; ++rail) {
      if (only >= 0 && rail != only) continue;
      Route route;
      between(fault.place.node, fault.place.part, 0, rail, route);
      Background& added = out.emplace_back();
      added.source = fault.place.node, added.destination = fault.place.part, added.rail = rail;
      added.links.assign(route.crossed().begin(), route.crossed().end());
      added.links.push_back(add_private(fault.rate.value / (only >= 0 ? 1 : fabric_.rails)));
    }
  }
  return out;
}

}  // namespace ringtrue::sim
