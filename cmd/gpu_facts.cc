#include "cmd/gpu_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/facts.h"
#include "cmd/progress.h"
#include "diagnosis/gpu_ideal.h"

namespace ringtrue::cmd {

topology::Cluster facts_of_nodes(const Context& context, const Player& player,
                                 std::vector<std::string>& notes) {
  show_progress("looking at the nodes");
  Facts facts = facts_beside(context, {});
  for (const report::Failure& f : facts.failures)
    notes.push_back(fmt::format("what is in {} could not be read: {}", f.node, f.error.what));
  if (player.local())
    for (topology::Node& here : facts.cluster.nodes) here.name = player.nodes().front();
  return std::move(facts.cluster);
}

void GpuLinks::add(const Context& context, const Player& player, const engine::RunReport& run,
                   ideal::Inputs& inputs, std::vector<std::string>& notes) {
  if (run.gpus.empty() || run.ranks.size() < 2) return;
  if (player.worker_nodes() > 1) {
    if (!inputs.inter)
      notes.push_back("no ideal: the rate between the nodes is not declared; give --link-rate");
    return;
  }
  std::vector<diagnosis::GpuPart> parts;
  for (const engine::GpuUse& use : run.gpus) {
    const auto known =
        std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.uuid == use.uuid; });
    if (known == parts.end())
      parts.push_back({use.uuid, int(use.ranks.size()), use.play, use.ways});
    else  // of another process
      known->ranks += int(use.ranks.size());
  }
  const topology::Node* node = nullptr;
  if (diagnosis::why_no_ideal(parts).empty()) {
    if (!facts_) facts_ = facts_of_nodes(context, player, notes);
    for (const topology::Node& each : facts_->nodes)
      if (each.name == run.gpus.front().node) node = &each;
  }
  const diagnosis::GpuIdeal ideal = diagnosis::gpu_ideal(node, parts);
  inputs.intra = ideal.intra;
  inputs.intra_efficiency = ideal.efficiency;
  notes.push_back(ideal.note);
}

}  // namespace ringtrue::cmd
