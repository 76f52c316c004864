// Which part of a node or of the fabric is slow, where the world tells more than nodes: rails, and the
// switches that nodes hang below.
//
// - A hop that goes through several rails is as slow as the slowest of them. Where some rails of a suspected
//   side are slow and others are not, it is their NIC that is slow. A rail does what it does at its best; in
//   readings that are low at times, what it usually does, as at their best another rail was the slowest.
// - Readings between two leaves cross trunks. Where all from a leaf are slow, its uplinks are; all to it, its
//   downlinks; both, the leaf - unless pairs between other leaves are slow so often that it may be chance. Of
//   two leaves alone nobody can say which: it is what is between them. Other slow paths between leaves that
//   are proven, two and more: of one leaf, that is a trunk of it; of several, a spine.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "diagnosis/findings/report.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/leaves_at_times.h"
#include "diagnosis/infer/readings.h"
#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

// Of what two groups of nodes share, of which one is named: the device of a part.
inline constexpr const char* links_between = "the links between";

// A part of the fabric that explains slow paths.
struct FabricPart {
  ScopeType type = ScopeType::trunk;  // leaf, trunk or spine
  std::string device;                 // "leaf 3", "uplinks of leaf 3", "a spine"
  std::vector<std::pair<int, int>> pairs;
  std::vector<Reading> readings;  // of these pairs, fastest first
  // Three readings in three experiments, two of them repeats, that agree; of `at_times`, see there.
  bool confirmed = false;
  std::vector<int> members{};             // nodes, where `device` is what they share, which nobody told
  std::optional<LeafAtTimes> at_times{};  // it is slow now and then, and `readings` are the low ones
  int leaf = -1;                          // whose links they are; -1: of none or several

  // What they would be else, bytes per second.
  double usual(const Inference& inference) const {
    return at_times ? at_times->usual : inference.reference.rate;
  }
};

struct SlowRail {
  int rail = 0;
  double rate = 0, usual = 0;  // bytes per second: medians over all hops, of this rail and of the others
};

class Parts {
 public:
  // `across`: of experiments in which all nodes sent to other leaves, as they were measured. All outlive it.
  Parts(const Structure& structure, const Readings& readings, const Readings& across,
        const Inference& inference);

  // Rails that are slow in all of a suspect's readings, where others are not; empty where rails tell nothing.
  std::vector<int> slow_rails(const Suspect& suspect) const;
  // A rail that is slow at most nodes.
  const std::optional<SlowRail>& slow_rail() const { return slow_rail_; }
  const std::vector<FabricPart>& fabric() const { return fabric_; }
  // A leaf's pairs with others were all slow, but it may be chance: more of them would tell.
  bool undecided() const { return undecided_; }
  // Pairs that read low of a leaf that may be slow at times, if it is no chance: others of it would tell.
  bool may_be_at_times(int source, int destination) const {
    return std::ranges::any_of(open_parts_, [&](const FabricPart& part) {
      return std::ranges::binary_search(part.pairs, std::pair(source, destination));
    });
  }
  bool any_at_times() const { return !open_parts_.empty(); }
  // Such leaves, and how many of them are expected of chance, at the least; none: many.
  const std::vector<FabricPart>& at_times() const { return open_parts_; }
  double chance_at_times() const {
    double out = std::numeric_limits<double>::infinity();
    for (const FabricPart& part : open_parts_) out = std::min(out, part.at_times->chance);
    return out;
  }
  // Whether a part of the fabric explains this path.
  const FabricPart* part_of(int source, int destination) const;

 private:
  struct Crossing {
    int source = 0, destination = 0, from = 0, to = 0;  // nodes, leaves
    bool slow = false;                                  // at its best
    double low = 0;                                     // share of its readings that are, 0..1
    int rail = -1;                                      // the only slow one; -1: all, or nobody knows
    bool scattered = false;                             // several rails are slow, but not all
    double best = 0;                                    // bytes per second, of the fastest generation
    double level = 1;                                   // of the older end's generation
    bool older = false;  // an end is of a slower generation, and as good as that
    bool counts = true;  // else it shared links, or was beside others' traffic, and accuses nobody
    double carried() const { return best * level; }  // the best as it was measured
  };
  // What of a leaf is slow.
  struct Ends {
    int leaf = -1;
    bool up = false, down = false;
    bool hold(const Crossing& c) const { return (up && c.from == leaf) || (down && c.to == leaf); }
  };
  std::vector<int> slow_rails(const std::vector<Reading>& readings) const;  // all that are
  std::vector<double> shares_of_usual(std::vector<double> rates) const;     // of rails
  std::vector<Crossing> crossings() const;
  void fold(std::vector<Crossing> crossings);
  std::vector<Ends> add_at_times(const std::set<int>& leaves, const std::set<int>& slow_for_good);
  void name(FabricPart& part, const Ends& ends, const std::set<int>& leaves) const;
  std::size_t explains(const std::vector<Crossing>& all, const Ends& ends, std::size_t leaves);
  void add(const std::vector<Crossing>& all, const Ends& ends, const std::set<int>& leaves);
  void fold_confirmed(std::vector<Crossing> crossings, int leaves);
  std::vector<std::vector<double>> best_of_sides(bool beside_slow, bool with_others = false) const;
  void find_rail();
  bool may_be_pods(double rate) const;
  bool may_be_others(const FabricPart& part, bool anybodys) const;
  std::optional<double> lacks(const FabricPart& part, bool up) const;
  static bool often_slow(const std::vector<Crossing>& crossings, const std::set<int>& leaves);
  void name_by_members(FabricPart& part, int leaf, std::string device) const;

  const Structure& structure_;
  const Readings &readings_, &across_;
  const Inference& inference_;
  const bool crowded_;
  std::vector<double> usual_;  // by rail: upper median of what the sides do at their best
  std::optional<SlowRail> slow_rail_;
  std::vector<FabricPart> fabric_;
  bool undecided_ = false;
  std::vector<FabricPart> open_parts_;
};

}  // namespace ringtrue::diagnosis
