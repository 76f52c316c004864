#include "operator/simulate_omni.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "collective/omnireduce/omnireduce.h"
#include "ideal/omnireduce.h"
#include "operator/measurements.h"

namespace ringtrue::ops {
namespace {

using collective::Rank;

constexpr double usual_packet = 16 * 1024;  // of collective/omnireduce/tune.h

bool loses(const std::vector<collective::Fault>& faults) {
  return std::any_of(faults.begin(), faults.end(), [](const auto& f) { return f.unreliable(); });
}

// Blocks of generated data, and their densities.
void generate(OmniPlan& plan, const OmniRequest& flags, std::uint64_t seed) {
  const collective::Call& call = plan.job.call;
  const collective::Sparsity& sparsity = plan.job.sparsity = sparsity_of(flags, call.omni.block);
  plan.job.seed = seed;
  plan.density = plan.united = sparsity.density;
  if (sparsity.dense() || call.elements == 0) return;
  const auto pattern = std::make_shared<const collective::SparsePattern>(sparsity, call.elements, seed);
  const auto shares = collective::densities(*pattern, call.elements, call.omni.workers, call.omni.block);
  plan.density = shares.worker;
  plan.united = shares.united;
  plan.has_block = [pattern, block = std::uint64_t(call.omni.block), elements = call.elements](
                       Rank worker, std::uint64_t number) {
    const std::uint64_t begin = number * block;
    return pattern->any(worker, begin, std::min(begin + block, elements));
  };
}

// Blocks that are known one by one.
void read(OmniPlan& plan, std::shared_ptr<const Bitmaps> bitmaps) {
  const collective::Densities shares = densities_of(*bitmaps);
  plan.density = shares.worker;
  plan.united = shares.united;
  plan.has_block = [bitmaps, has = has_block(*bitmaps)](Rank worker, std::uint64_t block) {
    return has(worker, block);
  };
}

// Nodes and seats: workers node by node, then aggregators.
void place(OmniPlan& plan, const sim::Fabric& workers) {
  const collective::Omni& omni = plan.job.call.omni;
  const int nodes = workers.nodes;
  plan.fabric = workers;
  plan.fabric.node_of_rank.clear();
  std::vector<int> local;
  const auto seat = [&](int node) {
    if (std::size_t(node) >= local.size()) {
      local.resize(std::size_t(node) + 1);
      plan.fabric.nodes = node + 1;
    }
    plan.fabric.node_of_rank.push_back(node);
    plan.job.seats.push_back({node, 0, local[std::size_t(node)]++});
  };
  for (Rank w = 0; w < omni.workers; ++w) seat(w / workers.ranks_per_node);
  for (Rank a = 0; a < omni.aggregators; ++a) {
    seat(plan.placement == Placement::dedicated ? nodes + a : a % nodes);
  }
  for (std::size_t node = 0; node < local.size(); ++node)
    plan.job.nodes.push_back(fmt::format("node{}", node));
}

// Nodes of workers: the file's rows decide.
sim::Fabric fabric_for(const OmniCase& what) {
  sim::Fabric fabric = what.workers;
  if (what.bitmaps) {
    fabric.nodes = int(what.bitmaps->size());
    fabric.ranks_per_node = 1;
  }
  return fabric;
}

// What the nodes would hold, before they are seated.
Result<void> choose_format(OmniPlan& plan, const OmniCase& what, const OmniRequest& flags,
                           const sim::Fabric& workers) {
  run::Job data;
  data.call = what.call;
  data.call.omni.workers = workers.nodes * workers.ranks_per_node;
  data.input = plan.job.input = what.input;
  data.sparsity = sparsity_of(flags, flags.block.value_or(data.call.omni.block));
  data.seed = what.seed;
  return assign(plan.format, format_of(flags, data, plan.placement));
}

}  // namespace

Result<OmniPlan> plan_omnireduce(const OmniCase& what, const OmniRequest& flags) {
  const sim::Fabric workers = fabric_for(what);
  const bool lossy = loses(what.faults);
  OmniPlan plan;
  plan.placement = flags.placement.value_or(Placement::dedicated);
  plan.job.algorithm = collective::AlgorithmId::omnireduce;
  plan.job.iterations = 1;
  plan.job.call = what.call;
  if (what.bitmaps) {
    auto call = call_of(*what.bitmaps, flags);
    if (!call) return tl::unexpected(call.error());
    plan.job.call.elements = call->elements;
    plan.job.call.omni = call->omni;
    read(plan, what.bitmaps);
  } else {
    if (auto weighed = choose_format(plan, what, flags, workers); !weighed)
      return tl::unexpected(weighed.error());
    OmniWorld world;
    world.key_bytes = plan.format.key_bytes;
    world.workers = workers.nodes * workers.ranks_per_node;
    world.aggregators = flags.aggregators.value_or(workers.nodes);
    world.link_rate = workers.inter.rate * double(workers.rails);
    world.round_trip = workers.inter.latency * 2.0;
    // No host is late, but a packet waits in one port for those of all workers, and in another for its
    // copies.
    world.allowance = Seconds(std::min(world.workers, 64) * usual_packet / world.link_rate->value);
    world.density = flags.united_density(world.workers);
    world.datagrams = lossy || flags.mtu;
    auto chosen = omni_of(flags, what.call, world);
    if (!chosen) return tl::unexpected(chosen.error());
    plan.job.call.omni = chosen->omni;
    plan.reasons = std::move(chosen->reasons);
    if (!chosen->note.empty()) plan.notes.push_back(chosen->note);
    if (what.input) {
      read(plan, std::make_shared<const Bitmaps>(bitmaps_of(*what.input, plan.job.call.omni.block)));
    } else {
      generate(plan, flags, what.seed);
    }
    if (plan.job.call.omni.pairs > 0) plan.values = values_of(plan.job);
  }
  if (lossy && !flags.acked) {
    plan.job.call.omni.acked = true;
    plan.notes.push_back("packets may get lost, so every worker answers every round (--acked)");
  }
  place(plan, workers);
  if (auto fits = collective::check_omni(plan.fabric.layout(), plan.job.call); !fits) {
    return tl::unexpected(fits.error());
  }
  return plan;
}

void distribute_evenly(OmniPlan& plan, double density) {
  plan.density = plan.united = density;
  const std::uint64_t columns = collective::OmniShape(plan.job.call).columns();
  plan.has_block = [columns, density](Rank, std::uint64_t block) {
    const double row = double(block / columns);
    // The columns' turns are spread, so that packets are about equally full.
    const double phase = std::fmod(double(block % columns) * 0.6180339887498949, 1.0);
    return std::floor((row + 1) * density + phase) > std::floor(row * density + phase);
  };
}

std::optional<OmniModel> model_of(const OmniPlan& plan) {
  if (plan.fabric.ranks_per_node != 1) return std::nullopt;
  const collective::Call& call = plan.job.call;
  ideal::OmniInputs in;
  in.rate = plan.fabric.inter.rate * double(plan.fabric.rails);
  in.latency = plan.fabric.inter.latency;
  const collective::Densities sent = sent_shares(call, {plan.density, plan.united}, plan.format);
  auto model = omni_model(call, sent, plan.placement, in.rate, in.latency);
  if (!model || call.elements == 0) return model;
  const collective::OmniShape shape(call);
  in.workers = call.omni.workers;
  in.aggregators = call.omni.aggregators;
  in.density = sent.worker;
  in.density_union = sent.united;
  in.bytes = Bytes(call.bytes());
  if (call.omni.pairs > 0) {
    in.payload = double(call.omni.pairs * size_of(call.type)) / double(collective::max_packet(call));
  } else {
    in.payload = ideal::payload_share(shape.block_bytes(), call.omni.fusion);
    in.first = std::min(1.0, double(shape.columns()) / double(shape.blocks()));
  }
  in.packet = Bytes(collective::max_packet(call));
  if (const auto wire = ideal::omnireduce_on_the_wire(in, plan.placement == Placement::colocated))
    model->on_wire_s = wire->value;
  return model;
}

void add_omni(RunResult& result, const OmniPlan& plan, const sim::SimReport& played,
              const std::optional<RunResult>& ring) {
  const collective::Omni& omni = plan.job.call.omni;
  OmniResult out = omni_result(plan.job, plan.placement, {plan.density, plan.united}, model_of(plan));
  set_format(out, plan.format);
  for (std::size_t rank = 0; rank < played.counts.size(); ++rank)
    out.counts.add(played.counts[rank], Rank(rank) < omni.workers);
  // What goes to an aggregator, together: there may be millions of hops. The simulator knows when its port
  // was in use.
  std::map<int, run::Hop> received;
  for (const run::Hop& sent : played.trace.hops) {
    if (sent.source >= omni.workers || sent.destination < omni.workers || sent.bytes.value == 0) continue;
    run::Hop& hop = received[sent.destination];
    hop.bytes += sent.bytes;
    hop.busy = played.receiving[std::size_t(sent.destination)];
    out.bytes_sent += sent.bytes.value;
  }
  add_received(out, plan.job, received);
  out.order.resize(omni.streams);
  for (const collective::RoundSeen& round : played.rounds) {
    OmniStream& stream = out.order[round.stream];
    ++stream.rounds;
    stream.order.insert(stream.order.end(), round.blocks.begin(), round.blocks.end());
  }
  result.omni = std::move(out);
  add_omni_rates(result, std::nullopt);
  if (ring) add_ring(result, *ring);
}

}  // namespace ringtrue::ops
