#include "operator/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/statistics.h"
#include "ideal/loads.h"
#include "ideal/omnireduce.h"
#include "operator/bitmaps.h"
#include "run/report.h"

namespace ringtrue::ops {

ideal::Inputs ideal_inputs(int nodes, int ranks_per_node, std::optional<BytesPerSecond> link_rate,
                           std::optional<ideal::Efficiency> efficiency) {
  ideal::Inputs inputs;
  inputs.nodes = nodes;
  inputs.gpus_per_node = ranks_per_node;
  if (link_rate) inputs.inter = {*link_rate, ideal::Origin::declared};
  if (link_rate) inputs.inter_efficiency = std::move(efficiency);
  return inputs;
}

void set_call(RunResult& result, const run::Job& job) {
  result.ranks = job.workers();
  result.bytes = job.call.bytes();
  result.count = job.call.elements;
  result.type = key_of(job.call.type);
  result.op = key_of(job.call.operation);
  result.iterations = job.iterations;
}

namespace {

// The hops hold all timed samples.
std::uint64_t timed_calls(const run::Job& job) {
  return std::uint64_t(std::max(job.iterations, 1));
}

void set_rates(RunResult& result, double busbw_factor) {
  if (result.bytes == 0 || busbw_factor <= 0 || !result.time_s || result.time_s->median <= 0) return;
  result.algbw_Bps = double(result.bytes) / result.time_s->median;
  result.busbw_Bps = *result.algbw_Bps * busbw_factor;
}

std::optional<Spread> spread_of(std::vector<double> times) {
  if (times.empty()) return std::nullopt;
  const auto [min, max] = std::minmax_element(times.begin(), times.end());
  return Spread{*min, median(times), *max};
}

}  // namespace

void add_rates(RunResult& result, const ideal::Inputs& inputs) {
  const double factor = ideal::busbw_factor(result.algorithm, result.ranks);
  set_rates(result, factor);
  if (factor <= 0) return;
  const auto ideal = ideal::compute(inputs);
  if (!ideal) return;
  // Aggregators on nodes of their own pass the bound, and so does what is not sent.
  if (ideal->bound && result.algorithm != collective::AlgorithmId::pairwise &&
      result.algorithm != collective::AlgorithmId::omnireduce)
    result.bound_busbw_Bps = ideal->bound->value;
  if (const ideal::AlgorithmIdeal* a = ideal->find(result.algorithm)) {
    if (a->busbw) result.ideal_busbw_Bps = a->busbw->value;
    if (a->attainable) result.attainable_busbw_Bps = a->attainable->value;
  }
  if (!result.ideal_busbw_Bps) return;
  const auto& rate = inputs.inter && inputs.nodes > 1 ? inputs.inter : inputs.intra;
  if (rate) result.ideal_origin = key_of(rate->origin);
  if (!result.busbw_Bps) return;
  result.ratio = *result.busbw_Bps / *result.ideal_busbw_Bps;
  result.above = ideal::explain_above(BytesPerSecond(*result.busbw_Bps), *ideal, inputs, result.algorithm);
}

ReferenceResult reference_of(const run::Job& job, const run::Reference& reference) {
  ReferenceResult out{reference, {}};
  RunResult& row = out.result;
  set_call(row, job);
  row.time_s = spread_of(reference.time_s);
  if (job.check && reference.why_not.empty()) row.wrong = reference.wrong;
  set_rates(row, ideal::busbw_factor(collective::AlgorithmId::ring, job.ranks()));
  return out;
}

std::string note_on_reference(const run::RunReport& report) {
  if (!report.reference) return {};
  if (!report.reference->why_not.empty()) return fmt::format("no reference: {}", report.reference->why_not);
  const bool kernel = !report.gpus.empty() && report.gpus.front().play == run::GpuPlay::kernel;
  const bool rows = !report.ranks.empty() && report.ranks.front().batch > 1;
  return kernel && rows ? "short calls: a graph replays ours, and the reference's are launched one by one"
                        : "";
}

RunResult result_of(const run::Job& job, const run::RunReport& run, const ideal::Inputs& inputs) {
  RunResult result;
  result.algorithm = job.algorithm;
  result.transports = run.transports;
  result.congestion = run.congestion;
  set_call(result, job);
  result.rejected_connections = run.rejected_connections;
  result.time_s = spread_of(run::slowest(run));
  result.cpu_s = run.cpu_s;
  if (job.check) result.wrong = 0;
  for (const run::RankReport& rank : run.ranks) {
    result.batch = rank.batch;
    if (!job.check || rank.rank >= job.workers()) continue;
    *result.wrong += rank.wrong;
    result.wrong_by_rank.push_back(rank.wrong);
  }
  add_rates(result, inputs);
  return result;
}

std::vector<run::RdmaUse> rdma_of(const run::RunReport& run) {
  std::vector<run::RdmaUse> rows;
  // A node's processes mostly went alike.
  for (const run::RdmaUse& use : run.rdma)
    if (std::find(rows.begin(), rows.end(), use) == rows.end()) rows.push_back(use);
  return rows;
}

void set_hops(const run::Job& job, std::vector<run::Hop> hops, RunDocument& document) {
  std::erase_if(hops, [](const run::Hop& hop) { return hop.receiver; });
  document.hops = std::move(hops);
  document.rank_nodes.clear();
  for (std::size_t rank = 0; rank < job.seats.size() && job.nodes.size() > 1; ++rank)
    document.rank_nodes.push_back(job.nodes[std::size_t(job.seats[rank].node)]);
}

bool RunDocument::wrong() const {
  const auto any = [](const std::vector<RunResult>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.wrong.value_or(0) > 0; });
  };
  return corrupted || any(results) || any(rings) ||
         std::any_of(references.begin(), references.end(),
                     [](const auto& row) { return row.result.wrong.value_or(0) > 0; });
}

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
  // A value travels with its key.
  const auto size = double(size_of(call.type));
  if (call.omni.pairs > 0) inputs.payload = size / (size + call.omni.key_bytes);
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
  worker_pairs.push_back(of_rank.pairs);
}

OmniResult omni_result(const run::Job& job, Placement placement, const collective::Densities& densities,
                       std::optional<OmniModel> model) {
  OmniResult out;
  out.shape = job.call.omni;
  out.placement = key_of(placement);
  out.density = densities.worker;
  out.density_union = densities.united;
  out.bytes_dense = job.call.bytes() * std::uint64_t(job.call.omni.workers);
  out.model = std::move(model);
  return out;
}

void set_format(OmniResult& out, const FormatChoice& format) {
  out.format_why = format.why;
  if (!format.held) return;
  out.value_density = format.held->values.worker;
  out.value_density_union = format.held->values.united;
}

collective::Densities sent_shares(const collective::Call& call, const collective::Densities& blocks,
                                  const FormatChoice& format) {
  return call.omni.pairs > 0 ? format.held->values : blocks;
}

void add_received(OmniResult& out, const run::Job& job, const std::map<int, run::Hop>& received) {
  for (const auto& [rank, hop] : received) {
    OmniReceive row;
    row.rank = rank;
    if (job.nodes.size() > 1) row.node = job.nodes[std::size_t(job.seats[std::size_t(rank)].node)];
    row.bytes = hop.bytes.value / timed_calls(job);
    if (const auto rate = hop.rate()) row.rate_Bps = rate->value;
    out.receive.push_back(std::move(row));
  }
}

void add_run(OmniResult& out, const run::Job& job, const run::RunReport& run) {
  const collective::Rank workers = job.call.omni.workers;
  for (const run::RankReport& rank : run.ranks) out.counts.add(rank.counts, rank.rank < workers);
  // What an aggregator received, as it saw it itself: from the first packet of a call to the last one.
  std::map<int, run::Hop> received;
  for (const run::Hop& hop : run.trace.hops) {
    if (hop.source >= workers || hop.destination < workers) continue;
    if (!hop.receiver) {
      out.bytes_sent += hop.bytes.value;
      continue;
    }
    run::Hop& all = received[hop.destination];
    all.bytes += hop.bytes;
    all.busy = std::max(all.busy, hop.busy);
  }
  out.bytes_sent /= timed_calls(job);
  add_received(out, job, received);
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
