#include "campaign/scope.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "campaign/sim_routes.h"
#include "sim/levels.h"
#include "sim/network.h"

namespace ringtrue::campaign {
namespace {

using diagnosis::Finding;
using diagnosis::ScopeType;
using Fault = sim::FabricFault;
using What = sim::Place::What;
using Side = sim::Place::Side;

// The number that a device's name ends with, -1 of none: "rail 3", "leaf2".
int number_in(std::string_view device) {
  const auto digits = device.find_last_not_of("0123456789") + 1;
  int number = -1;
  std::from_chars(device.data() + digits, device.data() + device.size(), number);
  return number;
}

// The fabric on which whatever crosses the fault, and nothing else, takes a second and more.
struct Marked {
  Marked(sim::Fabric whole, const Fault& f)
      : fault(&f), fabric(mark(std::move(whole), f)), network(fabric, 1, 0) {}
  static sim::Fabric mark(sim::Fabric whole, Fault fault) {
    fault.kind = Fault::Kind::late;
    fault.time = Seconds(1);
    whole.faults = {fault};
    return whole;
  }
  const Fault* fault;
  sim::Fabric fabric;
  sim::Network network;
};

class CaseScorer {
 public:
  CaseScorer(const Case& c, const diagnosis::Diagnosis& d)
      : case_(c), fabric_(c.world.fabric), levels_(sim::levels_of(fabric_)), diagnosis_(d) {
    for (const Finding& finding : d.findings) {
      // What was slow and ended during the check is told as information: it finds a fault that came and went.
      const bool ended = finding.scope.node >= 0 && finding.ratio && !c.world.fabric.faults.empty();
      if (finding.severity != diagnosis::Severity::info || ended) findings_.push_back(&finding);
    }
    for (const Fault& fault : fabric_.faults) {
      if (fault.place.what == What::leaf && !faults_.empty() && faults_.back()->place.what == What::leaf)
        continue;  // the same leaf's switches on other rails
      faults_.push_back(&fault);
    }
  }

  diagnosis::CaseScore operator()() {
    diagnosis::CaseScore out;
    out.faults = int(faults_.size());
    out.findings = int(findings_.size());
    bool exact = !faults_.empty();
    for (const Fault* fault : faults_) {
      out.found += std::ranges::any_of(findings_, [&](auto* finding) { return touches(*finding, *fault); });
      exact = exact && std::ranges::any_of(findings_, [&](auto* f) { return names(*f, *fault); });
    }
    for (const Finding* finding : findings_) {
      const bool right = std::ranges::any_of(faults_, [&](auto* f) { return touches(*finding, *f); });
      out.wrong += !right;
      if (finding->severity != diagnosis::Severity::info)
        out.accusations.push_back({finding->kind, finding->confidence, right});
      if (right) out.proven_after = std::max(out.proven_after, finding->proven_after);
      exact = exact && std::ranges::any_of(faults_, [&](auto* fault) { return names(*finding, *fault); });
    }
    out.exact = exact;
    if (case_.kind->group == Kind::Group::pair) out.covered = covered(*faults_.front());
    return out;
  }

 private:
  static bool is(const Finding& finding, ScopeType type) { return finding.scope.type == type; }
  int leaf_of(int node) const { return fabric_.leaf > 0 && node >= 0 ? fabric_.group_of(node) : -1; }
  // A switch by the number in its name, else by a node below it.
  int leaf_of(const Finding& finding) const {
    return finding.scope.node >= 0 ? leaf_of(finding.scope.node) : number_in(finding.scope.subject.device);
  }
  bool two_leaves() const { return fabric_.nodes == 2 * fabric_.leaf; }
  // Leaves of a trunk and of a leaf, over all rails, are those of groups of nodes.
  int group(const Fault& fault) const { return fault.place.node / fabric_.rails; }
  int pod_of_leaf(int leaf) const { return fabric_.pod > 0 ? leaf / fabric_.pod : 0; }
  static bool is_trunk(const sim::Place& place) {
    return place.what == What::trunk || place.what == What::core_trunk;
  }
  bool of_switch(const Finding& finding) const {
    return is(finding, ScopeType::leaf) || is(finding, ScopeType::trunk) || is(finding, ScopeType::spine) ||
           is(finding, ScopeType::fabric_switch);
  }

  bool routed() const { return case_.world.told == Told::routes && fabric_.leaf > 0; }

  // Whether a name has this word: "leaf1", not "leaf12".
  static bool has_word(std::string_view text, const std::string& word) {
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      const auto end = at + word.size();
      if (end == text.size() || text[end] < '0' || text[end] > '9') return true;
    }
    return false;
  }
  static bool has_an_end_of(std::string_view device, const sim::Place& trunk) {
    const bool of_leaf = trunk.what == What::trunk;
    return has_word(device, (of_leaf ? "leaf" : "spine") + std::to_string(trunk.node)) ||
           has_word(device, (of_leaf ? "spine" : "core") + std::to_string(trunk.part));
  }
  bool names_one_way(const Finding& finding, sim::Place place, Side side) const {
    place.side = side;
    return is(finding, ScopeType::trunk) && finding.kind != diagnosis::FindingKind::slow_cable &&
           has_word(finding.scope.subject.device, trunk_name(fabric_, place));
  }
  // A finding of a trunk, or of a cable, which is one both ways.
  bool names_cable(const Finding& finding, sim::Place place, bool exact) const {
    const std::string& device = finding.scope.subject.device;
    if (place.side != Side::both)
      return names_one_way(finding, place, place.side) || (!exact && has_an_end_of(device, place));
    if (finding.kind == diagnosis::FindingKind::slow_cable) {
      const std::string name = trunk_name(fabric_, place);
      const auto arrow = name.find(" <-> ");
      if (device == name || device == name.substr(arrow + 5) + " <-> " + name.substr(0, arrow)) return true;
    }
    for (const Side side : {Side::out, Side::in}) {
      const Side other = side == Side::out ? Side::in : Side::out;
      if (names_one_way(finding, place, side) && (!exact || std::ranges::any_of(findings_, [&](auto* f) {
            return names_one_way(*f, place, other);
          })))
        return true;
    }
    return !exact && has_an_end_of(device, place);
  }
  // Where routes are told, parts of the fabric have names. `exact`: it is that and no more.
  bool names_part(const Finding& finding, const Fault& fault, bool exact) const {
    const std::string& device = finding.scope.subject.device;
    const sim::Place& place = fault.place;
    if (is_trunk(place))
      return is(finding, ScopeType::trunk) ? names_cable(finding, place, exact)
                                           : !exact && has_an_end_of(device, place);
    if (place.what == What::core) return has_word(device, "core" + std::to_string(place.part));
    const int spines = levels_.spines;
    if (place.what == What::spine) {
      // The two leaves' ways over it are all that there is.
      return has_word(device, "spine" + std::to_string(place.part)) ||
             (spines == 1 && levels_.cores == 0 && of_switch(finding));
    }
    if (two_leaves()) return of_switch(finding);
    for (int rail = 0; rail < fabric_.rails; ++rail) {
      const std::string leaf = "leaf" + std::to_string(group(fault) * fabric_.rails + rail);
      // Of one cable each way, the cable is the leaf.
      if (exact && spines * levels_.cables > 1 ? device == leaf : has_word(device, leaf)) return true;
    }
    return false;
  }

  // Which trunk a connection takes changes from run to run, or from message to message.
  bool unsteady_routes() const {
    return fabric_.hashing == sim::Hashing::connections || fabric_.hashing == sim::Hashing::adaptive;
  }

  // Whether a hop between these nodes crosses what is faulty. Of a trunk or spine that its hash decides;
  // where that changes, it may cross it.
  bool crosses(int from, int to, const Fault& fault) {
    const sim::Place& place = fault.place;
    if (from < 0 || to < 0 || from == to) return false;
    if (place.what == What::path) {
      const bool back = fault.kind == Fault::Kind::late && to == place.node && from == place.part;
      return back || (from == place.node && to == place.part);
    }
    const int a = leaf_of(from), b = leaf_of(to);
    if (a == b || fabric_.leaf == 0) return false;
    if (place.what == What::leaf) return a == group(fault) || b == group(fault);
    if (unsteady_routes()) return may_cross(a, b, fault);
    if (!marked_ || marked_->fault != &fault) marked_ = std::make_unique<Marked>(fabric_, fault);
    for (int rail = 0; rail < fabric_.rails; ++rail)
      if (marked_->network.route(from, to, 0, rail).latency >= 1) return true;
    return false;
  }

  // From leaf to leaf, by the switches that are on the way whatever a hash decides.
  bool may_cross(int a, int b, const Fault& fault) const {
    const sim::Place& place = fault.place;
    const int p = pod_of_leaf(a), q = pod_of_leaf(b);
    const auto ends = [&](int from, int to, int at) {
      return (place.side != Side::in && from == at) || (place.side != Side::out && to == at);
    };
    switch (place.what) {
      case What::trunk:
        return ends(a, b, group(fault));
      case What::spine:
        return p == levels_.pod_of_spine(place.part) || q == levels_.pod_of_spine(place.part);
      case What::core_trunk:
        return p != q && ends(p, q, levels_.pod_of_spine(place.node));
      default:
        return p != q;
    }
  }

  // Whether a finding is about what is faulty, if only in part.
  bool touches(const Finding& finding, const Fault& fault) {
    const diagnosis::Scope& at = finding.scope;
    const sim::Place& place = fault.place;
    switch (place.what) {
      case What::path:
        return at.node == place.node || at.node == place.part || at.peer == place.node ||
               at.peer == place.part;
      case What::leaf:
      case What::trunk:
        if (routed() && of_switch(finding)) return names_part(finding, fault, false);
        if (of_switch(finding)) return is(finding, ScopeType::spine) || names_leaf(finding, fault);
        return leaf_of(at.node) == group(fault) || (at.peer >= 0 && leaf_of(at.peer) == group(fault));
      case What::spine:
        if (routed() && of_switch(finding)) return names_part(finding, fault, false);
        if (is(finding, ScopeType::leaf))
          return pod_of_leaf(leaf_of(finding)) == levels_.pod_of_spine(place.part);
        return of_switch(finding) || crosses(at.node, at.peer, fault);
      case What::core:
      case What::core_trunk:
        if (routed() && of_switch(finding)) return names_part(finding, fault, false);
        return of_switch(finding) || crosses(at.node, at.peer, fault);
      default:
        return at.node == place.node || at.peer == place.node;
    }
  }

  bool names_leaf(const Finding& finding, const Fault& fault) const {
    return two_leaves() || leaf_of(finding) == group(fault);
  }

  bool both_sides(int node) const {
    const auto has = [&](ScopeType type) {
      return std::any_of(findings_.begin(), findings_.end(),
                         [&](const Finding* f) { return is(*f, type) && f->scope.node == node; });
    };
    return has(ScopeType::sender) && has(ScopeType::receiver);
  }

  // The path between a host with a fault and the one partner that can see it, the way that it is slow.
  bool is_way_to_the_only_witness(const Finding& finding, const Fault& fault) const {
    constexpr double seen = 0.05;
    const int node = finding.scope.node, peer = finding.scope.peer;
    const sim::Place& place = fault.place;
    if (!is(finding, ScopeType::path) || !case_.kind->host || faults_.size() != 1) return false;
    const bool out = node == place.node && place.side != Side::in;
    const bool in = peer == place.node && place.side != Side::out;
    if (!out && !in) return false;
    for (int other = 0; other < fabric_.nodes; ++other)
      if (other != place.node && (severity_seen_by(other, case_) >= seen) != (other == (out ? peer : node)))
        return false;
    return true;
  }

  // Whether a finding names exactly what is faulty: see scope.h.
  bool names(const Finding& finding, const Fault& fault) {
    const diagnosis::Scope& at = finding.scope;
    const sim::Place& place = fault.place;
    const bool here = at.node == place.node;
    if (fault.kind == Fault::Kind::dead || fault.kind == Fault::Kind::slow_node)
      return here && is(finding, ScopeType::node);
    if (place.of_switches() && routed() && of_switch(finding)) return names_part(finding, fault, true);
    if (place.what == What::leaf)
      return (is(finding, ScopeType::leaf) || (two_leaves() && is(finding, ScopeType::trunk))) &&
             names_leaf(finding, fault);
    if (place.what == What::spine)
      return is(finding, ScopeType::spine) || (two_leaves() && is(finding, ScopeType::trunk));
    if (place.what == What::core) return is(finding, ScopeType::spine);
    if (is_trunk(place)) {
      if (of_switch(finding))
        return place.what == What::trunk && !is(finding, ScopeType::spine) && names_leaf(finding, fault);
      return is(finding, ScopeType::path) && crosses(at.node, at.peer, fault);
    }
    const bool one_rail = place.what == What::nic && fabric_.rails > 1;
    if (one_rail && number_in(at.subject.device) != place.part) return false;
    if (fabric_.nodes == 2) return true;
    if (is_way_to_the_only_witness(finding, fault)) return true;
    if (one_rail) return here && is(finding, ScopeType::nic);
    if (place.what == What::path) return is(finding, ScopeType::path) && crosses(at.node, at.peer, fault);
    if (!here || at.peer >= 0) return false;
    if (is(finding, ScopeType::nic) && fabric_.rails == 1) return true;
    if (fault.kind == Fault::Kind::late)
      return is(finding, ScopeType::node) || is(finding, ScopeType::sender) ||
             is(finding, ScopeType::receiver);
    if (place.side == Side::out) return is(finding, ScopeType::sender);
    if (place.side == Side::in) return is(finding, ScopeType::receiver);
    return is(finding, ScopeType::node) || both_sides(at.node);
  }

  // Whether any run had a hop that crosses it.
  bool covered(const Fault& fault) {
    for (const diagnosis::RunRecord& run : diagnosis_.runs) {
      const auto& order = run.experiment.order;
      const std::size_t n = order.size();
      const std::size_t shift = run.experiment.algorithm == collective::AlgorithmId::pairwise
                                    ? std::size_t(run.experiment.shift)
                                    : 1;
      for (std::size_t r = 0; r < n; ++r)
        if (crosses(order[r], order[(r + shift) % n], fault)) return true;
    }
    return false;
  }

  const Case& case_;
  const sim::Fabric& fabric_;
  const sim::Levels levels_;
  const diagnosis::Diagnosis& diagnosis_;
  std::unique_ptr<Marked> marked_;
  std::vector<const Finding*> findings_;
  std::vector<const Fault*> faults_;
};

}  // namespace

double severity_seen_by(int partner, const Case& c) {
  const double own = c.world.generation(c.world.fabric.faults.front().place.node);
  const double rate = c.world.generation(partner);
  return 1 - std::min(own * (1 - c.severity), rate) / std::min(own, rate);
}

diagnosis::CaseScore score_case(const Case& c, const diagnosis::Diagnosis& diagnosis) {
  return CaseScorer(c, diagnosis)();
}

}  // namespace ringtrue::campaign
