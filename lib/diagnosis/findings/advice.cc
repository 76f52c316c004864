#include "diagnosis/findings/advice.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "diagnosis/findings/report.h"

namespace ringtrue::diagnosis {
namespace {

constexpr double worth_it = 1.05, same = 0.99;
constexpr double healthy = 0.95;  // of the usual rate: what reads so is taken to reach all of it

// What slows hops down, as the model has it: a finding, or what a side was never seen to exceed.
struct Effect {
  const Finding* finding = nullptr;
  double share = 1;          // of the usual rate
  int node = -1, peer = -1;  // peer: of a path
  bool out = false, in = false;
  bool everywhere = false;  // of a part of the fabric, which any ring may cross

  bool is_path() const { return peer >= 0; }
  // Of a finding that goes when its node is left out.
  bool is_of_node() const { return finding && !everywhere && !is_path(); }
  bool slows(int from, int to) const {
    if (everywhere) return true;
    return is_path() ? from == node && to == peer : (out && from == node) || (in && to == node);
  }
};
using Effects = std::vector<Effect>;
using Order = std::vector<int>;

// The cluster as it was measured.
class Model {
 public:
  explicit Model(const Diagnosis& d) : nodes_(int(d.nodes.size())) {
    if (const auto expected = d.expected.held_against()) usual_ = expected->value;
    for (const auto& row : d.rates) {
      for (const auto& rate : row) {
        if (rate && !d.expected.held_against()) usual_ = std::max(usual_, rate->value);
      }
    }
    for (const Finding& f : d.findings) add(f, d);
    add_others(d);
  }

  bool known() const { return usual_ > 0 && nodes_ >= 2; }
  const Effects& effects() const { return effects_; }
  double usual() const { return usual_; }

  // busbw of a ring over these nodes with these effects: that of its slowest hop.
  double ring_after(const Order& order, const Effects& effects) const {
    double slowest = 1;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int from = order[i], to = order[(i + 1) % order.size()];
      for (const Effect& e : effects)
        if (e.slows(from, to)) slowest = std::min(slowest, e.share);
    }
    return usual_ * slowest;
  }

  // Without the effects for which `gone` holds.
  template <class Gone>
  Effects without(Gone gone) const {
    Effects out;
    std::copy_if(effects_.begin(), effects_.end(), std::back_inserter(out),
                 [&](const Effect& e) { return !gone(e); });
    return out;
  }

 private:
  void add(const Finding& f, const Diagnosis& d) {
    if (!f.measured || usual_ <= 0) return;
    Effect e{&f, std::clamp(f.measured->value / usual_, 1e-6, 1.0), f.scope.node};
    const ScopeType type = f.scope.type;
    if (type == ScopeType::fleet || type == ScopeType::rail || type == ScopeType::leaf ||
        type == ScopeType::trunk || type == ScopeType::spine) {
      // One that the ring in the order given was faster than is not on it.
      e.everywhere = !d.ring_busbw || f.measured->value * worth_it >= d.ring_busbw->value;
      if (e.everywhere) effects_.push_back(e);
      return;
    }
    if (f.scope.node < 0 || f.scope.node >= nodes_ || f.severity == Severity::info) return;  // what is over
    e.out = type == ScopeType::sender || type == ScopeType::node || type == ScopeType::nic;
    e.in = type == ScopeType::receiver || type == ScopeType::node || type == ScopeType::nic;
    if (type == ScopeType::path && f.scope.peer >= 0 && f.scope.peer < nodes_) e.peer = f.scope.peer;
    if (!e.out && !e.in && !e.is_path()) return;
    effects_.push_back(e);
    // Of a slower generation, which a repair does not make faster.
    if (!f.expected || f.expected->value >= healthy * usual_) return;
    e.finding = nullptr, e.share = std::max(f.expected->value / usual_, 1e-6);
    effects_.push_back(e);
  }

  // What no finding is about and was seldom or never measured at the usual rate: nobody shall be promised it.
  // Whom a finding's hop alone was measured with has shown nothing.
  void add_others(const Diagnosis& d) {
    if (usual_ <= 0 || d.rates.size() != std::size_t(nodes_)) return;
    const Effects known = effects_;
    std::vector<double> out(std::size_t(nodes_), -1), in = out;
    for (int from = 0; from < nodes_; ++from) {
      for (int to = 0; to < nodes_; ++to) {
        const auto& rate = d.rates[std::size_t(from)][std::size_t(to)];
        const bool spoiled =
            std::ranges::any_of(known, [&](const Effect& e) { return !e.everywhere && e.slows(from, to); });
        if (!rate || from == to || spoiled) continue;
        for (double* best : {&out[std::size_t(from)], &in[std::size_t(to)]})
          *best = std::max(*best, rate->value);
      }
    }
    for (int node = 0; node < nodes_; ++node) {
      for (const bool sends : {true, false}) {
        const double best = (sends ? out : in)[std::size_t(node)];
        if (best >= 0 && best < healthy * usual_)
          effects_.push_back({nullptr, std::max(best / usual_, 1e-6), node, -1, sends, !sends});
      }
    }
  }

  int nodes_;
  double usual_ = 0;
  Effects effects_;
};

// Of the longest ring that was run, without nodes that are dead.
Order order_of(const Diagnosis& d) {
  Order order;
  for (const RunRecord& run : d.runs) {
    if (run.experiment.algorithm == collective::AlgorithmId::ring &&
        run.experiment.order.size() > order.size())
      order = run.experiment.order;
  }
  if (order.empty()) {
    for (int node = 0; node < int(d.nodes.size()); ++node) order.push_back(node);
  }
  for (const Finding& f : d.findings) {
    if (f.kind == FindingKind::dead_node) std::erase(order, f.scope.node);
  }
  return order;
}

std::size_t slow_hops(const Order& order, const Effects& effects) {
  return std::size_t(std::count_if(effects.begin(), effects.end(), [&](const Effect& e) {
    if (!e.is_path() || !e.finding) return false;
    const auto at = std::find(order.begin(), order.end(), e.node);
    if (at == order.end()) return false;
    return (at + 1 == order.end() ? order.front() : at[1]) == e.peer;
  }));
}

// Moves the receiving end of each slow path to where the fewest slow paths are on the ring.
Order avoiding(Order order, const Effects& effects) {
  for (const Effect& e : effects) {
    if (!e.is_path() || slow_hops(order, {e}) == 0) continue;
    Order best = order;
    std::size_t fewest = slow_hops(order, effects);
    Order rest = order;
    std::erase(rest, e.peer);
    for (std::size_t at = 0; at <= rest.size() && fewest > 0; ++at) {
      Order moved = rest;
      moved.insert(moved.begin() + std::ptrdiff_t(at), e.peer);
      const std::size_t slow = slow_hops(moved, effects);
      if (slow < fewest) fewest = slow, best = std::move(moved);
    }
    order = std::move(best);
  }
  return order;
}

// Of a finding whose effects are some of the model's.
Statement impact_of(const Model& model, const Finding& f, const Order& order, double now) {
  const auto is_it = [&](const Effect& e) { return e.finding == &f; };
  const auto repaired = [](const Effect& e) { return e.finding && !e.everywhere; };
  const double together = std::max(model.ring_after(order, model.without(repaired)), now);
  const double alone = model.ring_after(order, model.without(is_it));
  const double only = model.ring_after(order, model.without([&](const Effect& e) { return !is_it(e); }));
  if (only >= together * same && f.measured->value < model.usual() * same)
    return {f.scope.type == ScopeType::path ? StatementKind::off_ring : StatementKind::behind_slower,
            {},
            {{"from_Bps", now}, {"rate_Bps", f.measured->value}}};
  if (alone >= together * same) return {StatementKind::repair, {}, {{"from_Bps", now}, {"to_Bps", together}}};
  if (alone > now * worth_it)
    return {StatementKind::repair_first, {}, {{"from_Bps", now}, {"alone_Bps", alone}, {"to_Bps", together}}};
  return {StatementKind::repair_together, {}, {{"from_Bps", now}, {"to_Bps", together}}};
}

// The rails of a node whose findings are all of one of them.
std::optional<Plan> without_rail(const Diagnosis& d, const Model& model, const Order& order, double now) {
  std::string device;
  for (const Effect& e : model.effects()) {
    if (!e.finding || e.everywhere) continue;
    if (e.finding->scope.type != ScopeType::nic) return std::nullopt;
    if (!device.empty() && device != e.finding->scope.subject.device) return std::nullopt;
    device = e.finding->scope.subject.device;
  }
  for (const Finding& f : d.findings) {
    if (f.scope.type == ScopeType::rail) device = f.scope.subject.device;
  }
  if (device.empty() || device.starts_with("rails ")) return std::nullopt;
  std::size_t rails = 0;
  for (const auto& [node, ports] : d.rails) rails = std::max(rails, ports.size());
  if (rails < 2) return std::nullopt;
  Plan plan{Plan::Kind::leave_out_rail, {}, {device}, BytesPerSecond(now), {}};
  const auto goes = [&](const Effect& e) { return e.finding && e.finding->scope.subject.device == device; };
  plan.then =
      BytesPerSecond(model.ring_after(order, model.without(goes)) * double(rails - 1) / double(rails));
  return plan;
}

}  // namespace

std::vector<Plan> advise(Diagnosis& d) {
  std::vector<Plan> plans;
  const Model model(d);
  const Order order = order_of(d);
  if (!model.known() || order.size() < 2) return plans;
  const double modelled = model.ring_after(order, model.effects());
  // A shaper's burst flatters short rings: no ring is faster than its slowest hop.
  const double now = d.ring_busbw ? std::min(d.ring_busbw->value, modelled) : modelled;
  if (now <= 0) return plans;
  for (const Effect& e : model.effects()) {
    if (!e.finding || e.everywhere) continue;
    Finding& f = d.findings[std::size_t(e.finding - d.findings.data())];
    f.impact = impact_of(model, f, order, now);
  }

  const auto names = [&](const Order& nodes) {
    std::vector<std::string> out;
    for (const int node : nodes) out.push_back(d.nodes[std::size_t(node)]);
    return out;
  };
  const auto add = [&](Plan plan) {
    plan.now = BytesPerSecond(now);
    if (plan.then > plan.now * worth_it) plans.push_back(std::move(plan));
  };
  const Order around = avoiding(order, model.effects());
  if (around != order)
    add({Plan::Kind::reorder,
         names(around),
         {},
         {},
         BytesPerSecond(model.ring_after(around, model.effects()))});
  Order staying = around, leaving;
  for (const Effect& e : model.effects()) {
    if (e.is_of_node() && std::erase(staying, e.node) > 0) leaving.push_back(e.node);
  }
  std::sort(leaving.begin(), leaving.end());
  if (!leaving.empty() && staying.size() >= 2) {
    staying = avoiding(std::move(staying), model.effects());
    add({Plan::Kind::leave_out_nodes,
         names(staying),
         names(leaving),
         {},
         BytesPerSecond(model.ring_after(staying, model.effects()))});
  }
  if (auto plan = without_rail(d, model, order, now)) add(std::move(*plan));
  std::stable_sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) { return a.then > b.then; });
  return plans;
}

}  // namespace ringtrue::diagnosis
