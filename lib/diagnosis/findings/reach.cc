#include "diagnosis/findings/reach.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/hostlist.h"

namespace ringtrue::diagnosis {
namespace {

using Pairs = std::set<std::pair<int, int>>;  // ordered
enum class Role : std::uint8_t { sender, receiver, both };

// What is wrong with a set of ordered pairs, and who that is.
struct Fault {
  Scope scope;
  Pairs pairs;
  std::set<int> from, to;  // the pairs' nodes, of one way
};

bool takes_part(std::pair<int, int> pair, int node, Role role) {
  return (role != Role::receiver && pair.first == node) || (role != Role::sender && pair.second == node);
}

class Grouping {
 public:
  Grouping(Pairs all, Pairs bad, const std::vector<std::string>& names)
      : all_(std::move(all)), bad_(std::move(bad)), names_(names) {}

  std::vector<Fault> faults() {
    if (bad_.empty()) return {};
    if (bad_ == all_ && names_.size() > 2 && bad_.size() > 2) {
      add({ScopeType::fleet, -1, -1, {}, {}}, bad_);
      return std::move(out_);
    }
    while (const auto node = worst()) {
      const int place = node->first;
      const Role role = node->second;
      const ScopeType types[] = {ScopeType::sender, ScopeType::receiver, ScopeType::node};
      add({types[int(role)], place, -1, {names_[std::size_t(place)]}, {}}, of(bad_, place, role));
      // What is known of its node says nothing of others.
      std::erase_if(all_, [&](const auto& pair) { return takes_part(pair, place, role); });
    }
    add_pairs();
    return std::move(out_);
  }

 private:
  static Pairs of(const Pairs& pairs, int node, Role role) {
    Pairs out;
    std::copy_if(pairs.begin(), pairs.end(), std::inserter(out, out.end()),
                 [&](const auto& pair) { return takes_part(pair, node, role); });
    return out;
  }

  void add(Scope scope, const Pairs& pairs) {
    Fault fault{std::move(scope), pairs, {}, {}};
    for (const auto& [source, destination] : pairs) fault.from.insert(source), fault.to.insert(destination);
    std::erase_if(bad_, [&](const auto& pair) { return pairs.contains(pair); });
    out_.push_back(std::move(fault));
  }

  // Whoever has the most pairs of those that are bad in all of its pairs, with two partners or more.
  std::optional<std::pair<int, Role>> worst() const {
    std::optional<std::pair<int, Role>> out;
    std::size_t most = 1;
    for (int node = 0; node < int(names_.size()); ++node)
      for (const Role role : {Role::receiver, Role::sender, Role::both}) {
        const Pairs tried = of(all_, node, role);
        std::set<int> partners;
        for (const auto& [a, b] : tried) partners.insert(a == node ? b : a);
        if (partners.size() < 2 || tried.size() <= most || of(bad_, node, role) != tried) continue;
        most = tried.size();
        out = {node, role};
      }
    return out;
  }

  // Sources that reach none of the same destinations are told together.
  void add_pairs() {
    std::map<int, std::set<int>> to;
    for (const auto& [source, destination] : bad_) to[source].insert(destination);
    std::map<std::set<int>, std::set<int>> alike;
    for (const auto& [source, destinations] : to) alike[destinations].insert(source);
    for (const auto& [destinations, sources] : alike) {
      const auto back = alike.find(sources);
      const bool both = back != alike.end() && back->second == destinations;
      if (both && destinations < sources) continue;  // told from the other end
      Pairs pairs;
      for (const int a : sources)
        for (const int b : destinations) {
          pairs.emplace(a, b);
          if (both) pairs.emplace(b, a);
        }
      const int a = *sources.begin(), b = *destinations.begin();
      add({ScopeType::path, a, b, {names_[std::size_t(a)]}, names_[std::size_t(b)]}, pairs);
      out_.back().from = sources;
      out_.back().to = destinations;
    }
  }

  Pairs all_, bad_;
  const std::vector<std::string>& names_;
  std::vector<Fault> out_;
};

class Judge {
 public:
  Judge(const std::vector<Tried>& tried, const std::map<int, DataEnd>& ends,
        const std::vector<std::string>& names, Seconds patience)
      : tried_(tried), ends_(ends), names_(names), patience_(patience) {}

  Reached run() {
    for (const Tried& t : tried_) by_pair_[{t.source, t.destination}] = &t;
    add(FindingKind::blocked_path, [](const Tried& t) { return t.call != Tried::Call::answered; });
    // Where nobody answers there was nothing to send long packets on.
    add(FindingKind::mtu_path, [](const Tried& t) { return t.long_lost; });
    std::stable_sort(out_.findings.begin(), out_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    leave_out();
    return std::move(out_);
  }

 private:
  void add(FindingKind path_kind, const std::function<bool(const Tried&)>& is_bad) {
    Pairs all, bad;
    for (const auto& [pair, t] : by_pair_) {
      all.insert(pair);
      if (is_bad(*t)) bad.insert(pair);
    }
    const bool calls = path_kind == FindingKind::blocked_path;
    for (const Fault& fault : Grouping(std::move(all), std::move(bad), names_).faults()) {
      Finding f;
      const ScopeType type = fault.scope.type;
      f.kind = FindingKind(int(path_kind) + (type == ScopeType::path ? 0 : type == ScopeType::fleet ? 2 : 1));
      f.scope = fault.scope;
      f.confidence = 1;
      const bool needed = std::any_of(fault.pairs.begin(), fault.pairs.end(),
                                      [&](const auto& pair) { return !calls || by_pair_.at(pair)->needed; });
      f.severity = needed ? Severity::critical : Severity::warning;
      f.evidence = evidence(fault, calls);
      f.impact = needed ? StatementKind::no_collective : StatementKind::other_order;
      const Tried& example = *by_pair_.at(*fault.pairs.begin());
      const std::string& there = names_[std::size_t(example.destination)];
      const int payload = example.packet - (example.address.starts_with('[') ? 48 : 28);
      f.next = calls
                   ? Statement{StatementKind::look_at_firewall, {names_[std::size_t(example.source)], there}}
                   : Statement{StatementKind::look_at_mtu,
                               {names_[std::size_t(example.source)], there},
                               {{"payload", payload}},
                               host_of(example.address)};
      out_.findings.push_back(std::move(f));
      for (const auto& pair : fault.pairs)
        if (!calls || by_pair_.at(pair)->needed)
          cut_.emplace(std::min(pair.first, pair.second), std::max(pair.first, pair.second));
    }
  }

  static std::string host_of(const std::string& address) {
    const std::string host = address.substr(0, address.rfind(':'));
    return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
  }

  std::string folded(const std::set<int>& nodes) const {
    std::vector<std::string> names;
    for (const int node : nodes) names.push_back(names_[std::size_t(node)]);
    return fold_hostlist(names);
  }

  // Pairs that failed alike in a line, one way before the other, each with a pair's own address.
  std::vector<Statement> evidence(const Fault& fault, bool calls) const {
    using Call = Tried::Call;
    std::map<std::tuple<bool, Call, std::string>, std::vector<const Tried*>> alike;
    for (const auto& pair : fault.pairs) {
      const Tried& t = *by_pair_.at(pair);
      const bool back = fault.scope.type == ScopeType::node   ? t.source == fault.scope.node
                        : fault.scope.type == ScopeType::path ? !fault.from.contains(t.source)
                                                              : false;
      alike[{back, calls ? t.call : Call::answered, calls ? t.why : ""}].push_back(&t);
    }
    std::vector<Statement> out;
    std::set<int> shown;
    for (const auto& [how, pairs] : alike) {
      std::set<int> from, to;
      for (const Tried* t : pairs) from.insert(t->source), to.insert(t->destination);
      const Tried& first = *pairs.front();
      std::vector<Quantity> values{{"from", folded(from)}, {"to", folded(to)}};
      const bool one = to.size() == 1;
      const auto kind = !calls                                         ? StatementKind::long_packets_vanish
                        : std::get<Call>(how) == Call::rejected        ? StatementKind::calls_rejected
                        : std::get<Call>(how) == Call::answer_vanishes ? StatementKind::answers_vanish
                                                                       : StatementKind::calls_vanish;
      if (calls) {
        values.emplace_back("port", one ? first.address : "");
        values.emplace_back("example", one ? "" : first.address);
        values.emplace_back("patience_seconds", patience_);
      } else {
        values.emplace_back("packet", first.packet);
      }
      out.emplace_back(kind, std::vector<Subject>{}, std::move(values), first.why);
      shown.insert(first.source), shown.insert(first.destination);
    }
    if (calls && fault.scope.type == ScopeType::path) add_other_way(fault, out);
    for (const int node : shown) {
      const auto end = ends_.find(node);
      if (end == ends_.end()) continue;
      out.emplace_back(StatementKind::data_end, std::vector<Subject>{names_[std::size_t(node)]},
                       std::vector<Quantity>{{"interface", end->second.interface},
                                             {"address", end->second.address},
                                             {"mtu", end->second.mtu}});
    }
    return out;
  }

  void add_other_way(const Fault& fault, std::vector<Statement>& to) const {
    for (const auto& pair : fault.pairs)
      if (fault.pairs.contains({pair.second, pair.first})) return;
    to.emplace_back(StatementKind::other_way_open, std::vector<Subject>{},
                    std::vector<Quantity>{{"from", folded(fault.to)}, {"to", folded(fault.from)}});
  }

  // As few as can be found: whoever has most of the pairs that cannot talk, until there are none.
  void leave_out() {
    Pairs left = cut_;
    while (!left.empty()) {
      std::map<int, int> times;
      for (const auto& [a, b] : left) ++times[a], ++times[b];
      // Of equals the last one: the first node is often the operator's own.
      const auto most = std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second, a.first) < std::pair(b.second, b.first);
      });
      const int node = most->first;
      out_.left_out.push_back(node);
      std::erase_if(left, [node](const auto& pair) { return pair.first == node || pair.second == node; });
    }
    std::sort(out_.left_out.begin(), out_.left_out.end());
  }

  const std::vector<Tried>& tried_;
  const std::map<int, DataEnd>& ends_;
  const std::vector<std::string>& names_;
  const Seconds patience_;
  std::map<std::pair<int, int>, const Tried*> by_pair_;
  Pairs cut_;  // unordered
  Reached out_;
};

}  // namespace

Reached judge_reach(const std::vector<Tried>& tried, const std::map<int, DataEnd>& ends,
                    const std::vector<std::string>& names, Seconds patience) {
  return Judge(tried, ends, names, patience).run();
}

}  // namespace ringtrue::diagnosis
