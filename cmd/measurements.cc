#include "cmd/measurements.h"

#include <fmt/format.h>

#include <algorithm>

#include "ideal/loads.h"

namespace ringtrue::cmd {

ideal::Inputs ideal_inputs(int nodes, int ranks_per_node, std::optional<BytesPerSecond> link_rate,
                           std::optional<ideal::Efficiency> efficiency) {
  ideal::Inputs inputs;
  inputs.nodes = nodes;
  inputs.gpus_per_node = ranks_per_node;
  if (link_rate) inputs.inter = {*link_rate, ideal::Origin::declared};
  if (link_rate) inputs.inter_efficiency = std::move(efficiency);
  return inputs;
}

std::optional<ideal::Efficiency> efficiency_of(const engine::RunReport& run) {
  Result<ideal::Efficiency> known = fail(Cause::unavailable, "no wires");
  if (run.transport.find("tcp") != std::string::npos) {
    known = ideal::ethernet_tcp();
  } else if (!run.rdma.empty()) {
    int mtu = run.rdma.front().mtu;
    for (const engine::RdmaUse& use : run.rdma) mtu = std::min(mtu, use.mtu);
    const std::string& gid = run.rdma.front().gid;
    known = gid.empty() ? ideal::infiniband(mtu) : ideal::roce_v2(mtu, gid.find(':') != std::string::npos);
  }
  return known ? std::optional(*known) : std::nullopt;
}

void add_rates(report::RunResult& result, const ideal::Inputs& inputs) {
  const double factor = ideal::busbw_factor(result.algorithm, result.ranks);
  if (result.bytes > 0 && factor > 0 && result.time_s && result.time_s->median > 0) {
    result.algbw_Bps = double(result.bytes) / result.time_s->median;
    result.busbw_Bps = *result.algbw_Bps * factor;
  }
  if (factor <= 0) return;
  const auto ideal = ideal::compute(inputs);
  if (!ideal) return;
  // Aggregators on nodes of their own pass the bound, and so does what is not sent.
  if (ideal->bound && result.algorithm != "pairwise" && result.algorithm != "omnireduce")
    result.bound_busbw_Bps = ideal->bound->value;
  if (const ideal::AlgorithmIdeal* a = ideal->find(result.algorithm)) {
    if (a->busbw) result.ideal_busbw_Bps = a->busbw->value;
    if (a->attainable) result.attainable_busbw_Bps = a->attainable->value;
  }
  if (!result.ideal_busbw_Bps) return;
  const auto& rate = inputs.inter && inputs.nodes > 1 ? inputs.inter : inputs.intra;
  if (rate) result.ideal_origin = ideal::name(rate->origin);
  if (!result.busbw_Bps) return;
  result.ratio = *result.busbw_Bps / *result.ideal_busbw_Bps;
  result.above = ideal::explain_above(BytesPerSecond(*result.busbw_Bps), *ideal, inputs, result.algorithm);
}

namespace {

std::optional<report::Spread> spread_of(std::vector<double> times) {
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  const double median = n % 2 == 1 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  return report::Spread{times.front(), median, times.back()};
}

}  // namespace

report::ReferenceRow reference_of(const engine::Job& job, const engine::Reference& reference) {
  report::ReferenceRow row;
  row.library = reference.library;
  row.how = reference.how;
  row.bytes = job.call.bytes();
  row.why_not = reference.why_not;
  row.time_s = spread_of(reference.time_s);
  if (job.check && reference.why_not.empty()) row.wrong = reference.wrong;
  if (row.bytes > 0 && job.ranks() > 1 && row.time_s && row.time_s->median > 0) {
    row.algbw_Bps = double(row.bytes) / row.time_s->median;
    row.busbw_Bps = *row.algbw_Bps * ideal::busbw_factor("ring", job.ranks());
  }
  return row;
}

std::string note_on_reference(const engine::RunReport& report) {
  if (!report.reference) return {};
  if (!report.reference->why_not.empty()) return fmt::format("no reference: {}", report.reference->why_not);
  const bool kernel = !report.gpus.empty() && report.gpus.front().play == "kernel";
  const bool rows = !report.ranks.empty() && report.ranks.front().batch > 1;
  return kernel && rows ? "short calls: a graph replays ours, and the reference's are launched one by one"
                        : "";
}

report::RunResult result_of(const engine::Job& job, const engine::RunReport& run,
                            const ideal::Inputs& inputs) {
  report::RunResult result;
  result.algorithm = job.algorithm;
  result.transport = run.transport;
  result.congestion = run.congestion;
  result.ranks = job.workers();
  result.bytes = job.call.bytes();
  result.count = job.call.elements;
  result.type = name(job.call.type);
  result.op = name(job.call.operation);
  result.iterations = job.iterations;
  result.strangers = run.strangers;
  result.time_s = spread_of(engine::slowest(run));
  result.cpu_s = run.cpu_s;
  if (job.check) result.wrong = 0;
  for (const engine::RankReport& rank : run.ranks) {
    result.batch = rank.batch;
    if (!job.check || rank.rank >= job.workers()) continue;
    *result.wrong += rank.wrong;
    result.wrong_by_rank.push_back(rank.wrong);
  }
  add_rates(result, inputs);
  return result;
}

std::vector<report::RdmaRow> rdma_of(const engine::RunReport& run) {
  std::vector<report::RdmaRow> rows;
  for (const engine::RdmaUse& use : run.rdma) {
    report::RdmaRow row{use.node, use.ports, use.gid, use.mtu, use.memory};
    // A node's processes mostly went alike.
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<report::GpuRow> gpus_of(const engine::RunReport& run) {
  std::vector<report::GpuRow> rows;
  for (const engine::GpuUse& use : run.gpus)
    rows.push_back({use.node, use.index, use.name, use.uuid, use.ranks, use.play, use.ways});
  return rows;
}

std::vector<report::HopRow> hops_of(const engine::Job& job, const trace::Trace& trace) {
  const auto node_of = [&](int rank) {
    const bool known = rank >= 0 && rank < job.ranks();
    return known ? job.nodes[std::size_t(job.seats[std::size_t(rank)].node)] : std::string();
  };
  std::vector<report::HopRow> rows;
  for (const trace::Hop& hop : trace.hops) {
    if (hop.receiver) continue;
    report::HopRow row;
    row.source = hop.source;
    row.destination = hop.destination;
    if (job.nodes.size() > 1) {
      row.source_node = node_of(hop.source);
      row.destination_node = node_of(hop.destination);
    }
    row.bytes = hop.bytes.value;
    if (hop.busy.value > 0 || hop.bytes.value == 0) row.busy_s = hop.busy.value;
    if (const auto rate = hop.rate()) row.rate_Bps = rate->value;
    if (hop.tcp) row.retransmits = hop.tcp->retransmits;
    if (hop.rdma) {
      row.rdma = report::HopRow::Rdma{hop.rdma->writes, hop.rdma->credit_limited.value,
                                      hop.rdma->queue_limited.value};
      for (const trace::RdmaRail& rail : hop.rdma->rails)
        row.rdma->rails.push_back({rail.port, rail.bytes.value, rail.busy.value});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ringtrue::cmd
