#include "cmd/omni_results.h"

#include <algorithm>
#include <map>

#include "ideal/loads.h"
#include "ideal/omnireduce.h"

namespace ringtrue::cmd {
namespace {

// Whether the bits of a value are those of zero or -0.0.
bool is_zero(const std::byte* value, collective::Type type) {
  const std::uint64_t size = size_of(type);
  const bool integer = type == collective::Type::int32 || type == collective::Type::int64;
  for (std::uint64_t i = 0; i < size; ++i) {
    const auto bits = std::to_integer<unsigned>(value[i]);
    if (bits != 0 && !(i + 1 == size && !integer && bits == 0x80)) return false;
  }
  return true;
}

bool block_is_zero(const std::vector<std::byte>& row, collective::Type type, std::uint64_t block,
                   std::uint64_t index) {
  const std::uint64_t size = size_of(type), begin = index * block * size;
  const std::uint64_t end = std::min<std::uint64_t>(begin + block * size, row.size());
  for (std::uint64_t at = begin; at < end; at += size) {
    if (!is_zero(row.data() + at, type)) return false;
  }
  return true;
}

collective::Densities densities_of_input(const engine::Input& input, std::uint64_t block) {
  const std::uint64_t blocks = (input.elements + block - 1) / block;
  std::vector<bool> united(blocks, false);
  std::uint64_t densest = 0;
  for (const auto& row : input.rows) {
    std::uint64_t here = 0;
    for (std::uint64_t b = 0; b < blocks; ++b) {
      if (block_is_zero(row, input.type, block, b)) continue;
      ++here;
      united[b] = true;
    }
    densest = std::max(densest, here);
  }
  if (blocks == 0) return {};
  const auto any = std::uint64_t(std::count(united.begin(), united.end(), true));
  return {double(densest) / double(blocks), double(any) / double(blocks)};
}

}  // namespace

collective::Densities densities_of(const engine::Job& job, std::uint64_t block) {
  if (job.input) return densities_of_input(*job.input, block);
  const collective::SparsePattern pattern(job.sparsity, job.call.elements, job.workers(), job.seed);
  return collective::densities(pattern, job.call.elements, job.workers(), block);
}

std::optional<report::OmniModel> omni_model(const engine::Job& job, const collective::Densities& densities,
                                            Placement placement, std::optional<BytesPerSecond> rate) {
  if (!rate || job.call.bytes() == 0) return std::nullopt;
  ideal::OmniInputs inputs;
  inputs.workers = job.call.omni.workers;
  inputs.aggregators = job.call.omni.aggregators;
  inputs.density = densities.worker;
  inputs.density_union = densities.united;
  inputs.bytes = Bytes(job.call.bytes());
  inputs.rate = *rate;
  const auto model = ideal::omnireduce_model(inputs);
  if (!model) return std::nullopt;
  const ideal::OmniTime& here = placement == Placement::dedicated ? model->dedicated : model->colocated;
  return report::OmniModel{here.time.value, here.speedup, model->dedicated.time.value,
                           model->colocated.time.value};
}

report::OmniResult omni_result(const engine::Job& job, const engine::RunReport& run, Placement placement,
                               std::optional<BytesPerSecond> rate) {
  const collective::Omni& omni = job.call.omni;
  report::OmniResult out;
  out.workers = omni.workers;
  out.aggregators = omni.aggregators;
  out.placement = name(placement);
  out.block = omni.block;
  out.streams = omni.streams;
  out.fusion = omni.fusion;
  out.acked = omni.acked;
  const collective::Densities densities = densities_of(job, omni.block);
  out.density = densities.worker;
  out.density_union = densities.united;
  out.bytes_dense = job.call.bytes() * std::uint64_t(omni.workers);
  for (const engine::RankReport& rank : run.ranks) {
    out.resent += rank.counts.resent;
    out.dropped += rank.counts.dropped;
    out.multicasts += rank.counts.multicasts;
    if (rank.rank >= omni.workers) continue;
    out.worker_packets.push_back(rank.counts.packets);
    out.worker_blocks.push_back(rank.counts.blocks);
  }
  out.aggregator_packets = out.multicasts * std::uint64_t(omni.workers);

  // The hops hold all timed samples.
  const auto calls = std::uint64_t(std::max(job.iterations, 1));
  std::map<int, double> busy;
  std::map<int, std::uint64_t> bytes;
  // What an aggregator received, as it saw it itself: from the first packet of a call to the last one.
  for (const trace::Hop& hop : run.trace.hops) {
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
    report::OmniReceive row;
    row.rank = rank;
    if (job.nodes.size() > 1) row.node = job.nodes[std::size_t(job.seats[std::size_t(rank)].node)];
    row.bytes = received / calls;
    if (received > 0 && busy[rank] > 0) row.rate_Bps = double(received) / busy[rank];
    out.receive.push_back(std::move(row));
  }
  out.model = omni_model(job, densities, placement, rate);
  return out;
}

void add_omni_rates(report::RunResult& result, std::optional<double> efficiency) {
  if (!result.omni || !result.omni->model || result.omni->model->time_s <= 0) return;
  const double attainable =
      double(result.bytes) / result.omni->model->time_s * ideal::busbw_factor(result.algorithm, result.ranks);
  if (attainable <= 0) return;
  if (efficiency) result.attainable_busbw_Bps = attainable;
  result.ideal_busbw_Bps = attainable / efficiency.value_or(1);
  if (result.busbw_Bps) result.ratio = *result.busbw_Bps / *result.ideal_busbw_Bps;
}

void add_ring(report::RunResult& result, const report::RunResult& ring) {
  if (!result.omni || !ring.time_s) return;
  report::OmniResult& omni = *result.omni;
  omni.ring = report::OmniRing{ring.transport, ring.time_s->median, ring.algbw_Bps, {}, ring.wrong};
  if (!result.time_s || result.time_s->median <= 0) return;
  omni.ring->speedup = ring.time_s->median / result.time_s->median;
  if (omni.model && omni.model->speedup && *omni.model->speedup > 0)
    omni.share = *omni.ring->speedup / *omni.model->speedup;
}

void add_roles(std::vector<report::HopRow>& hops, collective::Rank workers) {
  for (report::HopRow& hop : hops) {
    hop.source_role = hop.source < workers ? "worker" : "aggregator";
    hop.destination_role = hop.destination < workers ? "worker" : "aggregator";
  }
}

}  // namespace ringtrue::cmd
