// A job and its report <-> protobuf.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "wire/checks.h"
#include "wire/convert.h"

namespace ringtrue::wire {

using checks::bad;
using checks::in_range;
using checks::measure;

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
  return m;
}

namespace {

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
  return job;
}

rpc::RunReport to_wire(const engine::RunReport& report) {
  rpc::RunReport m;
  m.set_transport(report.transport);
  m.set_congestion(report.congestion);
  for (const engine::RankReport& rank : report.ranks) {
    rpc::RankReport* r = m.add_ranks();
    r->set_rank(rank.rank);
    r->set_batch(rank.batch);
    r->mutable_time_s()->Add(rank.time_s.begin(), rank.time_s.end());
    r->set_wrong(rank.wrong);
    r->set_first_wrong(rank.first_wrong);
  }
  m.set_cpu_s(report.cpu_s);
  m.set_strangers(report.strangers);
  for (const trace::Hop& hop : report.trace.hops) {
    rpc::Hop* h = m.add_hops();
    h->set_source(hop.source);
    h->set_destination(hop.destination);
    h->set_receiver(hop.receiver);
    h->set_messages(hop.messages);
    h->set_bytes(hop.bytes.value);
    h->set_busy_s(hop.busy.value);
    if (!hop.tcp) continue;
    rpc::TcpHop* t = h->mutable_tcp();
    t->set_busy_s(hop.tcp->busy.value);
    t->set_rwnd_limited_s(hop.tcp->rwnd_limited.value);
    t->set_sndbuf_limited_s(hop.tcp->sndbuf_limited.value);
    t->set_retransmits(hop.tcp->retransmits);
    t->set_min_rtt_s(hop.tcp->min_rtt.value);
    t->set_delivery_rate_bps(hop.tcp->delivery_rate.value);
  }
  for (const trace::Event& event : report.trace.events) {
    rpc::TraceEvent* e = m.add_events();
    e->set_source(event.source);
    e->set_destination(event.destination);
    e->set_lane(event.lane);
    e->set_sequence(event.sequence);
    e->set_bytes(event.bytes);
    e->set_posted_ns(event.posted);
    e->set_moved_ns(event.moved);
    e->set_done_ns(event.done);
  }
  return m;
}

namespace {

bool is_rank(std::int32_t rank) {
  return in_range(rank, 0, max_ranks - 1);
}

Result<engine::RankReport> rank_of(const rpc::RankReport& m) {
  engine::RankReport rank;
  if (!is_rank(m.rank())) return bad(fmt::format("a report of rank {}", m.rank()));
  if (m.batch() < 1) return bad(fmt::format("a batch of {} calls", m.batch()));
  rank.rank = m.rank();
  rank.batch = m.batch();
  for (double t : m.time_s()) {
    if (!measure(t)) return bad(fmt::format("a time of rank {} that is none", m.rank()));
  }
  rank.time_s.assign(m.time_s().begin(), m.time_s().end());
  rank.wrong = m.wrong();
  rank.first_wrong = m.first_wrong();
  return rank;
}

Result<trace::Hop> hop_of(const rpc::Hop& m) {
  trace::Hop hop;
  if (!is_rank(m.source()) || !is_rank(m.destination()))
    return bad("a hop between ranks that there cannot be");
  if (!measure(m.busy_s())) return bad("a hop with a time that is none");
  hop.source = m.source();
  hop.destination = m.destination();
  hop.receiver = m.receiver();
  hop.messages = m.messages();
  hop.bytes = Bytes(m.bytes());
  hop.busy = Seconds(m.busy_s());
  if (m.has_tcp()) {
    const rpc::TcpHop& t = m.tcp();
    for (double value :
         {t.busy_s(), t.rwnd_limited_s(), t.sndbuf_limited_s(), t.min_rtt_s(), t.delivery_rate_bps()}) {
      if (!measure(value)) return bad("a hop with a number of tcp's that is none");
    }
    hop.tcp = trace::TcpHop{Seconds(t.busy_s()),           Seconds(t.rwnd_limited_s()),
                            Seconds(t.sndbuf_limited_s()), t.retransmits(),
                            Seconds(t.min_rtt_s()),        BytesPerSecond(t.delivery_rate_bps())};
  }
  return hop;
}

Result<trace::Event> event_of(const rpc::TraceEvent& m) {
  if (!is_rank(m.source()) || !is_rank(m.destination()) || m.lane() > 0xffff)
    return bad("an event of ranks that there cannot be");
  return trace::Event{m.source(),   m.destination(), std::uint16_t(m.lane()),
                      m.sequence(), m.bytes(),       m.posted_ns(),
                      m.moved_ns(), m.done_ns()};
}

}  // namespace

Result<engine::RunReport> from_wire(const rpc::RunReport& m) {
  engine::RunReport report;
  report.transport = checks::one_line(m.transport(), 64);
  report.congestion = checks::one_line(m.congestion(), 64);
  if (!measure(m.cpu_s())) return bad("a processor time that is none");
  report.cpu_s = m.cpu_s();
  report.strangers = m.strangers();
  for (const rpc::RankReport& r : m.ranks()) {
    auto rank = rank_of(r);
    if (!rank) return tl::unexpected(rank.error());
    report.ranks.push_back(std::move(*rank));
  }
  for (const rpc::Hop& h : m.hops()) {
    auto hop = hop_of(h);
    if (!hop) return tl::unexpected(hop.error());
    report.trace.hops.push_back(*hop);
  }
  for (const rpc::TraceEvent& e : m.events()) {
    auto event = event_of(e);
    if (!event) return tl::unexpected(event.error());
    report.trace.events.push_back(*event);
  }
  return report;
}

}  // namespace ringtrue::wire
