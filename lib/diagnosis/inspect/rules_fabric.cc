// Cables between switches and to hosts. Fabrics are seldom regular: only a clear pattern is held against one
// that breaks it.
#include <algorithm>

#include "diagnosis/inspect/missing_cables.h"
#include "diagnosis/inspect/rule_context.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

// The fabric by names.
class Cables {
 public:
  explicit Cables(const Fabric& f) : fabric(f), names_(fabric_names(f)) {
    for (const FabricSwitch& s : f.switches) switches_.emplace(s.guid, &s);
    for (const FabricHost& h : f.hosts) hosts_.emplace(h.guid, &h);
  }

  const Fabric& fabric;

  bool is_switch(const std::string& guid) const { return switches_.contains(guid); }
  bool is_trunk(const FabricLink& l) const { return is_switch(l.a.guid) && is_switch(l.b.guid); }
  bool is_aggregation(const std::string& guid) const {
    const auto it = hosts_.find(guid);
    return it != hosts_.end() && it->second->aggregation;
  }
  std::string name(const std::string& guid) const {
    const auto it = names_.find(guid);
    return it == names_.end() ? guid : it->second;
  }
  std::string end(const FabricPort& p) const { return fmt::format("{}/{}", name(p.guid), p.port); }
  std::string text(const FabricLink& l) const { return end(l.a) + " - " + end(l.b); }

 private:
  std::unordered_map<std::string, std::string> names_;
  std::unordered_map<std::string_view, const FabricSwitch*> switches_;
  std::unordered_map<std::string_view, const FabricHost*> hosts_;
};

std::string now_text(const FabricLink& l) {
  std::string text = l.width.known() ? fmt::format("{}x", *l.width) : "";
  if (l.speed.known()) text += (text.empty() ? "" : " ") + *l.speed;
  if (l.rate.known()) text += fmt::format("{}{}", text.empty() ? "" : ", ", to_text(*l.rate));
  return text.empty() ? "unknown" : text;
}

// From HDR on, a port of four lanes may be split on purpose into two of two.
bool may_be_split(const FabricLink& l) {
  if (!l.width.is(2) || !l.speed.known()) return false;
  return *l.speed == "HDR" || *l.speed == "NDR" || *l.speed == "XDR";
}

template <class Look>
void with_fabric(RuleContext& context, Look look) {
  if (!context.cluster.fabric || context.cluster.fabric->links.empty()) return;
  context.applies();
  look(Cables(*context.cluster.fabric));
}

void link_degraded(RuleContext& context) {
  if (!context.cluster.fabric) {
    for (const NodeView& node : context.nodes) {
      const bool infiniband = std::ranges::any_of(node.rails, [](const Nic* nic) {
        return std::ranges::any_of(nic->ports,
                                   [](const Port& p) { return p.layer == LinkLayer::infiniband; });
      });
      if (!infiniband) continue;
      const auto gap =
          std::ranges::find_if(node.node.gaps, [](const Gap& g) { return g.source == origin::fabric; });
      context.cannot(&node, "", gap == node.node.gaps.end() ? "the fabric was not read" : gap->why,
                     "the fabric's switches and cables");
    }
    return;
  }
  with_fabric(context, [&](const Cables& cables) {
    // Of each switch, and of its trunks and its cables to hosts apart, because these are often unlike.
    std::map<std::pair<std::string_view, bool>, std::map<int, int>> widths;
    for (const FabricLink& l : cables.fabric.links)
      if (l.width.known())
        for (const FabricPort* p : {&l.a, &l.b})
          if (cables.is_switch(p->guid)) ++widths[{p->guid, cables.is_trunk(l)}][*l.width];
    for (const FabricLink& l : cables.fabric.links) {
      std::vector<Quantity> values = {{"link", now_text(l)},
                                      {"origin", l.width.known() ? l.width.origin : l.rate.origin}};
      std::optional<BytesPerSecond> could;
      if (l.rate.known() && l.max_rate.known() &&
          l.rate->value < l.max_rate->value * context.limits.pci_warning && !may_be_split(l)) {
        could = l.max_rate.value;
        values.emplace_back("max_origin", l.max_rate.origin);
      } else if (l.width.known() && !may_be_split(l)) {
        const auto& votes = widths[{l.a.guid, cables.is_trunk(l)}];
        int all = 0;
        for (const auto& [width, n] : votes) all += n;
        const int* most = all >= 3 ? majority(votes, 0.5) : nullptr;
        if (!most || *l.width >= *most) continue;
        if (l.speed.known()) could = infiniband_rate(*l.speed, *most);
        values.insert(values.end(), {{"alike", votes.at(*most)},
                                     {"cables", all},
                                     {"switch", cables.name(l.a.guid)},
                                     {"usual_lanes", *most}});
      } else {
        continue;
      }
      context.report(nullptr, cables.text(l),
                     {.values = std::move(values),
                      .measured = l.rate.value,
                      .expected = could,
                      .sure = l.max_rate.known() ? 1 : by_comparison});
    }
  });
}

using Pair = std::pair<std::string_view, std::string_view>;

Pair between(const FabricLink& l) {
  return std::minmax(std::string_view(l.a.guid), std::string_view(l.b.guid));
}

void trunk_slower(RuleContext& context) {
  with_fabric(context, [&](const Cables& cables) {
    std::map<Pair, std::vector<const FabricLink*>> trunks;
    for (const FabricLink& l : cables.fabric.links)
      if (cables.is_trunk(l) && l.rate.known()) trunks[between(l)].push_back(&l);
    for (const auto& [ends, parallel] : trunks) {
      const auto best =
          (*std::ranges::max_element(parallel, {}, [](const FabricLink* l) { return l->rate->value; }))->rate;
      for (const FabricLink* l : parallel) {
        if (l->rate->value >= best->value * context.limits.pci_warning) continue;
        if (context.reported(nullptr, cables.text(*l), "fabric-")) continue;
        context.report(
            nullptr, cables.text(*l),
            {.values = {{"link", now_text(*l)}, {"origin", l->rate.origin}, {"cables", parallel.size()}},
             .measured = l->rate.value,
             .expected = best.value,
             .sure = by_comparison});
      }
    }
  });
}

void trunks_fewer(RuleContext& context) {
  with_fabric(context, [&](const Cables& cables) {
    const MissingCables missing = find_missing_cables(cables.fabric);
    for (const MissingCable& m : missing.found)
      context.report(nullptr, cables.name(m.from),
                     {.values = {{"cables", m.cables},
                                 {"spine", m.to.empty() ? "" : cables.name(m.to)},
                                 {"alike", m.alike},
                                 {"leaves", m.of},
                                 {"by_total", m.by_total},
                                 {"usual", m.usual}},
                      .sure = m.by_total ? by_half : by_comparison});
    for (const UnjudgedCables& u : missing.unjudged)
      for (const std::string& guid : u.what) context.cannot(nullptr, cables.name(guid), u.why);
  });
}

void isolated(RuleContext& context) {
  with_fabric(context, [&](const Cables& cables) {
    std::set<std::string_view> trunked;
    for (const FabricLink& l : cables.fabric.links)
      if (cables.is_trunk(l)) trunked.insert(l.a.guid), trunked.insert(l.b.guid);
    const std::size_t all = cables.fabric.switches.size();
    const bool planes = trunked.size() * 2 <= all;
    for (const FabricSwitch& s : cables.fabric.switches) {
      if (trunked.contains(s.guid)) continue;
      if (planes) {
        if (all > 1)
          context.cannot(
              nullptr, cables.name(s.guid),
              "it has no cable to another switch, as many have none: planes of their own, it seems");
        continue;
      }
      context.report(nullptr, cables.name(s.guid),
                     {.values = {{"trunked", trunked.size()}, {"switches", all}}, .sure = by_comparison});
    }
  });
}

constexpr Rule fabric_table[] = {
    {FindingKind::fabric_link_degraded, Severity::warning, ScopeType::link, link_degraded},
    {FindingKind::fabric_trunk_slower, Severity::warning, ScopeType::link, trunk_slower},
    {FindingKind::fabric_trunks_fewer, Severity::warning, ScopeType::fabric_switch, trunks_fewer},
    {FindingKind::fabric_switch_isolated, Severity::warning, ScopeType::fabric_switch, isolated},
};

}  // namespace

const std::span<const Rule> fabric_rules = fabric_table;

}  // namespace ringtrue::diagnosis
