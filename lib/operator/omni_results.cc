#include "operator/measurements.h"

#include <algorithm>
#include <map>

#include "ideal/loads.h"
#include "ideal/omnireduce.h"
#include "operator/bitmaps.h"
#include "run/report.h"

namespace ringtrue::ops {
collective::Densities densities_of(const run::Job& job, std::uint64_t block) {
  if (job.input) return densities_of(bitmaps_of(*job.input, block));
  const collective::SparsePattern pattern(job.sparsity, job.call.elements, job.seed);
  return collective::densities(pattern, job.call.elements, job.workers(), block);
}

std::optional<OmniModel> omni_model(const collective::Call& call, const collective::Densities& densities,
                                    Placement placement, BytesPerSecond rate, Seconds latency) {
  ideal::OmniInputs inputs;
  inputs.workers = call.omni.workers;
  inputs.aggregators = call.omni.aggregators;
  inputs.density = densities.worker;
  inputs.density_union = densities.united;
  inputs.bytes = Bytes(call.bytes());
  inputs.rate = rate;
  inputs.latency = latency;
  const auto model = ideal::omnireduce_model(inputs);
  if (!model) return std::nullopt;
  const ideal::OmniTime& here = placement == Placement::dedicated ? model->dedicated : model->colocated;
  return OmniModel{here.time.value, here.speedup, model->dedicated.time.value, model->colocated.time.value};
}

void OmniCounts::add(const collective::PacketCounts& of_rank, bool worker) {
  resent += of_rank.resent;
  dropped += of_rank.dropped;
  multicasts += of_rank.multicasts;
  if (!worker) return;
  worker_packets.push_back(of_rank.packets);
  worker_blocks.push_back(of_rank.blocks);
}

OmniResult omni_result(const run::Job& job, const run::RunReport& run, Placement placement,
                       const collective::Densities& densities, std::optional<OmniModel> model) {
  const collective::Omni& omni = job.call.omni;
  OmniResult out;
  out.shape = omni;
  out.placement = key_of(placement);
  out.density = densities.worker;
  out.density_union = densities.united;
  out.bytes_dense = job.call.bytes() * std::uint64_t(omni.workers);
  for (const run::RankReport& rank : run.ranks) out.counts.add(rank.counts, rank.rank < omni.workers);

  // The hops hold all timed samples.
  const auto calls = std::uint64_t(std::max(job.iterations, 1));
  std::map<int, double> busy;
  std::map<int, std::uint64_t> bytes;
  // What an aggregator received, as it saw it itself: from the first packet of a call to the last one.
  for (const run::Hop& hop : run.trace.hops) {
    if (hop.source >= omni.workers || hop.destination < omni.workers) continue;
    if (!hop.receiver) {
      out.bytes_sent += hop.bytes.value;
    } else {
      bytes[hop.destination] += hop.bytes.value;
      busy[hop.destination] = std::max(busy[hop.destination], hop.busy.value);
    }
  }
  out.bytes_sent /= calls;
  for (const auto& [rank, received] : bytes) {
    OmniReceive row;
    row.rank = rank;
    if (job.nodes.size() > 1) row.node = job.nodes[std::size_t(job.seats[std::size_t(rank)].node)];
    row.bytes = received / calls;
    if (received > 0 && busy[rank] > 0) row.rate_Bps = double(received) / busy[rank];
    out.receive.push_back(std::move(row));
  }
  out.model = std::move(model);
  return out;
}

void add_omni_rates(RunResult& result, std::optional<double> efficiency) {
  if (!result.omni || !result.omni->model || result.omni->model->time_s <= 0) return;
  const double attainable =
      double(result.bytes) / result.omni->model->time_s * ideal::busbw_factor(result.algorithm, result.ranks);
  if (attainable <= 0) return;
  if (efficiency) result.attainable_busbw_Bps = attainable;
  result.ideal_busbw_Bps = attainable / efficiency.value_or(1);
  if (result.busbw_Bps) result.ratio = *result.busbw_Bps / *result.ideal_busbw_Bps;
}

void add_ring(RunResult& result, const RunResult& ring) {
  if (!result.omni || !ring.time_s) return;
  OmniResult& omni = *result.omni;
  omni.ring = OmniRing{ring.transports, ring.time_s->median, ring.algbw_Bps, {}, ring.wrong};
  if (!result.time_s || result.time_s->median <= 0) return;
  omni.ring->speedup = ring.time_s->median / result.time_s->median;
  if (omni.model && omni.model->speedup && *omni.model->speedup > 0)
    omni.share = *omni.ring->speedup / *omni.model->speedup;
}

}  // namespace ringtrue::ops
