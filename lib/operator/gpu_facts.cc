#include "operator/gpu_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/sweep/gpu_ideal.h"
#include "operator/facts.h"
#include "run/report.h"

namespace ringtrue::ops {

topology::Cluster facts_of_nodes(const Setup& setup, const Runner& runner, const Control& control,
                                 std::vector<std::string>& notes) {
  control.tell(progress::Step{"looking at the nodes"});
  Facts facts = facts_beside(setup, {}, control);
  for (const Failure& f : facts.failures)
    notes.push_back(fmt::format("what is in {} could not be read: {}", f.node, f.error.what));
  if (runner.place().local)
    for (topology::Node& here : facts.cluster.nodes) here.name = runner.place().nodes.front();
  return std::move(facts.cluster);
}

void GpuLinks::add(const Setup& setup, const Runner& runner, const Control& control,
                   const run::RunReport& run, ideal::Inputs& inputs, std::vector<std::string>& notes) {
  if (run.gpus.empty() || run.ranks.size() < 2) return;
  if (runner.place().worker_nodes > 1) {
    if (!inputs.inter)
      notes.push_back("no ideal: the rate between the nodes is not declared; give --link-rate");
    return;
  }
  std::vector<diagnosis::GpuPart> parts;
  for (const run::GpuUse& use : run.gpus) {
    const auto known =
        std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.uuid == use.uuid; });
    if (known == parts.end())
      parts.push_back({use.uuid, int(use.ranks.size()), use.play, use.ways});
    else  // of another process
      known->ranks += int(use.ranks.size());
  }
  const topology::Node* node = nullptr;
  if (diagnosis::why_no_ideal(parts).empty()) {
    if (!facts_) facts_ = facts_of_nodes(setup, runner, control, notes);
    for (const topology::Node& each : facts_->nodes)
      if (each.name == run.gpus.front().node) node = &each;
  }
  const diagnosis::GpuIdeal ideal = diagnosis::gpu_ideal(node, parts);
  inputs.intra = ideal.intra;
  inputs.intra_efficiency = ideal.efficiency;
  notes.push_back(ideal.note);
}

}  // namespace ringtrue::ops
