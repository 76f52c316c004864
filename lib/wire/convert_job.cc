// A job <-> protobuf.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "collective/omnireduce/omnireduce.h"
#include "wire/checks.h"
#include "wire/convert.h"

namespace ringtrue::wire {

using checks::bad;
using checks::in_range;
using checks::measure;
namespace verbs = transport::verbs;

namespace {

void add_ports(const std::vector<verbs::PortName>& ports,
               google::protobuf::RepeatedPtrField<rpc::RdmaPort>& to) {
  for (const verbs::PortName& port : ports) {
    rpc::RdmaPort& p = *to.Add();
    p.set_device(port.device);
    p.set_port(port.port);
  }
}

void add_verbs(const verbs::Settings& settings, rpc::Verbs& m) {
  add_ports(settings.ports, *m.mutable_ports());
  m.set_gid_index(settings.gid_index);
  m.set_pkey_index(settings.pkey_index);
  m.set_mtu(settings.mtu);
  m.set_timeout(settings.timeout);
  m.set_retry_count(settings.retry_count);
  m.set_rnr_retry(settings.rnr_retry);
  m.set_traffic_class(settings.traffic_class);
  m.set_service_level(settings.service_level);
  m.set_queue_pairs(settings.queue_pairs);
  m.set_adaptive_routing_threshold(settings.adaptive_routing_threshold);
  m.set_relaxed_ordering(settings.relaxed_ordering);
  m.set_registration(std::uint32_t(settings.registration));
  m.set_slot_bytes(settings.slot_bytes);
  m.set_slots(settings.slots);
}

}  // namespace

rpc::Job to_wire(const engine::Job& job) {
  rpc::Job m;
  m.set_algorithm(job.algorithm);
  for (const std::string& node : job.nodes) m.add_nodes(node);
  for (const engine::Seat& seat : job.seats) {
    m.add_seat_node(seat.node);
    m.add_seat_process(seat.process);
    m.add_seat_local(seat.local);
  }
  m.set_elements(job.call.elements);
  m.set_type(std::string(collective::name(job.call.type)));
  m.set_operation(std::string(collective::name(job.call.operation)));
  m.set_slice_bytes(job.call.slice_bytes);
  m.set_lanes(job.call.lanes);
  m.set_shift(job.call.shift);
  m.set_transport(job.transport);
  m.set_iterations(job.iterations);
  m.set_warmup(job.warmup);
  m.set_check(job.check);
  m.set_events(job.events);
  m.set_fault(job.fault);
  m.set_seed(job.seed);
  if (const collective::Omni& omni = job.call.omni; omni.workers > 0) {
    rpc::Omni& o = *m.mutable_omni();
    o.set_workers(omni.workers);
    o.set_aggregators(omni.aggregators);
    o.set_block(omni.block);
    o.set_streams(omni.streams);
    o.set_fusion(omni.fusion);
    o.set_acked(omni.acked);
  }
  rpc::Sparsity& sparsity = *m.mutable_sparsity();
  sparsity.set_density(job.sparsity.density);
  sparsity.set_value_density(job.sparsity.value_density);
  sparsity.set_overlap(std::uint32_t(job.sparsity.overlap));
  sparsity.set_block(job.sparsity.block);
  if (job.input) {
    rpc::Input& input = *m.mutable_input();
    input.set_type(std::string(collective::name(job.input->type)));
    input.set_elements(job.input->elements);
    for (const auto& row : job.input->rows) input.add_rows(row.data(), row.size());
  }
  m.set_mtu(job.mtu);
  add_verbs(job.verbs, *m.mutable_verbs());
  for (const auto& ports : job.ports) add_ports(ports, *m.add_ports()->mutable_ports());
  m.set_memory(std::uint32_t(job.memory));
  m.mutable_gpus()->Add(job.gpus.begin(), job.gpus.end());
  m.set_share_gpus(job.share_gpus);
  m.set_gpu_limits(job.gpu_limits);
  m.set_reference(job.reference);
  return m;
}

Result<void> sendable(const engine::Job& job) {
  std::uint64_t bytes = 0;
  if (job.input) {
    for (const auto& row : job.input->rows) bytes += row.size();
  }
  if (bytes <= max_input_bytes) return {};
  return fail(Cause::bad_input,
              fmt::format("the input holds {}; at most {} go to other processes", to_text(Bytes(bytes)),
                          to_text(Bytes(max_input_bytes))),
              {}, "use --local in one process, or generated data (--density, --overlap)");
}

namespace {

constexpr std::uint32_t most_block = 1u << 22;  // elements

Result<std::vector<engine::Seat>> seats_of(const rpc::Job& m) {
  const int ranks = m.seat_node_size();
  if (m.seat_process_size() != ranks || m.seat_local_size() != ranks)
    return bad("lists of seats of different lengths");
  if (!in_range(ranks, 1, max_ranks))
    return bad(fmt::format("{} ranks; 1 to {} are possible", ranks, max_ranks));
  std::vector<engine::Seat> seats;
  std::set<std::pair<int, int>> taken;
  seats.reserve(std::size_t(ranks));
  for (int r = 0; r < ranks; ++r) {
    const engine::Seat seat{m.seat_node(r), m.seat_process(r), m.seat_local(r)};
    if (!in_range(seat.node, 0, m.nodes_size() - 1))
      return bad(fmt::format("rank {} on a node outside the list", r));
    if (!in_range(seat.process, 0, max_processes - 1))
      return bad(fmt::format("rank {} in process {}", r, seat.process));
    if (!in_range(seat.local, 0, max_ranks - 1))
      return bad(fmt::format("rank {} in place {}", r, seat.local));
    if (!taken.emplace(seat.node, seat.local).second)
      return bad(fmt::format("rank {} in a seat that is taken", r));
    seats.push_back(seat);
  }
  return seats;
}

// Saturates nothing: a size that a product could overflow is refused.
Result<collective::Call> call_of(const rpc::Job& m) {
  collective::Call call;
  auto type = collective::parse_type(m.type());
  if (!type) return tl::unexpected(type.error());
  auto operation = collective::parse_operation(m.operation());
  if (!operation) return tl::unexpected(operation.error());
  call.type = *type;
  call.operation = *operation;
  constexpr std::uint64_t largest = std::uint64_t(1) << 50;  // bytes; the daemon's own cap is far below
  if (m.elements() > largest / collective::size_of(*type))
    return bad(fmt::format("{} elements", m.elements()));
  call.elements = m.elements();
  if (!in_range(std::int64_t(m.slice_bytes() & INT64_MAX), 8, std::int64_t(largest)) ||
      m.slice_bytes() > largest)
    return bad(fmt::format("slices of {} bytes", m.slice_bytes()));
  call.slice_bytes = m.slice_bytes();
  if (!in_range(m.lanes(), 1, 64)) return bad(fmt::format("{} lanes; 1 to 64 are possible", m.lanes()));
  call.lanes = m.lanes();
  if (!in_range(m.shift(), -max_ranks, max_ranks)) return bad(fmt::format("a shift of {}", m.shift()));
  call.shift = m.shift();
  return call;
}

Result<collective::Omni> omni_of(const rpc::Omni& m, std::int64_t ranks) {
  collective::Omni omni;
  if (!in_range(m.workers(), 1, ranks) || !in_range(m.aggregators(), 1, ranks) ||
      std::int64_t(m.workers()) + m.aggregators() != ranks)
    return bad(fmt::format("{} workers and {} aggregators of {} ranks", m.workers(), m.aggregators(), ranks));
  if (!in_range(m.block(), 1, most_block)) return bad(fmt::format("blocks of {} elements", m.block()));
  if (!in_range(m.streams(), 1, collective::most_streams))
    return bad(fmt::format("{} streams; 1 to {} are possible", m.streams(), collective::most_streams));
  if (!in_range(m.fusion(), 1, collective::most_fusion))
    return bad(
        fmt::format("{} blocks in a packet; 1 to {} are possible", m.fusion(), collective::most_fusion));
  omni.workers = m.workers();
  omni.aggregators = m.aggregators();
  omni.block = m.block();
  omni.streams = m.streams();
  omni.fusion = m.fusion();
  omni.acked = m.acked();
  return omni;
}

Result<collective::Sparsity> sparsity_of(const rpc::Sparsity& m) {
  collective::Sparsity sparsity;
  const auto share = [](double value) { return measure(value) && value <= 1; };
  if (!share(m.density()) || !share(m.value_density())) return bad("a density that is no share");
  if (m.overlap() > std::uint32_t(collective::Overlap::disjoint)) return bad("an overlap that there is not");
  if (!in_range(m.block(), 1, most_block)) return bad(fmt::format("blocks of {} elements", m.block()));
  sparsity.density = m.density();
  sparsity.value_density = m.value_density();
  sparsity.overlap = collective::Overlap(m.overlap());
  sparsity.block = m.block();
  return sparsity;
}

Result<std::shared_ptr<const engine::Input>> input_of(const rpc::Input& m, const engine::Job& job) {
  auto input = std::make_shared<engine::Input>();
  const auto type = collective::parse_type(m.type());
  if (!type) return bad("an input of an unknown type");
  if (*type != job.call.type || m.elements() != job.call.elements)
    return bad(fmt::format("an input of {} {} for a call of {} {}", m.elements(), name(*type),
                           job.call.elements, name(job.call.type)));
  if (m.rows_size() != 1 && m.rows_size() != job.workers())
    return bad(fmt::format("an input of {} rows for {} workers", m.rows_size(), job.workers()));
  std::uint64_t bytes = 0;
  for (const std::string& row : m.rows()) {
    if (row.size() != job.call.bytes())
      return bad(fmt::format("an input's row of {} bytes for {} elements", row.size(), m.elements()));
    bytes += row.size();
  }
  if (bytes > max_input_bytes) return bad(fmt::format("an input of {} bytes", bytes));
  input->type = *type;
  input->elements = m.elements();
  for (const std::string& row : m.rows()) {
    const auto* begin = reinterpret_cast<const std::byte*>(row.data());
    input->rows.emplace_back(begin, begin + row.size());
  }
  return input;
}

constexpr int most_ports = 64;   // of a rank
constexpr int most_gpus = 1024;  // of a node

Result<std::vector<verbs::PortName>> ports_of(const google::protobuf::RepeatedPtrField<rpc::RdmaPort>& m) {
  if (m.size() > most_ports) return bad(fmt::format("{} RDMA ports of a rank", m.size()));
  std::vector<verbs::PortName> ports;
  for (const rpc::RdmaPort& p : m) {
    if (p.device().empty() || p.device().size() > 64 || !checks::printable(p.device()) ||
        !in_range(p.port(), 1, 255))
      return bad("an RDMA port that is none");
    ports.push_back({p.device(), p.port()});
  }
  return ports;
}

Result<verbs::Settings> verbs_of(const rpc::Verbs& m) {
  verbs::Settings settings;
  auto ports = ports_of(m.ports());
  if (!ports) return tl::unexpected(ports.error());
  settings.ports = std::move(*ports);
  settings.gid_index = m.gid_index();
  settings.pkey_index = m.pkey_index();
  settings.mtu = m.mtu();
  settings.timeout = m.timeout();
  settings.retry_count = m.retry_count();
  settings.rnr_retry = m.rnr_retry();
  settings.traffic_class = m.traffic_class();
  settings.service_level = m.service_level();
  settings.queue_pairs = m.queue_pairs();
  settings.adaptive_routing_threshold = m.adaptive_routing_threshold();
  settings.relaxed_ordering = m.relaxed_ordering();
  if (m.registration() > std::uint32_t(verbs::Registration::staged))
    return bad("a way to register memory that there is not");
  settings.registration = verbs::Registration(m.registration());
  settings.slot_bytes = m.slot_bytes();
  settings.slots = m.slots();
  if (const auto fine = verbs::check(settings); !fine) return bad(fine.error().what);
  return settings;
}

}  // namespace

Result<engine::Job> from_wire(const rpc::Job& m) {
  engine::Job job;
  if (m.algorithm().empty() || m.algorithm().size() > 64 || !checks::printable(m.algorithm()))
    return bad("an algorithm without a proper name");
  job.algorithm = m.algorithm();
  if (auto nodes = checks::node_names(m.nodes()); nodes) {
    job.nodes = std::move(*nodes);
  } else {
    return tl::unexpected(nodes.error());
  }
  if (auto seats = seats_of(m); seats) {
    job.seats = std::move(*seats);
  } else {
    return tl::unexpected(seats.error());
  }
  if (auto call = call_of(m); call) {
    job.call = *call;
  } else {
    return tl::unexpected(call.error());
  }
  if (m.transport().size() > 32 || !checks::printable(m.transport()))
    return bad("a transport without a proper name");
  job.transport = m.transport();
  if (!in_range(m.iterations(), 0, 10'000'000)) return bad(fmt::format("{} iterations", m.iterations()));
  if (!in_range(m.warmup(), 0, 10'000'000)) return bad(fmt::format("{} iterations of warm-up", m.warmup()));
  job.iterations = m.iterations();
  job.warmup = m.warmup();
  job.check = m.check();
  job.events = m.events();
  if (m.fault().size() > 65'536) return bad("a script of faults that is too long");
  job.fault = m.fault();
  job.seed = m.seed();
  if (m.has_omni() != (job.algorithm == "omnireduce"))
    return bad("roles of an omnireduce for another algorithm, or an omnireduce without any");
  if (m.has_omni()) {
    auto omni = omni_of(m.omni(), std::int64_t(job.ranks()));
    if (!omni) return tl::unexpected(omni.error());
    job.call.omni = *omni;
  }
  if (m.has_sparsity()) {
    auto sparsity = sparsity_of(m.sparsity());
    if (!sparsity) return tl::unexpected(sparsity.error());
    job.sparsity = *sparsity;
  }
  if (m.has_input()) {
    auto input = input_of(m.input(), job);
    if (!input) return tl::unexpected(input.error());
    job.input = std::move(*input);
  }
  if (m.mtu() != 0 && !in_range(m.mtu(), 576, 65'535)) return bad(fmt::format("an MTU of {}", m.mtu()));
  if (m.mtu() != 0) job.mtu = m.mtu();
  if (m.has_verbs()) {
    auto settings = verbs_of(m.verbs());
    if (!settings) return tl::unexpected(settings.error());
    job.verbs = std::move(*settings);
  }
  if (m.ports_size() != 0 && m.ports_size() != m.seat_node_size())
    return bad(fmt::format("RDMA ports of {} ranks", m.ports_size()));
  for (const rpc::RdmaPorts& of_rank : m.ports()) {
    auto ports = ports_of(of_rank.ports());
    if (!ports) return tl::unexpected(ports.error());
    job.ports.push_back(std::move(*ports));
  }
  if (m.memory() > std::uint32_t(engine::Memory::device)) return bad("a kind of memory that there is not");
  job.memory = engine::Memory(m.memory());
  if (m.gpus_size() > most_gpus) return bad(fmt::format("{} GPUs of a node", m.gpus_size()));
  for (const std::uint32_t gpu : m.gpus()) {
    if (gpu >= std::uint32_t(most_gpus)) return bad(fmt::format("a GPU {}", gpu));
    job.gpus.push_back(int(gpu));
  }
  job.share_gpus = m.share_gpus();
  job.gpu_limits = m.gpu_limits();
  if (job.gpu_limits && job.memory != engine::Memory::device)
    return bad("limits of GPUs in the host's memory");
  if (m.reference().size() > 32 || !checks::printable(m.reference()))
    return bad("a reference without a name");
  job.reference = m.reference();
  return job;
}

}  // namespace ringtrue::wire
