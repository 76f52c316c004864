#include "ideal/loads.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace ringtrue::ideal {
namespace {

double both_ways(double n) {
  return 2 * (n - 1) / n;
}

// Adds up what single sends put through the ports.
class Ports {
 public:
  explicit Ports(const Shape& shape)
      : gpus_(shape.gpus_per_node), node_(std::size_t(shape.nodes)), rank_(std::size_t(shape.ranks())) {}

  void send(long from, long to, double amount) {
    const auto a = std::size_t(from / gpus_), b = std::size_t(to / gpus_);
    auto& out = a == b ? rank_[std::size_t(from)] : node_[a];
    auto& in = a == b ? rank_[std::size_t(to)] : node_[b];
    out.out += amount;
    in.in += amount;
  }

  Loads busiest() const { return {busiest(node_), busiest(rank_)}; }

 private:
  struct Port {
    double out = 0, in = 0;
  };
  static double busiest(const std::vector<Port>& ports) {
    double most = 0;
    for (const Port& p : ports) most = std::max({most, p.out, p.in});
    return most;
  }
  long gpus_;
  std::vector<Port> node_, rank_;
};

// Exchanges over the largest power of two of ranks, with the fold before and after: of the first 2r ranks the
// odd ones hand their data to the even ones and wait for the result.
template <class Amount>
Loads folded(const Shape& shape, Amount amount_at_distance) {
  const long ranks = shape.ranks();
  const long core = long(std::bit_floor(static_cast<unsigned long>(ranks)));
  const long rest = ranks - core;
  const auto real = [&](long r) { return r < rest ? 2 * r : r + rest; };
  Ports ports(shape);
  for (long r = 0; r < rest; ++r) {
    ports.send(2 * r, 2 * r + 1, 1);
    ports.send(2 * r + 1, 2 * r, 1);
  }
  for (long distance = 1; distance < core; distance *= 2) {
    for (long r = 0; r < core; ++r) ports.send(real(r), real(r ^ distance), amount_at_distance(distance));
  }
  return ports.busiest();
}

std::optional<Loads> ring(const Shape& s) {
  const double all = both_ways(double(s.ranks()));
  return Loads{s.nodes > 1 ? all : 0, s.gpus_per_node > 1 ? all : 0};
}

std::optional<Loads> double_tree(const Shape& s) {
  Loads loads;
  if (s.nodes > 1) loads.inter = s.nodes == 2 ? 1 : s.nodes == 3 ? 1.5 : 2;
  if (s.gpus_per_node > 1) loads.intra = s.gpus_per_node == 2 ? 1 : 2;
  return loads;
}

bool in_turns(const Shape& s) {
  return s.nodes > 1 && s.gpus_per_node > 1 && std::has_single_bit(unsigned(s.nodes)) &&
         std::has_single_bit(unsigned(s.gpus_per_node));
}

std::optional<Loads> recursive_doubling(const Shape& s) {
  Loads loads = folded(s, [](long) { return 1.0; });
  if (in_turns(s)) loads.both = {double(s.gpus_per_node), 1.0};
  return loads;
}

std::optional<Loads> halving_doubling(const Shape& s) {
  // At distance d a rank holds 1/d of the vector and exchanges half of that, once each way.
  Loads loads = folded(s, [](long distance) { return 1.0 / double(distance); });
  // Half of 1/P inside, each way; the first round between nodes is 1, of P ranks that hold 1/P each.
  if (in_turns(s)) loads.both = {1.0, 1.0 / s.gpus_per_node};
  return loads;
}

std::optional<Loads> hierarchical(const Shape& s) {
  return Loads{s.nodes > 1 ? both_ways(s.nodes) : 0, s.gpus_per_node > 1 ? both_ways(s.gpus_per_node) : 0};
}

std::optional<Loads> two_shot(const Shape& s) {
  if (s.nodes > 1) return std::nullopt;
  return Loads{0, s.gpus_per_node > 1 ? both_ways(s.gpus_per_node) : 0};
}

std::optional<Loads> one_shot(const Shape& s) {
  return Loads{double(s.gpus_per_node) * double(s.ranks() - s.gpus_per_node), double(s.gpus_per_node - 1)};
}

std::optional<Loads> naive(const Shape& s) {
  return Loads{double(s.ranks() - s.gpus_per_node), double(s.gpus_per_node - 1)};
}

std::optional<Loads> pairwise(const Shape& s) {
  return Loads{s.nodes > 1 ? 1.0 : 0.0, s.gpus_per_node > 1 ? 1.0 : 0.0};
}

constexpr std::array<Schedule, 9> table{{
    {collective::AlgorithmId::ring, ring, "2(N-1)/N between nodes and inside", ""},
    {collective::AlgorithmId::double_tree, double_tree,
     "{1, 1.5, 2 for Q = 2, 3, >= 4} between nodes, {1, 2 for P = 2, >= 3} inside", ""},
    {collective::AlgorithmId::recursive_doubling, recursive_doubling,
     "1 a rank and step, log2 N steps and the fold", ""},
    {collective::AlgorithmId::halving_doubling, halving_doubling,
     "1/d a rank at distance d = 1, 2, 4, ... and the fold", ""},
    {collective::AlgorithmId::hierarchical, hierarchical, "2(Q-1)/Q between nodes, 2(P-1)/P inside", ""},
    {collective::AlgorithmId::two_shot, two_shot, "2(P-1)/P inside",
     "two-shot is for one node, whose ranks share memory: no ideal between nodes"},
    {collective::AlgorithmId::one_shot, one_shot, "P(N-P) between nodes, P-1 inside", ""},
    {collective::AlgorithmId::naive, naive, "N-P into the master's node, P-1 into the master inside it", ""},
    {collective::AlgorithmId::pairwise, pairwise, "1", ""},
}};

}  // namespace

double seconds_a_byte(const Loads& loads, double inter, double intra) {
  const double between = loads.inter > 0 ? loads.inter / inter : 0;
  const double inside = loads.intra > 0 ? loads.intra / intra : 0;
  if (!loads.both) return std::max(between, inside);
  return between + inside - std::min(loads.both->inter / inter, loads.both->intra / intra);
}

std::span<const Schedule> schedules() {
  return table;
}

double sent_by_all(collective::AlgorithmId algorithm, long ranks) {
  using collective::AlgorithmId;
  const double n = double(ranks);
  switch (algorithm) {
    case AlgorithmId::recursive_doubling: {
      const auto core = std::bit_floor(static_cast<unsigned long>(ranks));
      return double(core) * (std::bit_width(core) - 1) + 2 * (n - double(core));
    }
    case AlgorithmId::one_shot:
      return n * (n - 1);
    case AlgorithmId::pairwise:
      return ranks > 1 ? n : 0;
    case AlgorithmId::omnireduce:
      return 2 * n;
    case AlgorithmId::barrier:
      return 0;
    default:  // nobody sends anything twice: all that is to be added once up, and the result once down
      return 2 * (n - 1);
  }
}

double busbw_factor(collective::AlgorithmId algorithm, long ranks) {
  if (algorithm == collective::AlgorithmId::pairwise) return 1;
  return ranks > 1 ? both_ways(double(ranks)) : 0;
}

}  // namespace ringtrue::ideal
