#include "wire/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "run/job.h"
#include "run/member.h"
#include "run/rdma.h"
#include "run/report.h"

namespace ringtrue::wire {
namespace {

run::Job some_job() {
  run::Job job;
  job.algorithm = collective::AlgorithmId::double_tree;
  job.nodes = {"node0", "node1", "node2"};
  job.seats = {{2, 0, 0}, {0, 1, 1}, {0, 0, 0}};
  job.call.elements = 12'345;
  job.call.type = collective::Type::bfloat16;
  job.call.operation = collective::Operation::avg;
  job.call.slice_bytes = 4096;
  job.call.lanes = 3;
  job.call.shift = -2;
  job.transport = run::Transport::tcp;
  job.iterations = 7;
  job.warmup = 0;
  job.check = false;
  job.events = true;
  job.fault = "delay@1>2:time=20ms";
  job.seed = 0xfeedfacecafebeefull;
  job.verbs.ports = {{"mlx5_0", 1}, {"rxe0", 2}};
  job.verbs.gid_index = 3;
  job.verbs.pkey_index = 2;
  job.verbs.mtu = 2048;
  job.verbs.timeout = 19;
  job.verbs.retry_count = 6;
  job.verbs.rnr_retry = 5;
  job.verbs.traffic_class = 104;
  job.verbs.service_level = 4;
  job.verbs.queue_pairs = 2;
  job.verbs.adaptive_routing_threshold = 8192;
  job.verbs.relaxed_ordering = false;
  job.verbs.registration = run::Registration::staged;
  job.verbs.slot_bytes = 65'536;
  job.verbs.slots = 16;
  job.ports = {{{"mlx5_1", 1}}, {}, {{"mlx5_2", 2}, {"mlx5_3", 1}}};
  return job;
}

// An omnireduce on the operator's own data, a row for each of two workers.
run::Job some_omnireduce() {
  run::Job job = some_job();
  job.algorithm = collective::AlgorithmId::omnireduce;
  job.call.elements = 3;
  job.call.omni = {2, 1, 128, 12, 4, true, 100, 8};
  job.sparsity = {0.125, 0.5, collective::Overlap::disjoint, 128};
  auto input = std::make_shared<run::Input>();
  input->type = job.call.type;
  input->elements = 3;
  for (const int value : {1, 2}) input->rows.emplace_back(6, std::byte(value));
  job.input = input;
  job.mtu = 9000;
  return job;
}

run::RunReport some_report() {
  run::RunReport report;
  report.transports = {run::Transport::shm, run::Transport::tcp};
  report.congestion = "cubic";
  report.ranks = {{3, 2, {0.25, 0.5}, 4, 17, {1, 2, 3, 4, 5, 6}}, {1, 1, {}, 0, 0, {}}};
  report.cpu_s = 1.5;
  report.rejected_connections = 9;
  run::Hop plain{0, 1, true, 5, Bytes(640), Seconds(0.125), std::nullopt, std::nullopt};
  run::Hop tcp = plain;
  tcp.tcp = run::TcpHop{Seconds(1), Seconds(2), Seconds(3), 4, Seconds(5), BytesPerSecond(6)};
  run::Hop rdma = plain;
  rdma.rdma = run::RdmaHop{Seconds(1), Seconds(2), Seconds(3), 4};
  rdma.rdma->rails = {{{"mlx5_1", 1}, Bytes(5), Seconds(6)}};
  report.trace.hops = {plain, tcp, rdma};
  report.rdma = {{"node3", {{"mlx5_0", 1}, {"mlx5_1", 1}}, "10.1.0.7", 4096, "host"}};
  report.remarks = {{run::Remark::Kind::over_tcp, "node1", "node2", "one has InfiniBand"},
                    {run::Remark::Kind::staged, "node1", "", "memlock"}};
  report.trace.events = {{0, 1, 0xffff, 7, 8, -9, 10, 11}};
  report.counters["node3"] = {
      2.5, {{"mlx5_0/1", "symbol_error", 5, 417, true, false}, {"eth0", "rx_bytes", 9, 3, false, true}}};
  return report;
}

template <class Message>
Message sent(const Message& message) {
  Message received;
  EXPECT_TRUE(received.ParseFromString(message.SerializeAsString()));
  return received;
}

TEST(Convert, JobKeepsEverything) {
  const run::Job job = some_job();
  const auto back = from_wire(sent(to_wire(job)));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->algorithm, job.algorithm);
  EXPECT_EQ(back->nodes, job.nodes);
  EXPECT_EQ(back->seats, job.seats);
  EXPECT_EQ(back->call.elements, job.call.elements);
  EXPECT_EQ(back->call.type, job.call.type);
  EXPECT_EQ(back->call.operation, job.call.operation);
  EXPECT_EQ(back->call.slice_bytes, job.call.slice_bytes);
  EXPECT_EQ(back->call.lanes, job.call.lanes);
  EXPECT_EQ(back->call.shift, job.call.shift);
  EXPECT_EQ(back->transport, job.transport);
  EXPECT_EQ(back->iterations, job.iterations);
  EXPECT_EQ(back->warmup, job.warmup);
  EXPECT_EQ(back->check, job.check);
  EXPECT_EQ(back->events, job.events);
  EXPECT_EQ(back->fault, job.fault);
  EXPECT_EQ(back->seed, job.seed);
  EXPECT_EQ(back->verbs, job.verbs);
  EXPECT_EQ(back->ports, job.ports);
}

TEST(Convert, WhatIsAboutGpusIsKept) {
  run::Job job = some_job();
  job.memory = run::Memory::device;
  job.gpus = {2, 0};
  job.share_gpus = job.gpu_limits = true;
  job.reference = "nccl";
  const auto job_back = from_wire(sent(to_wire(job)));
  ASSERT_TRUE(job_back) << job_back.error().text();
  EXPECT_EQ(job_back->memory, job.memory);
  EXPECT_EQ(job_back->gpus, job.gpus);
  EXPECT_TRUE(job_back->share_gpus && job_back->gpu_limits);
  EXPECT_EQ(job_back->reference, "nccl");

  run::RunReport report = some_report();
  report.gpus = {
      {"node1", 3, "H100", "GPU-3", {1, 2}, run::GpuPlay::kernel, {run::GpuWay::ipc, run::GpuWay::peer}}};
  report.gpu_limits = {{"node1",
                        run::GpuLimit::Kind::peer_copy,
                        {0, "GPU-0", "0000:1b:00.0"},
                        {1, "GPU-1", ""},
                        {},
                        -1,
                        BytesPerSecond(5),
                        Seconds(0.5),
                        ""},
                       {"node1",
                        run::GpuLimit::Kind::to_device,
                        {0, "GPU-0", ""},
                        {},
                        run::GpuLimit::Host::pinned,
                        1,
                        {},
                        {},
                        "no memory"}};
  report.reference = run::Reference{"NCCL 2.28.9", "RING, LL", {0.25}, 7, ""};
  const auto back = from_wire(sent(to_wire(report)));
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_EQ(back->gpus.size(), 1u);
  EXPECT_EQ(back->gpus[0].index, 3);
  EXPECT_EQ(back->gpus[0].ranks, (std::vector<collective::Rank>{1, 2}));
  EXPECT_EQ(back->gpus[0].ways, (std::vector{run::GpuWay::ipc, run::GpuWay::peer}));
  ASSERT_EQ(back->gpu_limits.size(), 2u);
  EXPECT_EQ(back->gpu_limits[0].peer.uuid, "GPU-1");
  EXPECT_EQ(back->gpu_limits[0].rate, BytesPerSecond(5));
  EXPECT_EQ(back->gpu_limits[0].latency, Seconds(0.5));
  EXPECT_EQ(back->gpu_limits[1].peer.index, -1);
  EXPECT_EQ(back->gpu_limits[1].numa, 1);
  EXPECT_FALSE(back->gpu_limits[1].rate);
  EXPECT_EQ(back->gpu_limits[1].why_not, "no memory");
  ASSERT_TRUE(back->reference);
  EXPECT_EQ(back->reference->how, "RING, LL");
  EXPECT_EQ(back->reference->wrong, 7u);
}

TEST(Convert, JobKeepsWhatAnOmnireduceNeeds) {
  const run::Job job = some_omnireduce();
  const auto back = from_wire(sent(to_wire(job)));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->call.omni, job.call.omni);
  EXPECT_EQ(back->workers(), 2);
  EXPECT_EQ(back->sparsity, job.sparsity);
  EXPECT_EQ(back->mtu, 9000);
  ASSERT_TRUE(back->input);
  EXPECT_EQ(back->input->type, job.input->type);
  EXPECT_EQ(back->input->elements, 3u);
  EXPECT_EQ(back->input->rows, job.input->rows);
  EXPECT_TRUE(sendable(job));
}

TEST(Convert, JobWithoutThemIsDenseAndGenerated) {
  const auto back = from_wire(to_wire(some_job()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(back->sparsity.dense());
  EXPECT_FALSE(back->input);
  EXPECT_EQ(back->call.omni.workers, 0);
  EXPECT_EQ(back->workers(), back->ranks());
  EXPECT_EQ(back->mtu, 1500);
}

TEST(Convert, AnInputThatFitsNoMessageIsRefusedBeforeItIsSent) {
  run::Job job = some_job();
  auto input = std::make_shared<run::Input>();
  input->rows.resize(2);
  for (auto& row : input->rows) row.resize(max_input_bytes / 2);
  job.input = input;
  EXPECT_TRUE(sendable(job));
  input->rows[1].resize(max_input_bytes / 2 + 1);
  const auto refused = sendable(job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cause, Cause::bad_input);
  EXPECT_NE(refused.error().next.find("--local"), std::string::npos);
}

TEST(Convert, ReportKeepsEverything) {
  const run::RunReport report = some_report();
  const auto back = from_wire(sent(to_wire(report)));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->transports, report.transports);
  EXPECT_EQ(back->congestion, report.congestion);
  EXPECT_EQ(back->cpu_s, report.cpu_s);
  EXPECT_EQ(back->rejected_connections, report.rejected_connections);
  EXPECT_EQ(back->counters, report.counters);
  ASSERT_EQ(back->ranks.size(), 2u);
  EXPECT_EQ(back->ranks[0].rank, 3);
  EXPECT_EQ(back->ranks[0].batch, 2);
  EXPECT_EQ(back->ranks[0].time_s, report.ranks[0].time_s);
  EXPECT_EQ(back->ranks[0].wrong, 4u);
  EXPECT_EQ(back->ranks[0].first_wrong, 17u);
  EXPECT_EQ(back->ranks[0].counts, (collective::PacketCounts{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(back->ranks[1].counts, collective::PacketCounts{});
  ASSERT_EQ(back->trace.hops.size(), 3u);
  EXPECT_FALSE(back->trace.hops[1].rdma);
  ASSERT_TRUE(back->trace.hops[2].rdma);
  EXPECT_EQ(back->trace.hops[2].rdma->busy, Seconds(1));
  EXPECT_EQ(back->trace.hops[2].rdma->credit_limited, Seconds(2));
  EXPECT_EQ(back->trace.hops[2].rdma->queue_limited, Seconds(3));
  ASSERT_EQ(back->trace.hops[2].rdma->rails.size(), 1u);
  EXPECT_EQ(back->trace.hops[2].rdma->rails[0].port, (run::RdmaPort{"mlx5_1", 1}));
  EXPECT_EQ(back->trace.hops[2].rdma->rails[0].bytes, Bytes(5));
  EXPECT_EQ(back->trace.hops[2].rdma->rails[0].busy, Seconds(6));
  EXPECT_EQ(back->trace.hops[2].rdma->writes, 4u);
  EXPECT_EQ(back->remarks, report.remarks);
  ASSERT_EQ(back->rdma.size(), 1u);
  EXPECT_EQ(back->rdma[0].node, "node3");
  EXPECT_EQ(back->rdma[0].ports, report.rdma[0].ports);
  EXPECT_EQ(back->rdma[0].gid, "10.1.0.7");
  EXPECT_EQ(back->rdma[0].mtu, 4096);
  EXPECT_EQ(back->rdma[0].memory, "host");
  EXPECT_FALSE(back->trace.hops[0].tcp);
  EXPECT_TRUE(back->trace.hops[0].receiver);
  EXPECT_EQ(back->trace.hops[0].messages, 5u);
  EXPECT_EQ(back->trace.hops[0].bytes, Bytes(640));
  EXPECT_EQ(back->trace.hops[0].busy, Seconds(0.125));
  ASSERT_TRUE(back->trace.hops[1].tcp);
  EXPECT_EQ(back->trace.hops[1].tcp->busy, Seconds(1));
  EXPECT_EQ(back->trace.hops[1].tcp->rwnd_limited, Seconds(2));
  EXPECT_EQ(back->trace.hops[1].tcp->sndbuf_limited, Seconds(3));
  EXPECT_EQ(back->trace.hops[1].tcp->retransmits, 4u);
  EXPECT_EQ(back->trace.hops[1].tcp->min_rtt, Seconds(5));
  EXPECT_EQ(back->trace.hops[1].tcp->delivery_rate, BytesPerSecond(6));
  ASSERT_EQ(back->trace.events.size(), 1u);
  EXPECT_EQ(back->trace.events[0].lane, 0xffff);
  EXPECT_EQ(back->trace.events[0].posted, -9);
}

TEST(Convert, ErrorKeepsCauseAndBecomesOneLine) {
  const Error error{Cause::peer_lost, "gone\nwith \x1b[31mcolour", Subject("node3", Phase::run),
                    "look\there"};
  const Error back = from_wire(sent(to_wire(error)));
  EXPECT_EQ(back.cause, Cause::peer_lost);
  EXPECT_EQ(back.what, "gone with  [31mcolour");
  EXPECT_EQ(back.where, error.where);
  EXPECT_EQ(back.next, "look here");
  rpc::Error strange;
  strange.set_cause(rpc::Cause(77));
  EXPECT_EQ(from_wire(strange).cause, Cause::internal);
  EXPECT_FALSE(from_wire(strange).what.empty());
}

Acquire some_acquire() {
  Acquire a;
  a.program = {"0.1.0", 9, 8};
  a.holder = "alice@login1 (check)";
  a.member.secret = std::string(32, 's');
  a.nodes = {"node0", "node1"};
  a.member.node = 1;
  a.member.processes = 2;
  a.ranks_per_node = 4;
  a.data_interface = "eth0";
  a.member.port_low = 7500;
  a.member.port_high = 7599;
  a.heartbeat = Seconds(0.5);
  return a;
}

TEST(Convert, AcquireKeepsEverything) {
  const Acquire a = some_acquire();
  const auto back = from_wire(sent(to_wire(a)));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->program, a.program);
  EXPECT_EQ(back->holder, a.holder);
  EXPECT_EQ(back->member.secret, a.member.secret);
  EXPECT_EQ(back->nodes, a.nodes);
  EXPECT_EQ(back->member.node, 1);
  EXPECT_EQ(back->member.processes, 2);
  EXPECT_EQ(back->ranks_per_node, 4);
  EXPECT_EQ(back->data_interface, "eth0");
  EXPECT_EQ(back->member.port_low, 7500);
  EXPECT_EQ(back->member.port_high, 7599);
  EXPECT_EQ(back->heartbeat, Seconds(0.5));
}

template <class Message, class Change>
void expect_refused(Message message, const Change& change, const char* what) {
  change(message);
  const auto back = from_wire(message);
  ASSERT_FALSE(back) << what;
  EXPECT_EQ(back.error().cause, Cause::bad_input) << what;
  EXPECT_FALSE(back.error().what.empty()) << what;
}

TEST(Convert, AcquireIsChecked) {
  const rpc::Acquire good = to_wire(some_acquire());
  const auto refused = [&good](auto change, const char* what) { expect_refused(good, change, what); };
  refused([](rpc::Acquire& m) { m.set_holder(""); }, "no holder");
  refused([](rpc::Acquire& m) { m.mutable_member()->set_secret("short"); }, "a short secret");
  refused([](rpc::Acquire& m) { m.mutable_member()->set_secret(std::string(65, 'x')); }, "a long secret");
  refused([](rpc::Acquire& m) { m.clear_nodes(); }, "no nodes");
  refused([](rpc::Acquire& m) { m.add_nodes("node0"); }, "a node twice");
  refused([](rpc::Acquire& m) { m.add_nodes(""); }, "a node without a name");
  refused([](rpc::Acquire& m) { m.add_nodes("a b"); }, "a blank");
  refused([](rpc::Acquire& m) { m.mutable_member()->set_node(2); }, "an index beyond");
  refused([](rpc::Acquire& m) { m.mutable_member()->set_node(-1); }, "an index before");
  refused([](rpc::Acquire& m) { m.mutable_member()->set_processes(0); }, "no process");
  refused([](rpc::Acquire& m) { m.mutable_member()->set_processes(max_processes + 1); },
          "too many processes");
  refused([](rpc::Acquire& m) { m.set_ranks_per_node(0); }, "no rank");
  refused([](rpc::Acquire& m) { m.mutable_member()->set_port_low(70'000); }, "a port beyond");
  refused([](rpc::Acquire& m) { m.mutable_member()->set_port_high(7000); }, "ports the wrong way round");
  refused([](rpc::Acquire& m) { m.set_data_interface("../../etc/passwd"); }, "a path");
  refused([](rpc::Acquire& m) { m.set_heartbeat_s(0.001); }, "a heartbeat like a drum");
  refused([](rpc::Acquire& m) { m.set_heartbeat_s(std::nan("")); }, "no number");
}

// The records' own limits: tests/unit/run/json_test.cc.
TEST(Convert, RecordsAreChecked) {
  const auto refused = [](auto message, const char* what) {
    for (const char* record : {"", "x", "{}", "[]", "[1,2]", R"({"nodes": [], "ranks": 3})"})
      expect_refused(
          message, [&](auto& m) { m.set_record(record); }, what);
  };
  run::Job nowhere = some_job();
  nowhere.seats[0].node = 3;
  expect_refused(
      to_wire(nowhere), [](rpc::Job&) {}, "a seat beyond the nodes");
  run::RunReport strange = some_report();
  strange.ranks[0].rank = -1;
  expect_refused(
      to_wire(strange), [](rpc::RunReport&) {}, "a rank below 0");
  strange = some_report();
  strange.trace.hops[1].tcp->min_rtt = Seconds(std::nan(""));
  expect_refused(
      to_wire(strange), [](rpc::RunReport&) {}, "no number");
  refused(to_wire(some_job()), "no job");
}

TEST(Convert, InputIsChecked) {
  const rpc::Job good = to_wire(some_omnireduce());
  ASSERT_TRUE(from_wire(good));
  const auto refused = [&good](auto change, const char* what) { expect_refused(good, change, what); };
  refused([](rpc::Job& m) { m.mutable_input()->set_type("float32"); }, "an input of another type");
  refused([](rpc::Job& m) { m.mutable_input()->set_type("text"); }, "an input of no type");
  refused([](rpc::Job& m) { m.mutable_input()->set_elements(4); }, "an input of another length");
  refused([](rpc::Job& m) { m.mutable_input()->clear_rows(); }, "an input without rows");
  refused([](rpc::Job& m) { m.mutable_input()->add_rows("123456"); }, "a row more than workers");
  refused([](rpc::Job& m) { m.mutable_input()->set_rows(1, "12345"); }, "a short row");
}

TEST(Convert, AddressesAndMembers) {
  const Addresses addresses = {{{"10.0.0.1", 7000}, {"10.0.0.1", 7001}}, {}, {{"node2", 0}}};
  const auto back = from_wire(sent(to_wire(addresses)));
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_EQ(back->size(), 3u);
  EXPECT_EQ((*back)[0][1].port, 7001);
  EXPECT_TRUE((*back)[1].empty());
  expect_refused(
      to_wire(addresses), [](rpc::Connect& m) { m.mutable_nodes(0)->mutable_processes(0)->set_port(65'536); },
      "a port beyond");
  expect_refused(
      to_wire(addresses), [](rpc::Connect& m) { m.mutable_nodes(0)->mutable_processes(0)->set_host(""); },
      "a port without a host");
  run::Member member;
  member.node = 3;
  member.process = 1;
  member.processes = 2;
  member.threads = 4;
  member.secret = "0123456789abcdef";
  member.data_address = "10.0.0.1";
  member.node_address = "10.0.0.2";
  member.peers = std::vector{*parse_network("10.0.0.0/8"), *parse_network("fd00::/64")};
  member.port_low = 1;
  member.port_high = 9;
  const auto again = from_wire(sent(to_wire(member)));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->process, 1);
  EXPECT_EQ(again->threads, 4);
  EXPECT_EQ(again->secret, member.secret);
  EXPECT_EQ(again->port_high, 9);
  EXPECT_EQ(again->data_address, member.data_address);
  EXPECT_EQ(again->node_address, member.node_address);
  EXPECT_EQ(again->peers, member.peers);
  // None at all is not the same as any.
  for (const auto& peers :
       {std::optional<std::vector<IpNetwork>>(), std::optional(std::vector<IpNetwork>())}) {
    run::Member other = member;
    other.peers = peers;
    EXPECT_EQ(from_wire(sent(to_wire(other)))->peers, peers);
  }
  expect_refused(
      to_wire(member), [](rpc::Member& m) { m.set_process(2); }, "a process beyond");
  expect_refused(
      to_wire(member), [](rpc::Member& m) { m.add_peers("10.0.0.0/33"); }, "a network that is none");
}

// Bytes that are nearly a message: whatever parses is either refused or safe to index with.
TEST(Convert, GarbageIsRefusedOrSafe) {
  std::mt19937 random(7);
  const std::string good = to_wire(some_job()).SerializeAsString();
  int parsed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int flips = 1 + int(random() % 4); flips > 0; --flips)
      bytes[random() % bytes.size()] = char(random());
    bytes.resize(random() % 3 == 0 ? random() % (bytes.size() + 1) : bytes.size());
    rpc::Job message;
    if (!message.ParseFromString(bytes)) continue;
    const auto job = from_wire(message);
    if (!job) continue;
    ++parsed;
    for (const run::Seat& seat : job->seats) {
      ASSERT_GE(seat.node, 0);
      ASSERT_LT(std::size_t(seat.node), job->nodes.size());
      ASSERT_GE(seat.local, 0);
    }
    ASSERT_GE(job->iterations, 0);
    ASSERT_GT(job->call.slice_bytes, 0u);
  }
  EXPECT_GT(parsed, 100);  // otherwise nothing was tried
}

}  // namespace
}  // namespace ringtrue::wire
