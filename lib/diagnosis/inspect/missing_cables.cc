#include "diagnosis/inspect/missing_cables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

using Counts = std::map<int, int>;  // switch -> cables to it

constexpr const char* no_like = "no switch has like cables to compare with";
constexpr const char* too_few = "a switch like it has more cables, but too few are like it to tell";
constexpr const char* unlike = "switches like it have more cables, but not all of them alike";

class Graph {
 public:
  explicit Graph(const Fabric& fabric) : fabric_(fabric), to_(fabric.switches.size()), hosts(to_.size()) {
    std::unordered_map<std::string_view, int> index;
    std::set<std::string_view> aggregation;
    for (std::size_t i = 0; i < fabric.switches.size(); ++i) index.emplace(fabric.switches[i].guid, int(i));
    for (const FabricHost& h : fabric.hosts)
      if (h.aggregation) aggregation.insert(h.guid);
    for (const FabricLink& l : fabric.links) {
      const auto a = index.find(l.a.guid), b = index.find(l.b.guid);
      if (a != index.end() && b != index.end() && a->second != b->second) {
        ++to_[std::size_t(a->second)][b->second];
        ++to_[std::size_t(b->second)][a->second];
      } else if (a != index.end() && b == index.end() && !aggregation.contains(l.b.guid)) {
        ++hosts[std::size_t(a->second)];
      }
    }
    find_levels();
  }

  int size() const { return int(to_.size()); }
  const std::string& guid(int u) const { return fabric_.switches[std::size_t(u)].guid; }
  int level(int u) const { return levels_[std::size_t(u)]; }
  const Counts& of(int u) const { return to_[std::size_t(u)]; }
  // To switches of a level alone.
  Counts to_level(int u, int level) const {
    Counts out;
    for (const auto& [v, n] : of(u))
      if (this->level(v) == level) out.emplace(v, n);
    return out;
  }
  int total(int u, int level) const {
    int sum = 0;
    for (const auto& [v, n] : of(u)) sum += this->level(v) == level ? n : 0;
    return sum;
  }

 private:
  // A spine with a host for management, beside leaves with more of them, is none.
  bool is_leaf(int u) const {
    const int own = hosts[std::size_t(u)];
    if (own == 0) return false;
    int cables = own;
    bool lesser = !of(u).empty();
    for (const auto& [v, n] : of(u)) cables += n, lesser &= hosts[std::size_t(v)] > own;
    return !(lesser && own <= few(std::size_t(cables)));
  }
  void find_levels() {
    std::vector<int> now;
    levels_.assign(to_.size(), -1);
    for (int u = 0; u < size(); ++u)
      if (is_leaf(u)) levels_[std::size_t(u)] = 0, now.push_back(u);
    for (std::size_t i = 0; i < now.size(); ++i)
      for (const auto& [v, n] : of(now[i]))
        if (level(v) < 0) levels_[std::size_t(v)] = level(now[i]) + 1, now.push_back(v);
  }

  const Fabric& fabric_;
  std::vector<Counts> to_;
  std::vector<int> levels_;  // steps from a switch with hosts; -1: none is reached

 public:
  std::vector<int> hosts;
};

// The switches like `u` by its cables to a level.
std::vector<int> twins(const Graph& graph, int u, int level, const Counts& own) {
  std::map<int, std::pair<int, int>> shared;  // switch -> neighbours in common, of which with as many cables
  for (const auto& [v, n] : own)
    for (const auto& [w, m] : graph.of(v))
      if (w != u && graph.level(w) == graph.level(u)) ++shared[w].first, shared[w].second += n == m;
  std::vector<int> out;
  for (const auto& [w, common] : shared) {
    int all = int(own.size()) - int(own.contains(w));
    for (const auto& [v, n] : graph.of(w)) all += graph.level(v) == level && v != u;
    all -= common.first;
    if (all - common.second <= few(std::size_t(all))) out.push_back(w);
  }
  return out;
}

struct Vote {
  int value = 0, votes = 0;
};

// Nine in ten, or all but one; of three and more.
std::optional<Vote> consensus(const std::map<int, int>& votes) {
  int all = 0;
  Vote most;
  for (const auto& [value, n] : votes) {
    all += n;
    if (n > most.votes) most = {value, n};
  }
  if (all < 3 || most.votes * 2 <= all || all - most.votes > few(std::size_t(all))) return std::nullopt;
  return most;
}

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph) {}

  MissingCables run() {
    for (int u = 0; u < graph_.size(); ++u) {
      std::set<int> levels = {graph_.level(u) + 1, graph_.level(u) - 1};
      for (const auto& [v, n] : graph_.of(u)) levels.insert(graph_.level(v));
      for (const int level : levels)
        if (level >= 0) look(u, level);
    }
    settle();
    return std::move(out_);
  }

 private:
  using Pair = std::pair<int, int>;
  Pair pair(int u, int v) const {
    return std::pair(graph_.level(u), u) <= std::pair(graph_.level(v), v) ? Pair(u, v) : Pair(v, u);
  }

  // How many cables the switches of u's level have to this level, where nearly all have as many and `u` has
  // a few less.
  std::optional<Vote> fewer_than_level(int u, int level) {
    const auto [at, fresh] = totals_.try_emplace({graph_.level(u), level});
    if (fresh)
      for (int w = 0; w < graph_.size(); ++w)
        if (graph_.level(w) == graph_.level(u)) ++at->second[graph_.total(w, level)];
    std::map<int, int> others = at->second;
    const int own = graph_.total(u, level);
    --others[own];
    const auto most = consensus(others);
    if (!most || own >= most->value || most->value - own > few(std::size_t(most->value))) return std::nullopt;
    return most;
  }

  void look(int u, int level) {
    const Counts own = graph_.to_level(u, level);
    const std::vector<int> like = twins(graph_, u, level, own);
    const auto total = fewer_than_level(u, level);
    const int of_level = total ? sum(totals_.at({graph_.level(u), level})) : 0;
    if (like.empty()) {
      if (total)
        nameless_.push_back(
            {graph_.guid(u), "", graph_.total(u, level), total->value, total->votes, of_level, true});
      else if (!own.empty() || (level == graph_.level(u) + 1 && any_has(graph_.level(u), level)))
        alone_.insert({u, level});
      return;
    }
    std::set<int> reached;
    for (const int w : like)
      for (const auto& [v, n] : graph_.of(w))
        if (graph_.level(v) == level && v != u) reached.insert(v);
    for (const auto& [v, n] : own) judged_.insert(pair(u, v));
    for (const int v : reached) {
      judged_.insert(pair(u, v));
      const auto mine = own.find(v);
      compare(u, v, mine == own.end() ? 0 : mine->second, like, total, of_level);
    }
  }

  static int sum(const std::map<int, int>& votes) {
    int all = 0;
    for (const auto& [value, n] : votes) all += n;
    return all;
  }

  bool any_has(int from, int to) const {
    for (int w = 0; w < graph_.size(); ++w)
      if (graph_.level(w) == from && graph_.total(w, to) > 0) return true;
    return false;
  }

  void compare(int u, int v, int mine, const std::vector<int>& like, const std::optional<Vote>& total,
               int of_level) {
    std::map<int, int> votes;
    int most = 0;
    for (const int w : like) {
      if (w == v) continue;
      const auto at = graph_.of(w).find(v);
      const int n = at == graph_.of(w).end() ? 0 : at->second;
      ++votes[n];
      most = std::max(most, n);
    }
    if (mine >= most) return;
    const auto usual = consensus(votes);
    const Pair p = pair(u, v);
    MissingCable missing{graph_.guid(p.first), graph_.guid(p.second), mine, most, 0, 0, false};
    if (usual && usual->value > mine) {
      missing.usual = usual->value;
      missing.alike = usual->votes;
      missing.of = int(like.size()) + 1;
      found_.emplace(p, missing);
    } else if (usual) {
      return;  // one of the others has more than all
    } else if (total && votes.size() == 1 && total->value - graph_.total(u, graph_.level(v)) == most - mine) {
      missing.usual = most;
      missing.alike = total->votes;
      missing.of = of_level;
      missing.by_total = true;
      found_.emplace(p, missing);
    } else {
      doubtful_.emplace(p, sum(votes) < 3 ? too_few : unlike);
    }
  }

  // What one end was found to lack is no riddle of the other.
  void settle() {
    std::set<int> lacking;
    std::map<std::string, std::set<int>> why;
    for (const auto& [p, missing] : found_) {
      out_.found.push_back(missing);
      lacking.insert(p.first), lacking.insert(p.second);
    }
    for (const MissingCable& missing : nameless_) {
      const auto named = [&](const auto& f) {
        return f.second.from == missing.from || f.second.to == missing.from;
      };
      if (std::ranges::none_of(found_, named)) out_.found.push_back(missing);
    }
    for (const auto& [p, reason] : doubtful_)
      if (!found_.contains(p)) why[reason].insert(p.first), why[reason].insert(p.second);
    for (const auto& [u, level] : alone_) {
      bool open = graph_.total(u, level) == 0 && !lacking.contains(u);
      for (const auto& [v, n] : graph_.to_level(u, level)) open |= !judged_.contains(pair(u, v));
      if (open) why[no_like].insert(u);
    }
    for (const auto& [reason, switches] : why) {
      UnjudgedCables unjudged{{}, reason};
      for (const int u : switches) unjudged.what.push_back(graph_.guid(u));
      out_.unjudged.push_back(std::move(unjudged));
    }
  }

  const Graph& graph_;
  MissingCables out_;
  std::map<Pair, std::map<int, int>> totals_;  // level, to level -> cables of a switch -> switches
  std::map<Pair, MissingCable> found_;
  std::map<Pair, std::string> doubtful_;
  std::vector<MissingCable> nameless_;
  std::set<Pair> judged_;  // by one end at least
  std::set<Pair> alone_;   // switch, level
};

// Cables to hosts are seen only where they are: a leaf with fewer than others may lack one.
void look_at_hosts(const Graph& graph, MissingCables& out) {
  std::map<int, int> votes;
  std::vector<int> leaves;
  for (int u = 0; u < graph.size(); ++u)
    if (graph.level(u) == 0) leaves.push_back(u), ++votes[graph.hosts[std::size_t(u)]];
  if (votes.size() < 2) return;
  UnjudgedCables unjudged{{},
                          "others have cables to more hosts: free ports, or cables that are not plugged in"};
  const int most = votes.rbegin()->first;
  for (const int u : leaves)
    if (graph.hosts[std::size_t(u)] < most) unjudged.what.push_back(graph.guid(u));
  out.unjudged.push_back(std::move(unjudged));
}

}  // namespace

int few(std::size_t all) {
  return std::max(1, int(all) / 10);
}

MissingCables find_missing_cables(const Fabric& fabric) {
  const Graph graph(fabric);
  MissingCables out = Search(graph).run();
  look_at_hosts(graph, out);
  return out;
}

}  // namespace ringtrue::diagnosis
