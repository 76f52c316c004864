// NVLinks: down, fewer than the sisters' and erring ones.
#include <algorithm>

#include "diagnosis/inspect/rule_context.h"
#include "run/counter_window.h"
#include "topology/counters.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

int count_up(const Gpu& gpu, bool up) {
  return gpu.nvlinks ? int(std::ranges::count_if(*gpu.nvlinks, [&](const NvLink& l) { return l.up.is(up); }))
                     : 0;
}

// Boards whose links are wired on the baseboard: all of them are up in health. Cards (PCIe, NVL) have links
// only where somebody put bridges on them. nullopt: the model does not tell.
std::optional<bool> on_baseboard(const NodeView& node, const Gpu& gpu) {
  if (!node.node.nvswitches.empty()) return true;
  const std::string model = gpu.model.value_or("");
  if (model.find("GH200") != std::string::npos) return std::nullopt;  // sold alone and in racks
  for (const char* card : {"PCIe", "PCIE", "NVL", "A30", "A40", "RTX", "Quadro", "GeForce", "TITAN"})
    if (model.find(card) != std::string::npos) return false;
  for (const char* board : {"SXM", "HBM3", "H200", "H20", "B200", "GB200", "GB300", "B300"})
    if (model.find(board) != std::string::npos) return true;
  return std::nullopt;
}

// Of full boards, where the model's name tells; 0: not known.
int full_board(const Gpu& gpu) {
  const std::string model = gpu.model.value_or("");
  const auto has = [&](const char* part) { return model.find(part) != std::string::npos; };
  if (has("NVL") || has("PCI")) return 0;
  if (has("H100") || has("H200") || has("B200")) return 18;
  if (has("A100")) return 12;
  if (has("V100")) return 6;
  if (has("P100")) return 4;
  return 0;
}

// Sisters. Those in slices (MIG) are none: that switches their NVLinks off, and says nothing of the wires.
using Group = std::vector<const Gpu*>;
std::map<std::string, Group> models(RuleContext& context, const NodeView& node) {
  std::map<std::string, Group> out;
  for (const Gpu& gpu : node.node.gpus)
    if (!gpu.mig.is(true))
      out[gpu.model.value_or("")].push_back(&gpu);
    else if (gpu.nvlinks)
      context.cannot(&node, gpu.name, "MIG is on, which switches NVLinks off");
  return out;
}

// "7", "7 to NVSwitch1"
std::string link_text(const NodeView& node, const NvLink& link, bool with_remote) {
  std::string text = fmt::format("{}", link.index);
  if (!with_remote || link.remote_address.empty()) return text;
  for (const NvSwitch& s : node.node.nvswitches)
    if (s.address == link.remote_address) return text + " to " + s.name;
  for (const Gpu& g : node.node.gpus)
    if (g.address == link.remote_address) return text + " to " + g.name;
  return text + " to " + link.remote_address;
}

std::optional<BytesPerSecond> rate_of(int links, const Gpu& gpu) {
  for (const NvLink& l : *gpu.nvlinks)
    if (l.rate.known()) return *l.rate * links;
  return std::nullopt;
}

std::string origin_of(const Gpu& gpu) {
  for (const NvLink& l : *gpu.nvlinks)
    if (l.up.known()) return l.up.origin;
  return origin::unknown;
}

void report_down(RuleContext& context, const NodeView& node, const Gpu& gpu, Severity severity,
                 const std::vector<Quantity>& beside) {
  const bool few = count_up(gpu, false) <= 4;
  std::vector<std::string> indices;
  for (const NvLink& l : *gpu.nvlinks)
    if (l.up.is(false)) indices.push_back(link_text(node, l, few));
  const int up = count_up(gpu, true), all = up + int(indices.size());
  std::vector<Quantity> values = {{"down", indices},
                                  {"links_down", indices.size()},
                                  {"links_up", up},
                                  {"links", all},
                                  {"origin", origin_of(gpu)},
                                  {"rate_Bps", rate_of(up, gpu)},
                                  {"could_Bps", rate_of(all, gpu)}};
  values.insert(values.end(), beside.begin(), beside.end());
  context.report(&node, gpu.name, {.severity = severity, .values = std::move(values)});
}

void down(RuleContext& context) {
  for (const NodeView& node : context.nodes)
    for (const auto& [model, gpus] : models(context, node)) {
      std::map<int, int> downs;  // how many GPUs have so many links down; those without any up by their own
      int linked = 0;
      for (const Gpu* g : gpus) {
        if (!g->nvlinks || g->nvlinks->empty()) continue;
        context.applies();
        linked += count_up(*g, true) > 0;
        if (count_up(*g, true) > 0) ++downs[count_up(*g, false)];
        if (std::ranges::any_of(*g->nvlinks, [](const NvLink& l) { return !l.up.known(); }))
          context.cannot(&node, g->name, "the state of some NVLinks is unknown");
      }
      const bool alike = linked > 1 && downs.size() == 1;
      for (const Gpu* g : gpus) {
        if (!g->nvlinks || count_up(*g, false) == 0) continue;
        const int up = count_up(*g, true);
        const auto board = on_baseboard(node, *g);
        std::vector<Quantity> sisters;
        if (gpus.size() > 1) sisters = {{"linked", linked}, {"of_gpus", gpus.size()}};
        if (up == 0) {
          if (board.value_or(false))
            report_down(context, node, *g, Severity::critical, {{"wired", true}});
          else if (!board && linked > 0)
            report_down(context, node, *g, Severity::critical, sisters);
          else if (!board)
            context.cannot(&node, g->name,
                           "no NVLink of any GPU is up, and the model does not tell whether "
                           "there are bridges");
          continue;  // a card without a bridge
        }
        if (alike) {
          // Built so, or cut alike; boards that are known to have more are worth a look.
          if (board.value_or(false) && up < full_board(*g))
            report_down(context, node, *g, Severity::info, {{"full_board", full_board(*g)}});
          continue;
        }
        report_down(context, node, *g, Severity::critical, sisters);
      }
    }
}

void fewer(RuleContext& context) {
  for (const NodeView& node : context.nodes)
    for (const auto& [model, gpus] : models(context, node)) {
      std::map<int, int> votes;
      for (const Gpu* g : gpus)
        if (g->nvlinks) ++votes[int(g->nvlinks->size())];
      const bool any = std::ranges::any_of(votes, [](const auto& v) { return v.first > 0; });
      if (any || on_baseboard(node, *gpus[0]).value_or(false)) {
        if (gpus.size() >= 3) context.applies();
        for (const Gpu* g : gpus)
          if (!g->nvlinks) context.cannot(&node, g->name, "its NVLinks are unknown");
      }
      if (gpus.size() < 3) continue;
      const int* most = majority(votes, 0.5);
      if (!most) continue;
      for (const Gpu* g : gpus) {
        if (!g->nvlinks || int(g->nvlinks->size()) >= *most || context.reported(&node, g->name, "nvlink-"))
          continue;
        const int have = int(g->nvlinks->size());
        // A card without a bridge beside cards with one.
        if (have == 0 && !on_baseboard(node, *g).value_or(true)) continue;
        context.report(&node, g->name,
                       {.values = {{"links", have},
                                   {"alike", votes.at(*most)},
                                   {"of_gpus", gpus.size()},
                                   {"usual", *most}},
                        .sure = by_comparison});
      }
    }
}

void errors(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    const bool linked =
        std::ranges::any_of(node.node.gpus, [](const Gpu& g) { return g.nvlinks && !g.nvlinks->empty(); });
    if (!linked) continue;
    context.applies();
    const auto wanted = [](const run::CounterChange& c) {
      return c.counter.starts_with("nvlink") && counter_class(c.counter) == CounterClass::error;
    };
    context.each_rise(node, wanted, [&](const run::CounterChange& c, std::uint64_t by, double seconds) {
      const bool crc = c.counter.find("crc") != std::string::npos;
      const double limit = context.limits.nvlink_crc_per_s;
      if (crc && (seconds > 0 ? double(by) / seconds : 0) < limit) return;
      std::vector<Quantity> gauge;
      if (crc) gauge.emplace_back("critical_per_s", limit);
      context.report(&node, c.device, {.values = rise_values(c, seconds, std::move(gauge))});
    });
  }
}

constexpr Rule nvlink_table[] = {
    {FindingKind::nvlink_down, Severity::critical, ScopeType::gpu, down},
    {FindingKind::nvlink_fewer_than_sisters, Severity::critical, ScopeType::gpu, fewer},
    {FindingKind::nvlink_errors, Severity::critical, ScopeType::gpu, errors},
};

}  // namespace

const std::span<const Rule> nvlink_rules = nvlink_table;

}  // namespace ringtrue::diagnosis
