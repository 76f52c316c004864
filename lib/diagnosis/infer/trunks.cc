#include "diagnosis/infer/trunks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {
namespace {

constexpr double slow_share = 0.9;       // of the reference
constexpr double more_by_itself = 1.15;  // two readings of one slow element differ by less
constexpr double by_chance = 1e-3;
constexpr int least_votes = 3, most_votes = 14;
constexpr double nearly_all = 0.8;  // of a switch's trunks: some may be idle, or hidden
constexpr std::size_t trunks_of_a_switch = 3;

}  // namespace

Crossings::Crossings(const NodeRoutes& routes)
    : routes_(routes), trunks_(int(routes.all().trunks().size())), met_(std::size_t(trunks_)) {}

void Crossings::add(const Observation& observation, int run, bool screening) {
  const int n = routes_.nodes(), rails = routes_.rails();
  const std::size_t first_item = items_.size();
  std::vector<int> way;
  std::vector<int> used(met_.size());
  for (const HopReading& hop : observation.hops) {
    const auto rate = hop.rate();
    const bool known = hop.source >= 0 && hop.source < n && hop.destination >= 0 && hop.destination < n;
    if (!rate || !known || hop.source == hop.destination) continue;
    pairs_.emplace(hop.source, hop.destination);
    // Where the world does not tell rails apart, a hop crosses what all of them cross.
    const bool apart = int(hop.rails.size()) == rails && rails > 1;
    for (int k = 0; k < (apart ? rails : 1); ++k) {
      Item item{hop.source,
                hop.destination,
                apart ? hop.rails[std::size_t(k)].rail : 0,
                run,
                *rate,
                false,
                screening,
                std::uint32_t(elements_.size()),
                0};
      if (apart) {
        const RailReading& part = hop.rails[std::size_t(k)];
        if (part.rail < 0 || part.rail >= rails || !(part.busy.value > 0)) continue;
        item.rate = (part.bytes / part.busy).value * rails;
      }
      way.clear();
      bool all = true;
      for (int rail = apart ? item.rail : 0; rail < (apart ? item.rail + 1 : rails); ++rail) {
        all = routes_.way(hop.source, hop.destination, rail, way) && all;
        elements_.push_back(port_out(hop.source, rail));
        elements_.push_back(port_in(hop.destination, rail));
      }
      for (const int trunk : way) ++used[std::size_t(trunk)];
      elements_.insert(elements_.end(), way.begin(), way.end());
      item.count = std::uint32_t(elements_.size()) - item.first;
      // Over what nobody knows it may have met anybody.
      item.shared = !all || hop.busy.value < momentary_below;
      items_.push_back(item);
    }
  }
  for (int t = 0; t < trunks_; ++t) met_[std::size_t(t)] += used[std::size_t(t)] > 0;
  for (std::size_t i = first_item; i < items_.size(); ++i)
    for (const int e : elements(items_[i]))
      if (is_trunk(e) && used[std::size_t(e)] > 1) items_[i].shared = true;
}

bool TrunkInference::clear(std::span<const int> trunks) const {
  return std::all_of(trunks.begin(), trunks.end(), [&](int t) { return carried[std::size_t(t)] >= limit; });
}

namespace {

class TrunkInferrer {
 public:
  using Item = Crossings::Item;
  TrunkInferrer(const Crossings& crossings, double reference, const std::vector<int>& same)
      : c_(crossings), same_(same) {
    out_.limit = slow_share * reference;
    out_.carried.assign(std::size_t(c_.all()), 0);
    for (const Item& item : c_.items())
      for (const int e : c_.elements(item))
        out_.carried[std::size_t(e)] = std::max(out_.carried[std::size_t(e)], item.rate);
  }

  TrunkInference run() {
    for (std::size_t i = 0; i < c_.items().size(); ++i)
      if (c_.items()[i].rate < out_.limit) slow_.push_back(i), causes_.push_back(causes_of(c_.items()[i]));
    explained_.assign(slow_.size(), false);
    if (slow_.empty()) return std::move(out_);
    // What is proven explains readings, and so may leave others with one explanation alone.
    while (prove_a_switch() || prove_an_element()) {
    }
    note_the_rest();
    fold_cables();
    std::stable_sort(out_.slow.begin(), out_.slow.end(),
                     [](const SlowTrunks& a, const SlowTrunks& b) { return a.best < b.best; });
    return std::move(out_);
  }

 private:
  int stands_for(int e) const { return same_.empty() ? e : same_[std::size_t(e)]; }

  std::vector<int> causes_of(const Item& item) const {
    std::vector<int> out;
    for (const int e : c_.elements(item)) {
      const double carried = out_.carried[std::size_t(e)];
      if (carried >= out_.limit || carried > more_by_itself * item.rate) continue;
      const int stands = stands_for(e);
      if (std::find(out.begin(), out.end(), stands) == out.end()) out.push_back(stands);
    }
    return out;
  }

  // `causes`: rising.
  bool crosses(const Item& item, const std::vector<int>& causes) const {
    const auto on = c_.elements(item);
    return std::any_of(on.begin(), on.end(), [&](int e) {
      return std::binary_search(causes.begin(), causes.end(), stands_for(e));
    });
  }

  // The share of readings elsewhere that are no better, of those made before anything was suspected.
  double share_as_low(double rate, const std::vector<int>& causes) {
    if (screening_.empty()) {
      std::vector<char> gone(c_.items().size());
      for (std::size_t s = 0; s < slow_.size(); ++s) gone[slow_[s]] = explained_[s];
      for (std::size_t i = 0; i < c_.items().size(); ++i)
        if (c_.items()[i].screening && !gone[i]) screening_.push_back(c_.items()[i].rate);
      std::sort(screening_.begin(), screening_.end());
    }
    double all = double(screening_.size());
    double low = double(std::upper_bound(screening_.begin(), screening_.end(), rate) - screening_.begin());
    for (std::size_t s = 0; s < slow_.size(); ++s) {
      const Item& item = c_.items()[slow_[s]];
      if (!item.screening || explained_[s] || !crosses(item, causes)) continue;
      --all, low -= item.rate <= rate;
    }
    return all > 0 ? std::max(0.0, low) / all : 1;
  }

  int votes_needed(double share) const {
    int votes = least_votes;
    while (votes < most_votes && double(c_.all()) * std::pow(share, votes) >= by_chance) ++votes;
    return votes;
  }

  bool is_proven(int e) const { return std::find(proven_.begin(), proven_.end(), e) != proven_.end(); }

  struct Votes {
    SlowTrunks found;      // with what is known of it by these readings
    std::set<int> causes;  // that have any
  };
  // Readings that these alone explain. `causes`: rising.
  Votes votes_for(const std::vector<int>& causes) const {
    Votes votes;
    SlowTrunks& out = votes.found;
    std::set<int> runs;
    std::set<std::pair<int, int>> pairs;
    for (std::size_t s = 0; s < slow_.size(); ++s) {
      const Item& item = c_.items()[slow_[s]];
      if (explained_[s] || item.shared || causes_[s].empty()) continue;
      const bool sole = std::all_of(causes_[s].begin(), causes_[s].end(), [&](int e) {
        return std::binary_search(causes.begin(), causes.end(), e);
      });
      if (!sole) continue;
      votes.causes.insert(causes_[s].begin(), causes_[s].end());
      runs.insert(item.run);
      pairs.emplace(item.source, item.destination);
      out.rates.push_back(item.rate);
      out.best = std::max(out.best, item.rate);
    }
    std::sort(out.rates.begin(), out.rates.end(), std::greater<>());
    out.runs = int(runs.size());
    out.pairs.assign(pairs.begin(), pairs.end());
    return votes;
  }

  void prove(SlowTrunks found, const std::vector<int>& elements) {
    proven_.insert(proven_.end(), elements.begin(), elements.end());
    for (std::size_t s = 0; s < slow_.size(); ++s)
      for (const int e : causes_[s])
        if (std::find(elements.begin(), elements.end(), e) != elements.end()) explained_[s] = true;
    screening_.clear();
    if (!found.trunks.empty()) out_.slow.push_back(std::move(found));
  }

  bool prove_an_element() {
    std::map<int, std::set<int>> votes;  // by cause: runs
    for (std::size_t s = 0; s < slow_.size(); ++s)
      if (!explained_[s] && causes_[s].size() == 1 && !c_.items()[slow_[s]].shared)
        votes[causes_[s][0]].insert(c_.items()[slow_[s]].run);
    for (const auto& [e, runs] : votes) {
      if (int(runs.size()) < least_votes) continue;
      if (int(runs.size()) < votes_needed(share_as_low(out_.carried[std::size_t(e)], {e}))) continue;
      SlowTrunks found = votes_for({e}).found;
      if (found.pairs.size() < 2) continue;
      bool hosts = false;  // those are found by their sides
      for (int other = 0; other < c_.all(); ++other)
        if (other == e || (!same_.empty() && stands_for(other) == e)) {
          found.trunks.push_back(other);
          hosts |= !c_.is_trunk(other);
        }
      if (hosts) {
        for (const int t : found.trunks)
          if (!c_.is_trunk(t)) out_.ports.push_back(t);
        found.trunks.clear();
      }
      prove(std::move(found), {e});
      return true;
    }
    return false;
  }

  // Trunks of a switch that have slow readings alone, and all that were met.
  bool prove_a_switch() {
    const auto& trunks = c_.routes().all().trunks();
    std::map<int, std::vector<int>> out, in;
    for (int t = 0; t < c_.trunks(); ++t) {
      if (c_.met(t) == 0) continue;
      out[trunks[std::size_t(t)].from].push_back(t);
      in[trunks[std::size_t(t)].to].push_back(t);
    }
    std::vector<int> slow_at(std::size_t(c_.routes().all().switches()), 0);
    for (int t = 0; t < c_.trunks(); ++t)
      if (slow(t))
        ++slow_at[std::size_t(trunks[std::size_t(t)].from)],
            ++slow_at[std::size_t(trunks[std::size_t(t)].to)];
    for (int s = 0; s < int(slow_at.size()); ++s) {
      if (slow_at[std::size_t(s)] < int(trunks_of_a_switch)) continue;
      std::vector<int> both = out[s];
      both.insert(both.end(), in[s].begin(), in[s].end());
      for (const auto* list : {&both, &out[s], &in[s]})
        if (prove_these(s, *list)) return true;
    }
    return false;
  }

  bool slow(int t) const {
    return c_.met(t) > 0 && out_.carried[std::size_t(t)] > 0 && out_.carried[std::size_t(t)] < out_.limit &&
           !is_proven(stands_for(t));
  }

  bool prove_these(int at, const std::vector<int>& list) {
    std::vector<int> those;
    for (const int t : list)
      if (slow(t)) those.push_back(stands_for(t));
    if (those.size() < trunks_of_a_switch || double(those.size()) < nearly_all * double(list.size()))
      return false;
    std::sort(those.begin(), those.end());
    auto [found, causes] = votes_for(those);
    if (causes.size() < trunks_of_a_switch || found.runs < least_votes) return false;
    if (int(found.rates.size()) < votes_needed(share_as_low(found.best, those))) return false;
    found.at = at;
    for (const int t : list)
      if (slow(t)) found.trunks.push_back(t);
    prove(std::move(found), those);
    return true;
  }

  void note_the_rest() {
    std::set<int> open, hidden;
    for (std::size_t s = 0; s < slow_.size(); ++s)
      for (const int e : causes_[s])
        if (!is_proven(e)) (explained_[s] ? hidden : open).insert(e);
    // Behind what is proven, readings are lower than by that alone: nothing more is known.
    for (const int e : hidden)
      if (!open.contains(e) && c_.is_trunk(e)) out_.hidden.push_back(e);
    out_.open.assign(open.begin(), open.end());
  }

  void fold_cables() {
    const auto& trunks = c_.routes().all().trunks();
    auto& list = out_.slow;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].at >= 0 || list[i].trunks.size() != 1) continue;
      for (std::size_t j = i + 1; j < list.size(); ++j) {
        if (list[j].at >= 0 || list[j].trunks.size() != 1) continue;
        if (trunks[std::size_t(list[i].trunks[0])].back != list[j].trunks[0]) continue;
        list[i].cable = true;
        list[i].trunks.push_back(list[j].trunks[0]);
        list[i].best = std::max(list[i].best, list[j].best);
        list[i].rates.insert(list[i].rates.end(), list[j].rates.begin(), list[j].rates.end());
        std::sort(list[i].rates.begin(), list[i].rates.end(), std::greater<>());
        list[i].runs = std::max(list[i].runs, list[j].runs);
        list[i].pairs.insert(list[i].pairs.end(), list[j].pairs.begin(), list[j].pairs.end());
        list.erase(list.begin() + std::ptrdiff_t(j));
        break;
      }
    }
  }

  const Crossings& c_;
  const std::vector<int>& same_;
  TrunkInference out_;
  std::vector<std::size_t> slow_;         // items
  std::vector<std::vector<int>> causes_;  // of these
  std::vector<char> explained_;           // by what is proven
  std::vector<int> proven_;
  std::vector<double> screening_;  // rates of the first rounds, rising; empty: to be made
};

}  // namespace

TrunkInference infer_trunks(const Crossings& crossings, double reference, const std::vector<int>& same) {
  return TrunkInferrer(crossings, reference, same).run();
}

}  // namespace ringtrue::diagnosis
