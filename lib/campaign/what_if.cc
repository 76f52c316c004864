#include "campaign/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/simulate.h"

namespace ringtrue::campaign {
namespace {

using diagnosis::Diagnosis;
using diagnosis::Finding;
using diagnosis::ScopeType;

constexpr double worth_it = 1.05, same = 0.99;
constexpr std::size_t names_shown = 16;

std::string list_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), names_shown);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "),
                     names.size() > shown ? ", ..." : "");
}

// A finding that slows hops down, as the model has it.
struct Effect {
  const Finding* finding = nullptr;
  double share = 1;  // of the usual rate
  bool out = false, in = false;

  int node() const { return finding->scope.node; }
  bool is_path() const { return finding->scope.type == ScopeType::path; }
};
using Effects = std::vector<Effect>;
using Order = std::vector<int>;

// The cluster as it was measured.
class Model {
 public:
  explicit Model(const Diagnosis& d) : nodes_(int(d.nodes.size())) {
    if (d.expected.value) usual_ = d.expected.value->value;
    for (const auto& row : d.rates) {
      for (const auto& rate : row) {
        if (rate && !d.expected.value) usual_ = std::max(usual_, rate->value);
      }
    }
    for (const Finding& f : d.findings) add(f);
  }

  bool known() const { return usual_ > 0 && nodes_ >= 2; }
  const Effects& effects() const { return effects_; }
  double usual() const { return usual_; }

  // busbw of a ring over these nodes, with these effects, over `rails` of `of` rails.
  double ring(const Order& order, const Effects& effects, int rails = 1, int of = 1) const {
    if (order.size() < 2) return 0;
    sim::Fabric fabric;
    fabric.nodes = nodes_;
    fabric.node_of_rank = order;
    fabric.rails = rails;
    fabric.inter = {Seconds(0), BytesPerSecond(usual_ / of), Seconds(0)};
    for (const Effect& e : effects) {
      const auto slow = [&](auto& factors, const auto& key) {
        const auto [found, fresh] = factors.try_emplace(key, e.share);
        if (!fresh) found->second = std::min(found->second, e.share);
      };
      if (e.is_path()) slow(fabric.path, std::pair(e.node(), e.finding->scope.peer));
      if (e.out) slow(fabric.egress, e.node());
      if (e.in) slow(fabric.ingress, e.node());
    }
    collective::Call call;
    call.elements = order.size() * std::uint64_t(rails) * 65536;
    call.slice_bytes = 65536 * size_of(call.type);  // a slice a rail in each chunk: rates alone count
    sim::SimOptions options;
    options.method = sim::Method::recurrence;
    const auto played = sim::simulate(**collective::find_algorithm("ring"), call, fabric, options);
    if (!played || played->time.value <= 0) return 0;
    const double n = double(order.size());
    return double(call.bytes()) / played->time.value * 2 * (n - 1) / n;
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
  void add(const Finding& f) {
    if (!f.measured || f.scope.node < 0 || f.scope.node >= nodes_ || usual_ <= 0) return;
    Effect e{&f, std::clamp(f.measured->value / usual_, 1e-6, 1.0)};
    const ScopeType type = f.scope.type;
    e.out = type == ScopeType::sender || type == ScopeType::node || type == ScopeType::nic;
    e.in = type == ScopeType::receiver || type == ScopeType::node || type == ScopeType::nic;
    if (e.is_path() && (f.scope.peer < 0 || f.scope.peer >= nodes_)) return;
    if (e.out || e.in || e.is_path()) effects_.push_back(e);
  }

  int nodes_;
  double usual_ = 0;
  Effects effects_;
};

// Of the longest ring that was run, without nodes that are dead.
Order order_of(const Diagnosis& d) {
  Order order;
  for (const diagnosis::RunRecord& run : d.runs) {
    if (run.experiment.algorithm == "ring" && run.experiment.order.size() > order.size())
      order = run.experiment.order;
  }
  if (order.empty()) {
    for (int node = 0; node < int(d.nodes.size()); ++node) order.push_back(node);
  }
  for (const Finding& f : d.findings) {
    if (f.kind == "dead-node") std::erase(order, f.scope.node);
  }
  return order;
}

std::size_t slow_hops(const Order& order, const Effects& effects) {
  return std::size_t(std::count_if(effects.begin(), effects.end(), [&](const Effect& e) {
    if (!e.is_path()) return false;
    const auto at = std::find(order.begin(), order.end(), e.node());
    if (at == order.end()) return false;
    return (at + 1 == order.end() ? order.front() : at[1]) == e.finding->scope.peer;
  }));
}

// Moves the receiving end of each slow path to where the fewest slow paths are on the ring.
Order avoiding(Order order, const Effects& effects) {
  for (const Effect& e : effects) {
    if (!e.is_path() || slow_hops(order, {e}) == 0) continue;
    Order best = order;
    std::size_t fewest = slow_hops(order, effects);
    Order rest = order;
    std::erase(rest, e.finding->scope.peer);
    for (std::size_t at = 0; at <= rest.size() && fewest > 0; ++at) {
      Order moved = rest;
      moved.insert(moved.begin() + std::ptrdiff_t(at), e.finding->scope.peer);
      const std::size_t slow = slow_hops(moved, effects);
      if (slow < fewest) fewest = slow, best = std::move(moved);
    }
    order = std::move(best);
  }
  return order;
}

// The words for a finding whose effects are some of the model's.
std::string impact_of(const Model& model, const Finding& f, const Order& order, double now) {
  const auto is_it = [&](const Effect& e) { return e.finding == &f; };
  const double together = std::max(model.ring(order, {}), now);
  const double alone = model.ring(order, model.without(is_it));
  const double only = model.ring(order, model.without([&](const Effect& e) { return !is_it(e); }));
  if (only >= together * same && f.measured->value < model.usual() * same)
    return fmt::format(
        "not on the ring in the order given (busbw {}); traffic between these two is held to {}",
        to_text(BytesPerSecond(now)), to_text(*f.measured));
  const std::string from = to_text(BytesPerSecond(now)), to = to_text(BytesPerSecond(together));
  if (alone >= together * same) return fmt::format("fixing it: {} -> {} busbw", from, to);
  if (alone > now * worth_it)
    return fmt::format("fixing it: {} -> {} busbw; the other findings as well: {}", from,
                       to_text(BytesPerSecond(alone)), to);
  return fmt::format("fixing it together with the other findings: {} -> {} busbw", from, to);
}

// The rails of a node whose findings are all of one of them.
std::optional<Plan> without_rail(const Diagnosis& d, const Model& model, const Order& order, double now) {
  std::string device;
  for (const Effect& e : model.effects()) {
    if (e.finding->scope.type != ScopeType::nic) return std::nullopt;
    if (!device.empty() && device != e.finding->scope.device) return std::nullopt;
    device = e.finding->scope.device;
  }
  for (const Finding& f : d.findings) {
    if (f.scope.type == ScopeType::rail) device = f.scope.device;
  }
  if (device.empty() || device.starts_with("rails ")) return std::nullopt;
  std::size_t rails = 0;
  for (const auto& [node, ports] : d.rails) rails = std::max(rails, ports.size());
  if (rails < 2) return std::nullopt;
  Plan plan{Plan::Kind::leave_out_rail, {}, {device}, BytesPerSecond(now), {}};
  plan.then = BytesPerSecond(model.ring(order, {}, int(rails) - 1, int(rails)));
  return plan;
}

}  // namespace

std::string_view name(Plan::Kind kind) {
  switch (kind) {
    case Plan::Kind::reorder:
      return "reorder";
    case Plan::Kind::leave_out_nodes:
      return "leave-out-nodes";
    case Plan::Kind::leave_out_rail:
      return "leave-out-rail";
  }
  return "";
}

std::string Plan::text() const {
  const std::string rates = fmt::format("{} -> {} busbw", to_text(now), to_text(then));
  if (kind == Kind::reorder) return fmt::format("a ring in the order {}: {}", list_of(order), rates);
  if (kind == Kind::leave_out_rail)
    return fmt::format("leave out {} on every node: {}", left_out.front(), rates);
  return fmt::format("leave out {}: {} over {} of {} nodes", list_of(left_out), rates, order.size(),
                     order.size() + left_out.size());
}

std::vector<Plan> what_if(Diagnosis& d) {
  std::vector<Plan> plans;
  const Model model(d);
  const Order order = order_of(d);
  if (!model.known() || order.size() < 2) return plans;
  const double modelled = model.ring(order, model.effects());
  // A shaper's burst flatters short rings: no ring is faster than its slowest hop.
  const double now = d.ring_busbw ? std::min(d.ring_busbw->value, modelled) : modelled;
  if (now <= 0) return plans;
  for (const Effect& e : model.effects()) {
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
    add({Plan::Kind::reorder, names(around), {}, {}, BytesPerSecond(model.ring(around, model.effects()))});
  Order staying = around, leaving;
  for (const Effect& e : model.effects()) {
    if (!e.is_path() && std::erase(staying, e.node()) > 0) leaving.push_back(e.node());
  }
  std::sort(leaving.begin(), leaving.end());
  if (!leaving.empty() && staying.size() >= 2) {
    staying = avoiding(std::move(staying), model.effects());
    add({Plan::Kind::leave_out_nodes,
         names(staying),
         names(leaving),
         {},
         BytesPerSecond(model.ring(staying, model.effects()))});
  }
  if (auto plan = without_rail(d, model, order, now)) add(std::move(*plan));
  std::stable_sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) { return a.then > b.then; });
  return plans;
}

}  // namespace ringtrue::campaign
