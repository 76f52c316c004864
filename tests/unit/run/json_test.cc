#include "run/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "collective/omnireduce/omnireduce.h"
#include "run/fields.h"
#include "tests/unit/run/any_record.h"

namespace ringtrue::run {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using test::any_job, test::any_report;

TEST(RunJson, KeepsWhateverAReportHolds) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const RunReport report = any_report(seed);
    for (const std::string& text : {to_json(report), to_json(report, -1), to_packed_json(report)}) {
      const auto back = from_json<RunReport>(text);
      ASSERT_TRUE(back) << back.error().text() << ", seed " << seed;
      ASSERT_EQ(*back, report) << "seed " << seed;
    }
  }
}

TEST(RunJson, KeepsWhateverAJobHolds) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const Job job = any_job(seed);
    for (const std::string& text : {to_json(job), to_packed_json(job)}) {
      const auto back = from_json<Job>(text);
      ASSERT_TRUE(back) << back.error().text() << ", seed " << seed;
      ASSERT_EQ(*back, job) << "seed " << seed;
    }
  }
}

TEST(RunJson, WhatIsMissingIsAsBuiltIn) {
  json job = json::parse(to_json(any_job(1)));
  for (const char* key : {"verbs", "ports", "sparsity", "mtu"}) job.erase(key);
  job["of a later version"] = {1, 2};
  const auto back = from_json<Job>(job.dump());
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->verbs, RdmaSettings());
  EXPECT_TRUE(back->ports.empty());
  EXPECT_TRUE(back->sparsity.dense());
  EXPECT_EQ(back->mtu, 1500);
}

TEST(RunJson, TextsBecomeOneLine) {
  RunReport report;
  report.remarks = {{Remark::Kind::staged, "node\n1", "", "\x1b[31mred \xc3\xbc" + std::string(2'000, 'x')}};
  const auto back = from_json<RunReport>(to_json(report));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->remarks[0].node, "node 1");
  EXPECT_EQ(back->remarks[0].why.substr(0, 12), " [31mred ??x");
  EXPECT_EQ(back->remarks[0].why.size(), 1'000u);
}

// A value at a place of a good record, and what the error must name.
struct Bad {
  const char* place;
  json value;
  const char* named;
};

template <class T>
void expect_refused(const T& good, const Bad& bad) {
  json document = json::parse(to_json(good));
  document[json::json_pointer(bad.place)] = bad.value;
  const auto back = from_json<T>(document.dump());
  ASSERT_FALSE(back) << bad.place << " = " << bad.value;
  EXPECT_EQ(back.error().cause, Cause::bad_input);
  EXPECT_THAT(back.error().what, HasSubstr(bad.named)) << bad.place;
  EXPECT_EQ(back.error().what.find('\n'), std::string::npos);
}

Job some_job() {
  Job job;
  job.algorithm = collective::AlgorithmId::double_tree;
  job.nodes = {"node0", "node1", "node2"};
  job.seats = {{2, 0, 0}, {0, 1, 1}, {0, 0, 0}};
  job.call.elements = 12'345;
  job.verbs.ports = {{"mlx5_0", 1}, {"rxe0", 2}};
  job.ports = {{{"mlx5_1", 1}}, {}, {{"mlx5_2", 2}, {"mlx5_3", 1}}};
  return job;
}

TEST(RunJson, JobIsChecked) {
  const json none = nullptr, endless = UINT64_MAX, empty = json::array();
  const Bad bad[] = {
      {"/algorithm", "bucket", "algorithm: a kind"},
      {"/algorithm", 7, "algorithm: a kind"},
      {"/algorithm", "barrier", "algorithm: barrier"},
      {"/nodes", empty, "no nodes"},
      {"/nodes/1", "node0", "nodes: 'node0' twice"},
      {"/nodes/1", "", "nodes/1: empty"},
      {"/nodes/1", "a b", "nodes/1: not a name"},
      {"/seats", empty, "no ranks"},
      {"/seats", 3, "seats: not an array"},
      {"/seats/0/node", 3, "seats/0: node 3 is outside"},
      {"/seats/0/node", -1, "seats/0/node: -1 is not within"},
      {"/seats/0/process", -1, "seats/0/process"},
      {"/seats/0/process", 128, "seats/0/process"},
      {"/seats/0/local", 1 << 20, "seats/0/local"},
      {"/seats/2/local", 1, "seats/2: taken"},
      {"/type", "float31", "type: a kind"},
      {"/type", 0, "type: a kind"},
      {"/operation", "xor", "operation: a kind"},
      {"/elements", endless, "elements"},
      {"/elements", -1, "elements"},
      {"/slice_bytes", 0, "slice_bytes"},
      {"/slice_bytes", endless, "slice_bytes"},
      {"/lanes", 0, "lanes"},
      {"/lanes", 65, "lanes"},
      {"/shift", 1 << 21, "shift"},
      {"/transport", "pigeon", "transport: a kind"},
      {"/iterations", -1, "iterations"},
      {"/warmup", INT32_MIN, "warmup"},
      {"/fault", std::string(100'000, 'x'), "fault: too long"},
      {"/mtu", 100, "mtu"},
      {"/mtu", -1, "mtu"},
      {"/check", 1, "check: neither"},
      {"/memory", "tape", "memory: a kind"},
      {"/gpus", {5000}, "gpus/0"},
      {"/gpus", json(2000, 1), "gpus: 2000 items"},
      {"/gpu_limits", true, "gpu_limits"},  // of the host's memory
      {"/reference", std::string(40, 'n'), "reference"},
      {"/verbs/path_mtu", 1500, "verbs: path_mtu"},
      {"/verbs/queue_pairs", 0, "verbs/queue_pairs"},
      {"/verbs/slots", 1 << 30, "verbs/slots"},
      {"/verbs/slot_bytes", endless, "verbs/slot_bytes"},
      {"/verbs/rdma_memory", "magic", "verbs/rdma_memory"},
      {"/verbs/rdma_ports/0", "", "verbs/rdma_ports/0: not a port"},
      {"/verbs/rdma_ports/0", "a b:1", "verbs/rdma_ports/0: not a port"},
      {"/verbs/rdma_ports/0", "mlx5_0:0", "verbs/rdma_ports/0: not a port"},
      {"/verbs/rdma_ports/0", 1, "verbs/rdma_ports/0: not a port"},
      {"/verbs/rdma_ports", json(100, "mlx5_0:1"), "verbs/rdma_ports: 100 items"},
      {"/ports", json::array({empty}), "ports: of 1 ranks"},
      {"/ports/1", json(100, "mlx5_0:1"), "ports: 100 of a rank"},
      {"/verbs", none, "verbs: not an object"},
  };
  ASSERT_TRUE(from_json<Job>(to_json(some_job())));
  for (const Bad& one : bad) expect_refused(some_job(), one);
}

TEST(RunJson, OmnireduceIsChecked) {
  Job good = some_job();
  good.algorithm = collective::AlgorithmId::omnireduce;
  good.call.omni = {2, 1, 128, 12, 4, true};
  ASSERT_TRUE(from_json<Job>(to_json(good)));
  const Bad bad[] = {
      {"/omni/workers", 0, "omni: roles"},
      {"/algorithm", "ring", "omni: roles"},
      {"/omni/workers", 3, "omni: 3 workers"},
      {"/omni/aggregators", INT32_MAX, "omni/aggregators"},
      {"/omni/aggregators", -1, "omni/aggregators"},
      {"/omni/block", 0, "omni/block"},
      {"/omni/block", UINT32_MAX, "omni/block"},
      {"/omni/streams", 0, "omni/streams"},
      {"/omni/streams", collective::max_streams + 1, "omni/streams"},
      {"/omni/fusion", 0, "omni/fusion"},
      {"/omni/fusion", collective::max_fusion + 1, "omni/fusion"},
      {"/sparsity/density", 1.5, "sparsity/density"},
      {"/sparsity/density", -0.5, "sparsity/density"},
      {"/sparsity/value_density", nullptr, "sparsity/value_density: not a number"},  // NaN's way to say it
      {"/sparsity/overlap", "partly", "sparsity/overlap"},
      {"/sparsity/block", 0, "sparsity/block"},
  };
  for (const Bad& one : bad) expect_refused(good, one);
}

TEST(RunJson, ReportIsChecked) {
  RunReport good;
  good.ranks = {{3, 2, {0.25, 0.5}, 4, 17, {1, 2, 3, 4, 5}}};
  good.trace.hops.resize(1);
  good.trace.hops[0].tcp.emplace();
  good.trace.hops[0].rdma.emplace();
  good.trace.events = {{0, 1, 0xffff, 7, 8, -9, 10, 11}};
  good.counters["node3"] = {2.5, {{"mlx5_0/1", "symbol_error", 5, 417, true, false}}};
  good.rdma = {{"node3", {}, "10.1.0.7", 4096, "host"}};
  good.gpus = {{"node1", 3, "H100", "GPU-3", {1, 2}, GpuPlay::kernel, {GpuWay::ipc, GpuWay::peer}}};
  good.gpu_limits.resize(1);
  good.gpu_limits[0].gpu.index = 0;
  good.remarks.resize(1);
  ASSERT_TRUE(from_json<RunReport>(to_json(good)));
  const json::object_t change = {{"device", "eth0"}};
  const Bad bad[] = {
      {"/cpu_s", -1, "cpu_s"},
      {"/rejected_connections", -1, "rejected_connections"},
      {"/ranks/0/rank", -1, "ranks/0/rank"},
      {"/ranks/0/batch", 0, "ranks/0/batch"},
      {"/ranks/0/time_s/0", nullptr, "ranks/0/time_s/0: not a number"},
      {"/ranks/0/time_s/1", -0.5, "ranks/0/time_s/1"},
      {"/hops/0/source", -4, "hops/0/source"},
      {"/hops/0/destination", 1 << 20, "hops/0/destination"},
      {"/hops/0/busy_s", -1, "hops/0/busy_s"},
      {"/hops/0/tcp/min_rtt_s", "soon", "hops/0/tcp/min_rtt_s"},
      {"/hops/0/rdma/rails", json(65, {{"port", "mlx5_0:1"}}), "hops/0/rdma/rails: 65 items"},
      {"/events/0/lane", 0x10000, "events/0/lane"},
      {"/counters/node3/seconds", -1, "counters/seconds"},
      {"/counters/node3/changes", json(5000, change), "changes: 5000 items"},
      {"/rdma/0/path_mtu", 65'536, "rdma/0/path_mtu"},
      {"/rdma/0/ports", json(257, "mlx5_0:1"), "rdma/0/ports: 257 items"},
      {"/gpus/0/gpu", -1, "gpus/0 (H100)/gpu"},
      {"/gpus/0/ranks/1", -1, "gpus/0 (H100)/ranks/1"},
      {"/gpus/0/ways", json(17, "ipc"), "gpus/0 (H100)/ways: 17 items"},
      {"/gpu_limits/0/gpu/gpu", -1, "a limit of no GPU"},
      {"/gpu_limits/0/numa", -2, "gpu_limits/0/numa"},
      {"/gpu_limits/0/rate_Bps", -1, "gpu_limits/0/rate_Bps"},
      {"/remarks/0/kind", "rumour", "remarks/0/kind: a kind"},
      {"/remarks/0/kind", 9, "remarks/0/kind: a kind"},
  };
  for (const Bad& one : bad) expect_refused(good, one);
  std::string endless = to_json(good, -1);
  const std::string time = "[0.25,";
  endless.replace(endless.find(time), time.size(), "[1e999,");
  EXPECT_FALSE(from_json<RunReport>(endless));
}

TEST(RunJson, RefusesWhatIsNoRecord) {
  const std::string packed = to_packed_json(any_report(1));
  for (const std::string& text :
       {std::string(), std::string("x"), std::string("3"), std::string("null"), std::string("\"a\""),
        std::string("{\"ranks\":[3]}"), packed.substr(0, packed.size() - 1)})
    EXPECT_FALSE(from_json<RunReport>(text)) << text;
  const auto deep = from_json<RunReport>("{\"more\":" + std::string(100'000, '['));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().what, HasSubstr("nests deeper"));
  const auto longer = from_json<Job>(std::string(max_record_bytes + 1, ' '));
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().what, HasSubstr("64 MiB"));
}

}  // namespace
}  // namespace ringtrue::run
