#include "diagnosis/findings/above.h"

#include "diagnosis/findings/rings.h"

namespace ringtrue::diagnosis {

void hold_against_ideal(ideal::Inputs wires, Diagnosis& diagnosis) {
  RunRecord* const ring = last_ring_of(diagnosis.runs, diagnosis.ring_busbw);
  if (!ring || !wires.inter) return;
  wires.nodes = int(ring->experiment.order.size());
  wires.gpus_per_node = 1;
  const auto ideal = ideal::compute(wires);
  const ideal::AlgorithmIdeal* own = ideal ? ideal->find(collective::AlgorithmId::ring) : nullptr;
  if (!own || !own->busbw) return;
  ring->ideal = own->busbw;
  ring->ideal_origin = wires.inter->origin;
  ring->above = ideal::explain_above(*ring->busbw, *ideal, wires, collective::AlgorithmId::ring);
  if (!ring->above) return;
  Finding finding;
  finding.kind = FindingKind::above_ideal;
  finding.scope.type = ScopeType::fleet;
  finding.measured = ring->busbw;
  finding.expected = own->busbw;
  finding.ratio = *ring->busbw / *own->busbw;
  finding.confidence = 1;
  finding.evidence = {ring->above->text(*ring->busbw, *own->busbw), "ideal of the ring: " + own->arithmetic};
  finding.next = StatementKind::see_ideal;
  diagnosis.findings.push_back(std::move(finding));
}

}  // namespace ringtrue::diagnosis
