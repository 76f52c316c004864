#include "diagnosis/infer/significance.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/plural.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {
namespace {

// Partners that a side is to be slow with where others' traffic lasts: of so many, not all are behind it.
constexpr int beside_lasting = 6, beside_lasting_guessed = 4;

// Of readings across leaves: where more are as low, it may be chance.
constexpr double seldom_across = 0.02;

// Seconds, and a little more: a smaller gap may be the count of ticks.
constexpr double one_tick = 0.005;

// Readings above the longer ones by no more than a burst explains say the same as they do. Whether there were
// any.
bool even_out_bursts(std::vector<Reading>& list) {
  double longest = 0;
  for (const Reading& r : list) longest = r.brief ? longest : std::max(longest, r.rate);
  bool evened = false;
  for (Reading& r : list) {
    const double raised = longest * (1 + longest_burst / double(r.bytes));
    if (longest > 0 && r.brief && r.rate > longest && r.rate < raised) r.rate = longest, evened = true;
  }
  return evened;
}

std::set<int> runs_of(const std::vector<Reading>& list) {
  std::set<int> out;
  for (const Reading& r : list) out.insert(r.run);
  return out;
}

int runs_of_both(const Suspect& send, const Suspect& receive) {
  const std::set<int> runs = runs_of(send.readings), others = runs_of(receive.readings);
  return int(std::count_if(runs.begin(), runs.end(), [&](int run) { return others.count(run) > 0; }));
}

// The rail on which a suspect does worst, by its best readings; -1 where rails are not told apart.
int worst_rail(const std::vector<Reading>& list) {
  const std::vector<double> best = best_by_rail(list);
  return best.empty() ? -1 : int(std::min_element(best.begin(), best.end()) - best.begin());
}

}  // namespace

std::size_t slow_rails(const std::vector<Reading>& readings, double reference) {
  constexpr double slow_rail = 0.9;
  const std::vector<double> best = best_by_rail(readings);
  const double usual = reference / double(std::max<std::size_t>(best.size(), 1));
  return std::size_t(std::ranges::count_if(best, [&](double rate) { return rate < slow_rail * usual; }));
}

Significance::Significance(const Readings& readings, const Thresholds& thresholds, const Structure& structure,
                           const Inference& inference)
    : readings_(readings),
      t_(thresholds),
      structure_(structure),
      inference_(inference),
      n_(readings.nodes()),
      sparse_(between_neighbours(structure, n_)),
      untold_(sparse_ && structure.leaf.empty()),
      lasting_(inference.lasting_others > 0),
      lasting_others_(lasting_ && structure.leaf.empty() && !structure.all_alike),
      common_(readings, [&](int x, int y) {
        // Where most pairs are measured once, what their ends do tells what they can do.
        if (!sparse_ || readings.of(x, y).size() > 1) return readings.best(x, y).value_or(0);
        if (structure.crosses(x, y)) return -1.0;
        return std::min(inference.sends[std::size_t(x)].value_or(0),
                        inference.receives[std::size_t(y)].value_or(0));
      }) {}

std::optional<Suspect> Significance::test(Suspect s, std::vector<Reading> list, double limit,
                                          int partners_needed) const {
  const bool path = s.type == ScopeType::path;
  if (untold_ && !path && !s.alone) return test_untold(std::move(s), std::move(list), limit, partners_needed);
  if (list.empty() && !path) return std::nullopt;  // nothing that may confirm it
  const Reference& reference = inference_.reference;
  const bool evened = even_out_bursts(list);
  std::sort(list.begin(), list.end(), [](const Reading& a, const Reading& b) { return a.rate > b.rate; });
  s.best = !list.empty() ? list.front().rate : readings_.best(s.node, s.peer).value_or(0);
  s.ratio = s.best / reference.rate;
  // A brief reading that no burst explains has shown that it can do better.
  if (s.best >= t_.warning * limit) return std::nullopt;
  double busy = 0;
  for (const Reading& r : list) busy = std::max(busy, r.busy);
  if (!list.empty() && 1 - s.best / limit < one_tick / busy) return std::nullopt;
  const bool vague = reference.momentary || (!list.empty() && busy < settled_from);
  if (vague && s.best >= gross_share * limit) return std::nullopt;
  // What the node's other side does may be this one's doing.
  double as_low = common_.share_as_low(s.best, true, [&](int x, int y) {
    return s.explains(x, y) || (n_ > 2 && !path && (x == s.node || y == s.node));
  });
  // A side that met nobody of its own leaf is as the ways across are.
  const auto is_across = [&](const Reading& r) { return structure_.crosses(r.source, r.destination); };
  const bool any_across = !path && std::ranges::any_of(list, is_across),
             only_across = any_across && std::ranges::all_of(list, is_across);
  const double low_across = any_across ? std::max(as_low, share_as_low_across(s)) : as_low;
  if (only_across) as_low = low_across;
  if (as_low > common_share) return std::nullopt;
  const bool crosses = path && structure_.crosses(s.node, s.peer);
  const bool may_share = crosses || (path && structure_.guessed);
  // Where each connection has a way of its own, rails meet on trunks now and then, each time others. A rail
  // that was once alone on its trunk has shown that nothing is wrong with its way.
  if (may_share && list.size() > 0 && list.front().rails.size() > 1 && slow_rails(list, reference.rate) == 0)
    return std::nullopt;
  if (crosses) as_low = std::min(1.0, 3 * as_low);

  int partners = s.partners;
  if (any_across && !only_across) {
    // What low readings with one partner below its leaf have in common is that one, and a single one of
    // another leaf may have been a trunk's.
    std::set<int> near, far;
    for (const Reading& r : list)
      (is_across(r) ? far : near).insert(r.source == s.node ? r.destination : r.source);
    partners = std::min(partners, int(near.size() + far.size() / 2));
  }
  s.missing = lacks(list, s.best / limit, partners, partners_needed, crosses);
  s.readings = std::move(list);
  if (s.missing.empty() && spread(s) + 0.02 > 1 - s.best / limit)
    s.missing = fmt::format("its readings scatter by {:.1f} %, more than is missing", spread(s) * 100);
  if (s.missing.empty() && only_across && !others_cross_well(s))
    s.missing = "the links of its leaf may be what is slow: nobody else's below it have carried more";
  s.else_sure = s.missing.empty();
  if (may_share && s.missing.empty()) {
    s.missing = lacks_solitude(s);
    s.in_company = !s.missing.empty();
  }

  // The sides and paths of which any might have shown it; more strictly where more are looked at, and most so
  // paths that share no known trunk: what could make but one of them slow?
  const double strictly = path && !crosses ? 1000 : 100;
  // A path is repeated because it read low, and looked at after each repeat.
  const double looks = path ? 10 : 1;
  const double candidates = !sparse_ ? looks * n_ * (n_ + 1.0)  // n (n - 1) paths, 2 n sides
                                     : strictly * (path ? readings_.pairs_measured() : 2.0 * n_);
  const std::size_t runs = runs_of(s.readings).size();
  std::vector<Reading> inside;
  for (const Reading& r : s.readings)
    if (path || only_across || !is_across(r)) inside.push_back(r);
  const std::size_t runs_inside = runs_of(inside).size();
  const double of_those_across = chance_of(low_across, int(runs - runs_inside));
  s.chance = may_be_chance(of_those_across * chance_of(as_low, int(runs_inside)), candidates);
  // How near together they lie may tell more, and takes a look at all readings.
  if (s.chance && sparse_ && !path && !evened && s.readings.size() == runs)
    s.chance = may_be_chance(of_those_across * chance_of(as_low, shares_between(s, inside)), candidates);
  // So do others, which is what hashed trunks are like.
  s.chance |= s.in_company && share_as_low_across(s) > seldom_across;
  s.chance |= crosses && (!others_carry_more_across(s) || may_be_like_others_across(s));
  if (s.chance && (s.missing.empty() || sparse_)) {
    s.missing =
        fmt::format("others that can do better read as low in {:.0f} % of their readings", low_across * 100);
  }
  if (path && n_ > 2 && (lasting_others_ || (crosses && lasting_))) {
    s.beside_others = true;
    s.missing = "others send meanwhile, and may share links with it";
  }
  if (!path && s.missing.empty()) s.missing = lacks_partners_beside_others(s, s.partners, limit);
  s.confirmed = s.missing.empty();
  return s;
}

// Of the rounds of all ports at once, in which it was as low: by chance. They tell something where others
// hardly slow one another in them.
double Significance::chance_of_screening(const Suspect& side, double low) const {
  constexpr double seldom = 0.05, fewest = 16;
  double all = 1, low_others = 0.5;
  std::set<int> runs;
  bool fine = false;
  readings_.each_pair([&](int x, int y) {
    const bool its_own = side.explains(x, y);
    if (!its_own && inference_.due(x, y) < 1.03 * low) return;
    for (const Reading& r : readings_.of(x, y)) {
      if (!r.shared || r.momentary || r.held_back) continue;
      if (its_own)
        runs.insert(r.run), fine |= r.rate > low;
      else
        ++all, low_others += r.rate <= low;
    }
  });
  return fine || all < fewest || low_others > seldom * all ? 1
                                                           : chance_of(low_others / all, int(runs.size()));
}

// Hops may share links with others, some rails of them or all. Looked at is the rail on which it does worst,
// and of readings with near partners and with others those that are seldom low with others.
std::optional<Suspect> Significance::test_untold(Suspect s, std::vector<Reading> list, double limit,
                                                 int partners_needed) const {
  if (list.empty()) return std::nullopt;
  (void)even_out_bursts(list);
  const int rail = worst_rail(list);
  for (Reading& r : list) r.rate = rate_on(r, rail);
  std::sort(list.begin(), list.end(), [](const Reading& a, const Reading& b) { return a.rate > b.rate; });
  s.best = list.front().rate;
  s.ratio = s.best / inference_.reference.rate;
  if (s.best >= t_.warning * limit) return std::nullopt;
  const double low = std::max(s.best, (1 - (1 - s.best / limit) / 2) * limit);  // half way to what is due
  // Nor does what may be slow itself tell how often others read low: both ends have carried more.
  const auto mine = [&](int x, int y) { return s.explains(x, y) || inference_.due(x, y) < 1.03 * low; };
  double share[2], chance[2] = {1, 1};
  for (const bool near : {false, true}) share[near] = common_.share_as_low_by(near, rail, low, mine);
  std::set<int> runs[2];
  for (const Reading& r : list)
    if (runs[0].count(r.run) + runs[1].count(r.run) == 0)
      runs[is_near(r.source, r.destination)].insert(r.run);
  for (const bool near : {false, true}) chance[near] = chance_of(share[near], int(runs[near].size()));
  // The kind of which low readings are rare has the readings that tell.
  const bool near = share[1] < share[0];
  std::vector<Reading> telling;
  std::set<int> partners;
  const int met = s.partners;
  for (const Reading& r : list) {
    if (is_near(r.source, r.destination) != near) continue;
    telling.push_back(r);
    partners.insert(s.type == ScopeType::sender ? r.destination : r.source);
  }
  s.missing = lacks(telling, s.best / limit, int(partners.size()), partners_needed, false);
  if (s.missing.empty())
    s.partners = int(partners.size());
  else
    telling = list, s.missing = lacks(telling, s.best / limit, s.partners, partners_needed, false);
  s.readings = std::move(telling);
  s.else_sure = s.missing.empty();
  s.chance = may_be_chance(chance[0] * chance[1] * chance_of_screening(s, low), 100 * 2.0 * n_);
  if (s.chance && s.missing.empty())
    s.missing =
        fmt::format("others read as low in {:.0f} % of their readings", std::max(share[0], share[1]) * 100);
  if (s.missing.empty()) s.missing = lacks_partners_beside_others(s, met, limit);
  s.confirmed = s.missing.empty();
  return s;
}

// On a trunk that others use all the time every side that shares it is slower by what they send: a side below
// a leaf that nobody knows, with all but few partners, and one below a leaf that was guessed wrong.
std::string Significance::lacks_partners_beside_others(const Suspect& s, int partners, double limit) const {
  if (!lasting_ || !(untold_ || structure_.guessed) || structure_.all_alike) return {};
  if (s.type == ScopeType::node) return {};  // its program says so itself
  const bool as_much = inference_.lacks_what_others_send(s, limit - s.best);
  if (untold_ && as_much) return "others send as much meanwhile as it lacks, and may share links with it";
  const int needed = untold_ ? beside_lasting : as_much ? beside_lasting_guessed : 0;
  if (partners >= needed) return {};
  return "others send meanwhile, and may share links with it: more partners are needed";
}

std::string Significance::lacks(const std::vector<Reading>& list, double ratio, int partners,
                                int partners_needed, bool crosses) const {
  // A large fleet tells its own noise, and what lies far beyond it needs few readings.
  const bool far = sparse_ && ratio < 0.9 && 1 - ratio > 5 * common_.noise();
  const std::size_t needed = far                   ? (crosses ? 4 : 3)
                             : ratio < 0.7         ? 4
                             : ratio < t_.critical ? 5
                             : ratio < 0.9         ? 8
                                                   : 12;
  double agreement = ratio < 0.5 ? 0.5 : ratio < 0.7 ? 0.85 : ratio < 0.9 ? 0.97 : 0.985;
  if (far) agreement = std::min(agreement, 1 - 4 * common_.noise());
  const std::size_t agreeing = ratio < 0.9 ? 2 : 3;
  const std::size_t runs = runs_of(list).size();
  std::set<int> confirming;
  for (const Reading& r : list)
    if (r.confirming) confirming.insert(r.run);
  if (list.size() < needed || runs < 3 || confirming.size() < 2) {
    return fmt::format("{} in {}, {} of them repeats: too few at {:.1f} %", plural(list.size(), "reading"),
                       plural(runs, "experiment"), confirming.size(), ratio * 100);
  }
  if (partners < partners_needed) return "too few partners that are known to be good";
  // So many of which none is better need not agree.
  const bool many = sparse_ && !crosses && runs >= 2 * needed;
  if (!many && list[agreeing - 1].rate < list[0].rate * agreement) {
    return fmt::format("its readings do not agree: the {} best are {:.1f} % apart", agreeing,
                       (1 - list[agreeing - 1].rate / list[0].rate) * 100);
  }
  return {};
}

// Of all readings, which share lies between the best of the suspect's `list`, fastest first, and each of the
// others. That some lie nearer together than noise has it says no more.
std::vector<double> Significance::shares_between(const Suspect& s, const std::vector<Reading>& list) const {
  std::vector<double> out;
  for (std::size_t i = 1; i < list.size(); ++i) {
    const double best = list.front().rate, low = std::min(list[i].rate, best * (1 - 4 * common_.noise()));
    out.push_back(common_.share_within(low, best, [&](int x, int y) { return s.explains(x, y); }));
  }
  return out;
}

void Significance::join_sides(std::vector<Suspect>& suspects) const {
  if (!sparse_) return;
  for (Suspect& send : suspects) {
    if (send.type != ScopeType::sender || send.alone || !send.else_sure) continue;
    const auto receive = std::find_if(suspects.begin(), suspects.end(), [&](const Suspect& s) {
      return s.type == ScopeType::receiver && s.node == send.node && !s.alone && s.else_sure;
    });
    if (receive == suspects.end() || (!send.chance && !receive->chance)) continue;
    const double chance = chance_of(share_of_both(send, *receive), runs_of_both(send, *receive));
    if (may_be_chance(chance, 100.0 * n_)) continue;
    if (lasting_others_ && send.partners + receive->partners < 2 * beside_lasting) continue;
    const auto lacks = [&](const Suspect& s) {
      return !lacks_partners_beside_others(s, beside_lasting, inference_.reference.rate).empty();
    };
    if (lacks(send) || lacks(*receive)) continue;
    for (Suspect* s : {&send, &*receive}) {
      s->chance = false;
      s->confirmed = true;
      s->missing.clear();
    }
  }
}

// How often both sides of the other nodes that can do better read as low in one run; taken as one more than
// it is.
double Significance::share_of_both(const Suspect& send, const Suspect& receive) const {
  struct Seen {
    bool sent = false, sent_low = false, received = false, received_low = false;
  };
  std::map<std::pair<int, int>, Seen> seen;  // by run and node
  readings_.each_pair([&](int x, int y) {
    for (const Reading& r : readings_.counting(x, y)) {
      Seen& source = seen[{r.run, x}];
      source.sent = true;
      source.sent_low |= r.rate <= send.best;
      Seen& destination = seen[{r.run, y}];
      destination.received = true;
      destination.received_low |= r.rate <= receive.best;
    }
  });
  int all = 1, both = 1;
  for (const auto& [at, node] : seen) {
    const auto i = std::size_t(at.second);
    const bool better = inference_.sends[i].value_or(0) > 1.03 * send.best &&
                        inference_.receives[i].value_or(0) > 1.03 * receive.best;
    if (at.second == send.node || !node.sent || !node.received || !better) continue;
    ++all, both += node.sent_low && node.received_low;
  }
  return double(both) / all;
}

double chance_of(double share_as_low, int readings) {
  double out = 1;
  for (; readings > 0; --readings) out *= share_as_low;
  return out;
}

double chance_of(double share_as_low, const std::vector<double>& between) {
  const int others = int(between.size()), k = others + 1;
  const double each = chance_of(share_as_low, k);
  if (others < 2) return each;
  // The best may be any of k, and the others lie within so much of it; or all but one of them do.
  const double all = k * share_as_low * chance_of(between[std::size_t(others - 1)], others);
  const double but_one =
      k * others * chance_of(share_as_low, 2) * chance_of(between[std::size_t(others - 2)], others - 1);
  return std::min(each, 3 * std::min(all, but_one));  // one of three looks
}

bool may_be_chance(double chance, double candidates) {
  return chance * candidates > 0.001;
}

}  // namespace ringtrue::diagnosis
