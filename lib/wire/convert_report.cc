// The report of a run <-> protobuf.
#include <fmt/format.h>

#include <utility>

#include "wire/checks.h"
#include "wire/convert.h"

namespace ringtrue::wire {

using checks::bad;
using checks::in_range;
using checks::measure;

namespace {

constexpr std::size_t longest_reason = 1'000;
constexpr int most_rails = 64;

}  // namespace

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
    if (rank.counts == collective::PacketCounts{}) continue;
    rpc::PacketCounts& c = *r->mutable_counts();
    c.set_packets(rank.counts.packets);
    c.set_blocks(rank.counts.blocks);
    c.set_multicasts(rank.counts.multicasts);
    c.set_resent(rank.counts.resent);
    c.set_dropped(rank.counts.dropped);
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
    if (hop.rdma) {
      rpc::RdmaHop* r = h->mutable_rdma();
      r->set_busy_s(hop.rdma->busy.value);
      r->set_credit_limited_s(hop.rdma->credit_limited.value);
      r->set_queue_limited_s(hop.rdma->queue_limited.value);
      r->set_writes(hop.rdma->writes);
      for (const trace::RdmaRail& rail : hop.rdma->rails) {
        rpc::RdmaRail* part = r->add_rails();
        part->set_port(rail.port);
        part->set_bytes(rail.bytes.value);
        part->set_busy_s(rail.busy.value);
      }
    }
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
  for (const auto& [node, window] : report.counters) {
    rpc::CounterWindow* w = m.add_counters();
    w->set_node(node);
    w->set_seconds(window.seconds);
    for (const topology::CounterChange& change : window.changes) {
      rpc::CounterChange* c = w->add_changes();
      c->set_device(change.device);
      c->set_counter(change.counter);
      c->set_before(change.before);
      c->set_after(change.after);
      c->set_saturated(change.saturated);
      c->set_reset(change.reset);
    }
  }
  for (const engine::RdmaUse& use : report.rdma) {
    rpc::RdmaUse* u = m.add_rdma();
    u->set_node(use.node);
    for (const std::string& port : use.ports) u->add_ports(port);
    u->set_gid(use.gid);
    u->set_mtu(use.mtu);
    u->set_memory(use.memory);
  }
  for (const engine::GpuUse& use : report.gpus) {
    rpc::GpuUse* u = m.add_gpus();
    u->set_node(use.node);
    u->set_index(std::uint32_t(use.index));
    u->set_name(use.name);
    u->set_uuid(use.uuid);
    u->mutable_ranks()->Add(use.ranks.begin(), use.ranks.end());
    u->set_play(use.play);
    for (const std::string& way : use.ways) u->add_ways(way);
  }
  const auto put_end = [](const trace::GpuLimit::End& end, rpc::GpuEnd& to) {
    to.set_index(end.index);
    to.set_uuid(end.uuid);
    to.set_pci(end.pci);
  };
  for (const trace::GpuLimit& limit : report.gpu_limits) {
    rpc::GpuLimit* l = m.add_gpu_limits();
    l->set_node(limit.node);
    l->set_kind(limit.kind);
    put_end(limit.gpu, *l->mutable_gpu());
    if (limit.peer.index >= 0) put_end(limit.peer, *l->mutable_peer());
    l->set_host(limit.host);
    l->set_numa(limit.numa);
    if (limit.rate) l->set_rate_bps(limit.rate->value);
    if (limit.latency) l->set_latency_s(limit.latency->value);
    l->set_why_not(checks::one_line(limit.why_not, longest_reason));
  }
  if (report.reference) {
    rpc::Reference& r = *m.mutable_reference();
    r.set_library(report.reference->library);
    r.set_how(report.reference->how);
    r.mutable_time_s()->Add(report.reference->time_s.begin(), report.reference->time_s.end());
    r.set_wrong(report.reference->wrong);
    r.set_why_not(checks::one_line(report.reference->why_not, longest_reason));
  }
  for (const engine::Remark& remark : report.remarks) {
    rpc::Remark* r = m.add_remarks();
    r->set_kind(std::uint32_t(remark.kind));
    r->set_node(remark.node);
    r->set_peer(remark.peer);
    r->set_why(checks::one_line(remark.why, longest_reason));
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
  const rpc::PacketCounts& c = m.counts();
  rank.counts = {c.packets(), c.blocks(), c.multicasts(), c.resent(), c.dropped()};
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
  if (m.has_rdma()) {
    const rpc::RdmaHop& r = m.rdma();
    for (double value : {r.busy_s(), r.credit_limited_s(), r.queue_limited_s()})
      if (!measure(value)) return bad("a hop with a number of RDMA's that is none");
    hop.rdma = trace::RdmaHop{Seconds(r.busy_s()), Seconds(r.credit_limited_s()),
                              Seconds(r.queue_limited_s()), r.writes()};
    if (r.rails_size() > most_rails) return bad("a hop through more ports than a node has");
    for (const rpc::RdmaRail& rail : r.rails()) {
      if (!measure(rail.busy_s())) return bad("a rail with a number that is none");
      hop.rdma->rails.push_back(
          {checks::one_line(rail.port(), 128), Bytes(rail.bytes()), Seconds(rail.busy_s())});
    }
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

constexpr int most_changes = 4096;  // of one node

Result<topology::CounterWindow> window_of(const rpc::CounterWindow& m) {
  if (!measure(m.seconds())) return bad("counters over a time that is none");
  if (m.changes_size() > most_changes) return bad(fmt::format("{} changed counters", m.changes_size()));
  topology::CounterWindow window;
  window.seconds = m.seconds();
  for (const rpc::CounterChange& c : m.changes())
    window.changes.push_back({checks::one_line(c.device(), 128), checks::one_line(c.counter(), 128),
                              c.before(), c.after(), c.saturated(), c.reset()});
  return window;
}

constexpr int most_rdma_ports = 256, most_rdma_uses = max_processes, most_remarks = 65'536;

Result<engine::RdmaUse> use_of(const rpc::RdmaUse& m) {
  if (m.ports_size() > most_rdma_ports) return bad(fmt::format("{} RDMA ports", m.ports_size()));
  if (!in_range(m.mtu(), 0, 65'535)) return bad(fmt::format("a path MTU of {}", m.mtu()));
  engine::RdmaUse use{checks::one_line(m.node(), 256),
                      {},
                      checks::one_line(m.gid(), 64),
                      m.mtu(),
                      checks::one_line(m.memory(), 64)};
  for (const std::string& port : m.ports()) use.ports.push_back(checks::one_line(port, 128));
  return use;
}

constexpr int most_gpu_uses = 65'536, most_ways = 16;

Result<engine::GpuUse> use_of(const rpc::GpuUse& m) {
  if (!in_range(m.index(), 0, 65'535)) return bad(fmt::format("a GPU {}", m.index()));
  if (m.ranks_size() > max_ranks || m.ways_size() > most_ways)
    return bad(fmt::format("a GPU of {} ranks and {} ways", m.ranks_size(), m.ways_size()));
  engine::GpuUse use{checks::one_line(m.node(), 256),
                     int(m.index()),
                     checks::one_line(m.name(), 128),
                     checks::one_line(m.uuid(), 128),
                     {},
                     checks::one_line(m.play(), 64),
                     {}};
  for (const std::int32_t rank : m.ranks()) {
    if (!is_rank(rank)) return bad(fmt::format("a GPU of rank {}", rank));
    use.ranks.push_back(rank);
  }
  for (const std::string& way : m.ways()) use.ways.push_back(checks::one_line(way, 64));
  return use;
}

constexpr int most_limits = 65'536;

Result<trace::GpuLimit> limit_of(const rpc::GpuLimit& m) {
  const auto end_of = [](const rpc::GpuEnd& end) {
    return trace::GpuLimit::End{end.index(), checks::one_line(end.uuid(), 128),
                                checks::one_line(end.pci(), 64)};
  };
  trace::GpuLimit limit;
  limit.node = checks::one_line(m.node(), 256);
  limit.kind = checks::one_line(m.kind(), 64);
  limit.gpu = end_of(m.gpu());
  if (m.has_peer()) limit.peer = end_of(m.peer());
  for (const auto* end : {&limit.gpu, &limit.peer})
    if (!in_range(end->index, end == &limit.gpu ? 0 : -1, 65'535))
      return bad(fmt::format("a GPU {}", end->index));
  limit.host = checks::one_line(m.host(), 32);
  limit.numa = m.numa();
  if (!in_range(limit.numa, -1, 65'535)) return bad(fmt::format("a NUMA node {}", limit.numa));
  if (!measure(m.rate_bps()) || !measure(m.latency_s())) return bad("a GPU's limit that is none");
  if (m.has_rate_bps()) limit.rate = BytesPerSecond(m.rate_bps());
  if (m.has_latency_s()) limit.latency = Seconds(m.latency_s());
  limit.why_not = checks::one_line(m.why_not(), longest_reason);
  return limit;
}

Result<engine::Reference> reference_of(const rpc::Reference& m) {
  engine::Reference reference{checks::one_line(m.library(), 64),
                              checks::one_line(m.how(), 64),
                              {m.time_s().begin(), m.time_s().end()},
                              m.wrong(),
                              checks::one_line(m.why_not(), longest_reason)};
  for (const double t : reference.time_s)
    if (!measure(t)) return bad("a reference's time that is none");
  return reference;
}

Result<engine::Remark> remark_of(const rpc::Remark& m) {
  if (m.kind() > std::uint32_t(engine::Remark::Kind::no_effect)) return bad("a remark of an unknown kind");
  return engine::Remark{engine::Remark::Kind(m.kind()), checks::one_line(m.node(), 256),
                        checks::one_line(m.peer(), 256), checks::one_line(m.why(), longest_reason)};
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
  for (const rpc::CounterWindow& w : m.counters()) {
    auto window = window_of(w);
    if (!window) return tl::unexpected(window.error());
    report.counters[checks::one_line(w.node(), 256)] = std::move(*window);
  }
  if (m.rdma_size() > most_rdma_uses || m.remarks_size() > most_remarks)
    return bad(fmt::format("{} users of RDMA and {} remarks", m.rdma_size(), m.remarks_size()));
  for (const rpc::RdmaUse& u : m.rdma()) {
    auto use = use_of(u);
    if (!use) return tl::unexpected(use.error());
    report.rdma.push_back(std::move(*use));
  }
  if (m.gpus_size() > most_gpu_uses) return bad(fmt::format("{} users of GPUs", m.gpus_size()));
  for (const rpc::GpuUse& u : m.gpus()) {
    auto use = use_of(u);
    if (!use) return tl::unexpected(use.error());
    report.gpus.push_back(std::move(*use));
  }
  if (m.gpu_limits_size() > most_limits) return bad(fmt::format("{} limits of GPUs", m.gpu_limits_size()));
  for (const rpc::GpuLimit& l : m.gpu_limits()) {
    auto limit = limit_of(l);
    if (!limit) return tl::unexpected(limit.error());
    report.gpu_limits.push_back(std::move(*limit));
  }
  if (m.has_reference()) {
    auto reference = reference_of(m.reference());
    if (!reference) return tl::unexpected(reference.error());
    report.reference = std::move(*reference);
  }
  for (const rpc::Remark& r : m.remarks()) {
    auto remark = remark_of(r);
    if (!remark) return tl::unexpected(remark.error());
    report.remarks.push_back(std::move(*remark));
  }
  return report;
}

}  // namespace ringtrue::wire
