// Every field of the record of a run, once: its key, what it may hold when it comes from outside, and where
// it is (base/fields.h). Keys end in their unit where they have one. Records go packed to daemons of the
// release before and after this one (wire/versions.h): a new field goes to the end of its table.
#pragma once

#include "base/fields.h"
#include "collective/omnireduce/omnireduce.h"
#include "run/device_event.h"
#include "run/job.h"
#include "run/limits.h"
#include "run/report.h"

namespace ringtrue::collective {

template <class V, Is<Omni>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("workers", range(0, run::max_ranks), workers);
  RINGTRUE_FIELD("aggregators", range(0, run::max_ranks), aggregators);
  RINGTRUE_FIELD("block", range(1, run::max_block), block);
  RINGTRUE_FIELD("streams", range(1, max_streams), streams);
  RINGTRUE_FIELD("fusion", range(1, max_fusion), fusion);
  RINGTRUE_FIELD("acked", {}, acked);
  RINGTRUE_FIELD("pairs", range(0, max_pairs), pairs);
  RINGTRUE_FIELD("key_bytes", range(4, 8), key_bytes);
}

template <class V, Is<Sparsity>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("density", range(0, 1), density);
  RINGTRUE_FIELD("value_density", range(0, 1), value_density);
  RINGTRUE_FIELD("overlap", {}, overlap);
  RINGTRUE_FIELD("block", range(1, run::max_block), block);
}

template <class V, Is<PacketCounts>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("packets", {}, packets);
  RINGTRUE_FIELD("blocks", {}, blocks);
  RINGTRUE_FIELD("multicasts", {}, multicasts);
  RINGTRUE_FIELD("resent", {}, resent);
  RINGTRUE_FIELD("dropped", {}, dropped);
  RINGTRUE_FIELD("pairs", {}, pairs);
}

}  // namespace ringtrue::collective

namespace ringtrue::run {

constexpr About a_rank = range(0, max_ranks - 1);
constexpr About a_node = line(256);
constexpr About a_reason = line(1'000);

// ---- what is asked for

template <class V, Is<Seat>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("node", range(0, max_nodes - 1), node);
  RINGTRUE_FIELD("process", range(0, max_processes - 1), process);
  RINGTRUE_FIELD("local", range(0, max_ranks - 1), local);
}

// The keys are those of [verbs] in the configuration and, with dashes, of the flags (run/rdma.h).
template <class V, Is<RdmaSettings>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("rdma_ports", at_most(max_rdma_ports), ports);
  RINGTRUE_FIELD("gid_index", range(-1, 255), gid_index);
  RINGTRUE_FIELD("pkey_index", range(0, 65'535), pkey_index);
  RINGTRUE_FIELD("path_mtu", range(0, 4096), mtu);
  RINGTRUE_FIELD("ib_timeout", range(1, 31), timeout);
  RINGTRUE_FIELD("retry_count", range(0, 7), retry_count);
  RINGTRUE_FIELD("rnr_retry", range(0, 7), rnr_retry);
  RINGTRUE_FIELD("traffic_class", range(0, 255), traffic_class);
  RINGTRUE_FIELD("service_level", range(0, 15), service_level);
  RINGTRUE_FIELD("queue_pairs", range(1, max_queue_pairs), queue_pairs);
  RINGTRUE_FIELD("adaptive_routing_threshold", {}, adaptive_routing_threshold);
  RINGTRUE_FIELD("relaxed_ordering", {}, relaxed_ordering);
  RINGTRUE_FIELD("rdma_memory", {}, registration);
  RINGTRUE_FIELD("slot_bytes", range(min_slot_bytes, max_slot_bytes), slot_bytes);
  RINGTRUE_FIELD("slots", range(min_slots, max_slots), slots);
}

// Without `input`, which is no part of the record. What fields may hold together: check(const Job&).
template <class V, Is<Job>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("algorithm", {}, algorithm);
  RINGTRUE_FIELD("nodes", at_most(max_nodes, proper_name(255)), nodes);
  RINGTRUE_FIELD("seats", at_most(max_ranks), seats);
  RINGTRUE_FIELD("elements", {}, call.elements);
  RINGTRUE_FIELD("type", {}, call.type);
  RINGTRUE_FIELD("operation", {}, call.operation);
  RINGTRUE_FIELD("slice_bytes", range(8, max_call_bytes), call.slice_bytes);
  RINGTRUE_FIELD("lanes", range(1, 64), call.lanes);
  RINGTRUE_FIELD("shift", range(-max_ranks, max_ranks), call.shift);
  RINGTRUE_FIELD("omni", {}, call.omni);
  RINGTRUE_FIELD("transport", {}, transport);
  RINGTRUE_FIELD("iterations", range(0, 10'000'000), iterations);
  RINGTRUE_FIELD("warmup", range(0, 10'000'000), warmup);
  RINGTRUE_FIELD("check", {}, check);
  RINGTRUE_FIELD("events", {}, events);
  RINGTRUE_FIELD("fault", text_of(About::Text::free, 65'536), fault);
  RINGTRUE_FIELD("seed", {}, seed);
  RINGTRUE_FIELD("sparsity", {}, sparsity);
  RINGTRUE_FIELD("mtu", range(576, 65'535), mtu);
  RINGTRUE_FIELD("verbs", {}, verbs);
  RINGTRUE_FIELD("ports", at_most(max_ranks), ports);
  RINGTRUE_FIELD("memory", {}, memory);
  RINGTRUE_FIELD("gpus", at_most(1024, range(0, 1023)), gpus);
  RINGTRUE_FIELD("share_gpus", {}, share_gpus);
  RINGTRUE_FIELD("gpu_limits", {}, gpu_limits);
  RINGTRUE_FIELD("reference", word(32), reference);
  RINGTRUE_FIELD("trace", {}, trace);
  RINGTRUE_FIELD("reach", {}, reach);
  RINGTRUE_FIELD("run", {}, run);
}

// ---- what was seen

template <class V, Is<RankReport>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("rank", a_rank, rank);
  RINGTRUE_FIELD("batch", range(1, About::endless), batch);
  RINGTRUE_FIELD("time_s", measured, time_s);
  RINGTRUE_FIELD("wrong", {}, wrong);
  RINGTRUE_FIELD("first_wrong", {}, first_wrong);
  RINGTRUE_FIELD("counts", {}, counts);
}

// Of a hop's lanes, which work side by side, the times of the busiest count.

template <class V, Is<TcpHop>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("busy_s", measured, busy);
  RINGTRUE_FIELD("rwnd_limited_s", measured, rwnd_limited);
  RINGTRUE_FIELD("sndbuf_limited_s", measured, sndbuf_limited);
  RINGTRUE_FIELD("retransmits", joined(About::Join::sum), retransmits);
  RINGTRUE_FIELD("min_rtt_s", joined(About::Join::least, measured), min_rtt);
  RINGTRUE_FIELD("delivery_rate_Bps", joined(About::Join::sum, measured), delivery_rate);
}

template <class V, Is<RdmaRail>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("port", {}, port);
  RINGTRUE_FIELD("bytes", joined(About::Join::sum), bytes);
  RINGTRUE_FIELD("busy_s", measured, busy);
}

template <class V, Is<RdmaHop>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("busy_s", measured, busy);
  RINGTRUE_FIELD("credit_limited_s", measured, credit_limited);
  RINGTRUE_FIELD("queue_limited_s", measured, queue_limited);
  RINGTRUE_FIELD("writes", joined(About::Join::sum), writes);
  RINGTRUE_FIELD("rails", at_most(max_rdma_ports), rails);
  RINGTRUE_FIELD("min_rtt_s", joined(About::Join::least, measured), min_rtt);
}

template <class V, Is<Hop>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("source", a_rank, source);
  RINGTRUE_FIELD("destination", a_rank, destination);
  RINGTRUE_FIELD("receiver", {}, receiver);
  RINGTRUE_FIELD("messages", {}, messages);
  RINGTRUE_FIELD("bytes", {}, bytes);
  RINGTRUE_FIELD("busy_s", measured, busy);
  RINGTRUE_FIELD("tcp", {}, tcp);
  RINGTRUE_FIELD("rdma", {}, rdma);
}

template <class V, Is<Event>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("source", a_rank, source);
  RINGTRUE_FIELD("destination", a_rank, destination);
  RINGTRUE_FIELD("lane", {}, lane);
  RINGTRUE_FIELD("sequence", {}, sequence);
  RINGTRUE_FIELD("bytes", {}, bytes);
  RINGTRUE_FIELD("posted_ns", {}, posted);
  RINGTRUE_FIELD("moved_ns", {}, moved);
  RINGTRUE_FIELD("done_ns", {}, done);
}

template <class V, Is<RdmaUse>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("node", a_node, node);
  RINGTRUE_FIELD("ports", at_most(256), ports);
  RINGTRUE_FIELD("gid", line(64), gid);
  RINGTRUE_FIELD("path_mtu", range(0, 65'535), mtu);
  RINGTRUE_FIELD("memory", line(64), memory);
}

template <class V, Is<GpuUse>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("node", a_node, node);
  RINGTRUE_FIELD("gpu", range(0, 65'535), index);
  RINGTRUE_FIELD("name", line(128), name);
  RINGTRUE_FIELD("uuid", line(128), uuid);
  RINGTRUE_FIELD("ranks", at_most(max_ranks, a_rank), ranks);
  RINGTRUE_FIELD("play", {}, play);
  RINGTRUE_FIELD("ways", at_most(16), ways);
}

template <class V, Is<GpuLimit::End>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("gpu", range(-1, 65'535), index);
  RINGTRUE_FIELD("uuid", line(128), uuid);
  RINGTRUE_FIELD("pci", line(64), pci);
}

template <class V, Is<GpuLimit>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("node", a_node, node);
  RINGTRUE_FIELD("kind", {}, kind);
  RINGTRUE_FIELD("gpu", {}, gpu);
  RINGTRUE_FIELD("peer", {}, peer);
  RINGTRUE_FIELD("host", {}, host);
  RINGTRUE_FIELD("numa", range(-1, 65'535), numa);
  RINGTRUE_FIELD("rate_Bps", measured, rate);
  RINGTRUE_FIELD("latency_s", measured, latency);
  RINGTRUE_FIELD("why_not", a_reason, why_not);
}

template <class V, Is<Reference>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("library", line(64), library);
  RINGTRUE_FIELD("how", line(64), how);
  RINGTRUE_FIELD("time_s", measured, time_s);
  RINGTRUE_FIELD("wrong", {}, wrong);
  RINGTRUE_FIELD("why_not", a_reason, why_not);
}

template <class V, Is<Way>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("source", a_rank, source);
  RINGTRUE_FIELD("destination", a_rank, destination);
  RINGTRUE_FIELD("known", {}, known);
  RINGTRUE_FIELD("routers", at_most(64, line(64)), routers);
}

template <class V, Is<Reach>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("self", a_rank, self);
  RINGTRUE_FIELD("peer", a_rank, peer);
  RINGTRUE_FIELD("called", {}, called);
  RINGTRUE_FIELD("taken", {}, taken);
  RINGTRUE_FIELD("knocked", {}, knocked);
  RINGTRUE_FIELD("why", a_reason, why);
  RINGTRUE_FIELD("address", line(320), address);
  RINGTRUE_FIELD("packet", range(0, 1 << 20), packet);
  RINGTRUE_FIELD("acknowledged", {}, acknowledged);
  RINGTRUE_FIELD("datagrams", {}, datagrams);
  RINGTRUE_FIELD("long_taken", {}, long_taken);
}

template <class V, Is<Network>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("node", a_node, node);
  RINGTRUE_FIELD("interface", line(64), interface);
  RINGTRUE_FIELD("address", line(64), address);
  RINGTRUE_FIELD("mtu", range(0, 1 << 20), mtu);
  RINGTRUE_FIELD("path_mtu", range(0, 1 << 20), path_mtu);
  RINGTRUE_FIELD("rate_Bps", measured, rate);
  RINGTRUE_FIELD("faster", line(64), faster);
  RINGTRUE_FIELD("faster_rate_Bps", measured, faster_rate);
  RINGTRUE_FIELD("receive_buffer_bytes", {}, receive_buffer);
}

template <class V, Is<Remark>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("kind", {}, kind);
  RINGTRUE_FIELD("node", a_node, node);
  RINGTRUE_FIELD("peer", a_node, peer);
  RINGTRUE_FIELD("why", a_reason, why);
}

template <class V, Is<CounterSet>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("device", line(128), device);
  RINGTRUE_FIELD("values", {}, values);
  RINGTRUE_FIELD("widths", {}, widths);
}

template <class V, Is<CounterChange>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("device", line(128), device);
  RINGTRUE_FIELD("counter", line(128), counter);
  RINGTRUE_FIELD("before", {}, before);
  RINGTRUE_FIELD("after", {}, after);
  RINGTRUE_FIELD("saturated", {}, saturated);
  RINGTRUE_FIELD("reset", {}, reset);
}

template <class V, Is<CounterWindow>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("seconds", measured, seconds);
  RINGTRUE_FIELD("changes", at_most(4096), changes);
}

// Without `notes`, which merge() makes of the remarks.
template <class V, Is<RunReport>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("transports", at_most(16), transports);
  RINGTRUE_FIELD("congestion", line(64), congestion);
  RINGTRUE_FIELD("ranks", at_most(max_ranks), ranks);
  RINGTRUE_FIELD("cpu_s", measured, cpu_s);
  RINGTRUE_FIELD("rejected_connections", {}, rejected_connections);
  RINGTRUE_FIELD("hops", {}, trace.hops);
  RINGTRUE_FIELD("events", {}, trace.events);
  RINGTRUE_FIELD("rdma", at_most(65'536), rdma);
  RINGTRUE_FIELD("gpus", at_most(65'536), gpus);
  RINGTRUE_FIELD("gpu_limits", at_most(65'536), gpu_limits);
  RINGTRUE_FIELD("reference", {}, reference);
  RINGTRUE_FIELD("ways", at_most(65'536), ways);
  RINGTRUE_FIELD("reaches", at_most(65'536), reaches);
  RINGTRUE_FIELD("networks", at_most(65'536), networks);
  RINGTRUE_FIELD("remarks", at_most(65'536), remarks);
  RINGTRUE_FIELD("counters", at_most(max_nodes, a_node), counters);
}

// ---- what a daemon saw while nobody measured

template <class V, Is<DeviceEvent>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("first", range(0, 1e12), first);
  RINGTRUE_FIELD("last", range(0, 1e12), last);
  RINGTRUE_FIELD("device", proper_name(128), device);
  RINGTRUE_FIELD("counter", proper_name(128), counter);
  RINGTRUE_FIELD("count", {}, count);
}

template <class V, Is<DeviceEvents>... X>
void fields(V&& v, X&... x) {
  RINGTRUE_FIELD("now", range(0, 1e12), now);
  RINGTRUE_FIELD("watched", range(0, 1e12), watched);
  RINGTRUE_FIELD("cut", {}, cut);
  RINGTRUE_FIELD("events", at_most(max_device_events), events);
}

}  // namespace ringtrue::run
