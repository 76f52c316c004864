// What is asked of libibverbs for real adapters, where soft-RoCE has nothing to show: completion timestamps,
// dma-buf, relaxed ordering, LIDs and global routes, tables of GIDs, libraries that lack the newer functions.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "transport/verbs/library_api.h"
#include "transport/verbs/rails.h"

namespace ringtrue::transport::verbs {
namespace {

namespace fs = std::filesystem;

class VerbsAdapter : public testing::TestWithParam<bool> {  // whether the library is old
 protected:
  void SetUp() override {
    char name[] = "/tmp/ringtrue-adapter-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    sysfs = name;
    for (const char* port : {"1", "2"}) {
      const fs::path types = sysfs / "mlx5_0/ports" / port / "gid_attrs/types";
      fs::create_directories(types);
      std::ofstream(types / "0") << "IB/RoCE v1\n";
      std::ofstream(types / "1") << "RoCE v2\n";
    }
    void* handle = ::dlopen(file(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    log = reinterpret_cast<const char* (*)()>(::dlsym(handle, "fake_ibverbs_log"));
    live = reinterpret_cast<int (*)()>(::dlsym(handle, "fake_ibverbs_live"));
    raise = reinterpret_cast<void (*)(int, int)>(::dlsym(handle, "fake_ibverbs_raise"));
    refuse = reinterpret_cast<void (*)(int)>(::dlsym(handle, "fake_ibverbs_refuse"));
    library = load_library(file(), sysfs.string());
    auto opened = library->open("mlx5_0");
    ASSERT_TRUE(opened) << opened.error().text();
    device = std::move(*opened);
    log();
  }
  void TearDown() override {
    device.reset();
    EXPECT_EQ(live(), 0) << "objects left";
    fs::remove_all(sysfs);
  }
  static bool old() { return GetParam(); }
  static const char* file() { return old() ? RINGTRUE_OLD_FAKE_IBVERBS : RINGTRUE_FAKE_IBVERBS; }

  fs::path sysfs;
  const char* (*log)() = nullptr;
  int (*live)() = nullptr;
  void (*raise)(int, int) = nullptr;
  void (*refuse)(int) = nullptr;
  std::unique_ptr<Library> library;
  std::unique_ptr<Device> device;
  std::byte bytes[4096] = {};
};

TEST_P(VerbsAdapter, DescribesTheDevice) {
  EXPECT_EQ(*library->devices(), std::vector<std::string>{"mlx5_0"});
  const DeviceLimits& limits = device->limits();
  EXPECT_EQ(limits.ports, 2);
  EXPECT_EQ(limits.queue_pairs, 1000);
  EXPECT_EQ(limits.work_requests, 2000);
  EXPECT_EQ(limits.completions, 3000);
  EXPECT_EQ(limits.shared_queues, 40);
  EXPECT_TRUE(limits.labels_set_ports);
  EXPECT_EQ(limits.shared_work_requests, 5000);
  EXPECT_EQ(limits.relaxed_ordering, !old());
  EXPECT_EQ(limits.timestamp_hertz, old() ? 0 : 156.25e6);
}

TEST_P(VerbsAdapter, SaysWhyADeviceCannotBeOpened) {
  refuse(EACCES);
  const auto devices = open_devices(*library);
  refuse(0);
  ASSERT_TRUE(devices);
  const auto named = choose_rails(*devices, {.ports = {{"mlx5_0", 1}}}, {});
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().what, "cannot open /dev/infiniband/uverbs0 on mlx5_0: permission denied");
  EXPECT_NE(named.error().next.find("/dev/infiniband/uverbs"), std::string::npos);
}

TEST_P(VerbsAdapter, DescribesItsPorts) {
  const auto infiniband = device->port(1), ethernet = device->port(2);
  ASSERT_TRUE(infiniband && ethernet);
  EXPECT_EQ(infiniband->layer, LinkLayer::infiniband);
  EXPECT_EQ(infiniband->lid, 77);
  EXPECT_TRUE(infiniband->needs_grh);
  EXPECT_FALSE(ethernet->needs_grh);
  EXPECT_EQ(infiniband->mtu, 4096);
  EXPECT_EQ(infiniband->rate, BytesPerSecond(50e9)) << "NDR, 4x";
  EXPECT_EQ(ethernet->layer, LinkLayer::ethernet);
  EXPECT_EQ(ethernet->rate, BytesPerSecond(5e9)) << "40 Gbit/s";
  EXPECT_FALSE(device->port(3));
}

TEST_P(VerbsAdapter, TellsTheTypesOfGids) {
  const auto infiniband = device->gids(1), ethernet = device->gids(2);
  ASSERT_EQ(infiniband.size(), 2u) << "the third one is empty";
  ASSERT_EQ(ethernet.size(), 2u);
  EXPECT_EQ(infiniband[0].type, Gid::Type::infiniband);
  EXPECT_EQ(infiniband[0].raw[15], std::byte(0x10));
  EXPECT_EQ(ethernet[0].type, Gid::Type::roce_v1);
  EXPECT_EQ(ethernet[1].type, Gid::Type::roce_v2);
  EXPECT_EQ(ethernet[1].index, 1);
  EXPECT_EQ(ethernet[1].raw[15], std::byte(0x21));
}

TEST_P(VerbsAdapter, AsksForRelaxedOrderingWhereTheLibraryKnowsIt) {
  ASSERT_TRUE(device->register_memory(bytes, 4096, {.remote_write = true, .relaxed_ordering = true}));
  EXPECT_STREQ(log(), old() ? "reg_mr 4096 bytes access 0x3\n" : "reg_mr_iova2 4096 bytes access 0x100003\n");
  ASSERT_TRUE(device->register_memory(bytes, 4096, {}));
  EXPECT_STREQ(log(), old() ? "reg_mr 4096 bytes access 0x1\n" : "reg_mr_iova2 4096 bytes access 0x1\n");
}

TEST_P(VerbsAdapter, RegistersADmabuf) {
  auto* at = reinterpret_cast<std::byte*>(0x7000);
  const auto region =
      device->register_dmabuf(42, 512, 4096, at, {.remote_write = false, .relaxed_ordering = true});
  ASSERT_EQ(region.has_value(), !old());
  if (old())
    EXPECT_EQ(region.error().what, "this libibverbs has no ibv_reg_dmabuf_mr");
  else
    EXPECT_STREQ(log(), "dma-buf 42 at 512 for 0x7000\nreg_dmabuf_mr 4096 bytes access 0x100001\n");
}

TEST_P(VerbsAdapter, TellsALimitOfLockedMemoryFromOtherRefusals) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit low{64 << 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &low), 0);
  const auto limited = device->register_memory(bytes, 2ull << 30, {});
  ::setrlimit(RLIMIT_MEMLOCK, &before);
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().cause, Cause::refused);
  EXPECT_EQ(limited.error().what,
            "cannot pin 2 GiB of memory on mlx5_0: the limit of locked memory is 64 KiB");
  const auto bad = device->register_memory(nullptr, 4096, {});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().cause, Cause::unavailable);
  EXPECT_EQ(bad.error().what, "cannot register memory on mlx5_0: bad address");
}

TEST_P(VerbsAdapter, StampsCompletionsWhereTheDeviceDoes) {
  auto queue = device->make_completion_queue(100);
  ASSERT_TRUE(queue);
  EXPECT_STREQ(log(), old() ? "plain queue of 100\n" : "extended queue of 100\n");
  auto pair = device->make_queue_pair(**queue, nullptr, 1, 10, 200, 50);
  ASSERT_TRUE(pair);
  std::vector<Completion> got(50);
  EXPECT_EQ((*queue)->poll(got), 0);
  log();

  ASSERT_TRUE((*pair)->post_receives(70));
  EXPECT_STREQ(log(), "64 receives\n6 receives\n");
  EXPECT_EQ((*queue)->poll(got), 50);
  EXPECT_STREQ(log(), old() ? "" : "end of poll\n");
  EXPECT_EQ((*queue)->poll(std::span(got).subspan(20)), 20);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Completion& each = got[20 + i];
    EXPECT_TRUE(each.received);
    EXPECT_EQ(each.work, 0u);
    EXPECT_EQ(each.queue_pair, 0x1234u);
    EXPECT_EQ(each.immediate, i < 14 ? 51 + i : i - 13);
    EXPECT_EQ(each.bytes, each.immediate + 99);
    EXPECT_EQ(each.time_ns, old() ? std::nullopt : std::optional<std::int64_t>((51 + i) * 1'000'000));
  }
}

TEST_P(VerbsAdapter, PostsWritesAsTheyAreMeant) {
  auto queue = device->make_completion_queue(100);
  auto pair = device->make_queue_pair(**queue, nullptr, 1, 10, 10, 50);
  ASSERT_TRUE(pair);
  log();
  std::vector<Write> writes(3);
  writes[0].work = 7;
  writes[0].immediate = 0x80000001;
  writes[0].remote_address = 0x1000;
  writes[0].remote_key = 9;
  writes[0].parts = {Part{bytes, 16, 5}, Part{bytes + 16, 4000, 5}};
  writes[0].part_count = 2;
  writes[1].work = 8;
  writes[1].parts = {Part{bytes, 0, 5}, Part{bytes, 4, 5}};  // nothing of the first
  writes[1].part_count = 2;
  writes[1].inlined = true;
  writes[2].work = 9;
  writes[2].remote_key = 13;  // is refused
  writes[2].signaled = true;
  ASSERT_TRUE((*pair)->post(writes));
  EXPECT_STREQ(log(),
               "send 7 opcode 1 flags 0 parts 2 to 0x1000 key 9 immediate 0x80000001\n"
               "send 8 opcode 0 flags 8 parts 1 to 0x0 key 0 immediate 0x0\n"
               "send 9 opcode 0 flags 2 parts 0 to 0x0 key 13 immediate 0x0\n");
  std::vector<Completion> got(4);
  ASSERT_EQ((*queue)->poll(got), 1);
  EXPECT_EQ(got[0].work, 9u);
  EXPECT_FALSE(got[0].received);
  EXPECT_EQ(got[0].status, 10);
  EXPECT_EQ(got[0].vendor_error, 0x88u);
  EXPECT_EQ(got[0].time_ns, std::nullopt) << "of a failed one nothing else is known";

  // More than one chain of requests.
  log();
  ASSERT_TRUE((*pair)->post(std::vector<Write>(70)));
  const std::string all = log();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 70);
}

TEST_P(VerbsAdapter, ConnectsByLid) {
  auto queue = device->make_completion_queue(100);
  auto pair = device->make_queue_pair(**queue, nullptr, 1, 10, 20, 500, 7);
  ASSERT_TRUE(pair);
  EXPECT_EQ((*pair)->number(), 0x1234u);
  EXPECT_EQ((*pair)->max_inline(), 100);
  const std::string asked = log();
  EXPECT_NE(asked.find("type 2 sends 10 receives 20 inline 500 all signaled 0\n"), asked.npos) << asked;
  EXPECT_NE(asked.find("inline 62 "), asked.npos) << asked;
  EXPECT_NE(asked.find("to state 1 mask 0x39\nport 1 P_Key 7\n"), asked.npos) << asked;
  Path path;
  path.mtu = 2048;
  path.queue_pair = 0xabcd;
  path.packet_sequence = 0x123456;
  path.lid = 99;
  path.service_level = 3;
  ASSERT_TRUE((*pair)->to_ready_to_receive(path));
  EXPECT_STREQ(log(),
               "to state 2 mask 0x129181\nmtu 4 pair 0xabcd sequence 0x123456 rnr timer 12\n"
               "port 1 lid 99 sl 3 global 0 gid ..0 index 0 hops 0 class 0 flow 0\n");
  ASSERT_TRUE((*pair)->to_ready_to_send({.timeout = 20, .retry_count = 5, .rnr_retry = 6}, 0xfffffe));
  EXPECT_STREQ(log(), "to state 3 mask 0x12e01\ntimeout 20 retries 5 rnr 6 sequence 0xfffffe\n");
  (*pair)->to_error();
  EXPECT_STREQ(log(), "to state 6 mask 0x1\n");
}

TEST_P(VerbsAdapter, ConnectsByGid) {
  auto queue = device->make_completion_queue(100);
  auto shared = device->make_shared_receive_queue(300);
  ASSERT_TRUE(shared);
  ASSERT_TRUE((*shared)->post(5));
  EXPECT_NE(std::string(log()).find("shared queue of 300\n5 shared receives\n"), std::string::npos);
  auto pair = device->make_queue_pair(**queue, shared->get(), 2, 10, 20, 0);
  ASSERT_TRUE(pair);
  EXPECT_NE(std::string(log()).find("receives 0 inline 0"), std::string::npos)
      << "it has no receives of its own";
  Path path;
  path.port = 2;
  path.layer = LinkLayer::ethernet;
  path.queue_pair = 0xabcd;
  path.gid.emplace();
  path.gid->back() = std::byte(0x42);
  path.gid_index = 3;
  path.traffic_class = 106;
  path.flow_label = 4242;
  ASSERT_TRUE((*pair)->to_ready_to_receive(path));
  EXPECT_NE(
      std::string(log()).find("port 2 lid 0 sl 0 global 1 gid ..42 index 3 hops 64 class 106 flow 4242\n"),
      std::string::npos);
  path.queue_pair = 0xdead;
  const auto unreachable = (*pair)->to_ready_to_receive(path);
  ASSERT_FALSE(unreachable);
  EXPECT_EQ(unreachable.error().cause, Cause::unreachable);
  EXPECT_EQ(unreachable.error().what, "cannot connect a queue pair to ::42 on mlx5_0: connection timed out");
}

TEST_P(VerbsAdapter, TellsEvents) {
  EXPECT_FALSE(device->next_event());
  struct Case {
    int type;  // ibv_event_type
    Event::Kind kind;
    int port;
  };
  for (const Case& each : {Case{IBV_EVENT_PORT_ERR, Event::Kind::port_down, 2},
                           Case{IBV_EVENT_PORT_ACTIVE, Event::Kind::port_up, 1},
                           Case{IBV_EVENT_DEVICE_FATAL, Event::Kind::device_fatal, 0},
                           Case{IBV_EVENT_CQ_ERR, Event::Kind::queue_broken, 0},
                           Case{IBV_EVENT_LID_CHANGE, Event::Kind::other, 0}}) {
    raise(each.type, each.port);
    const auto event = device->next_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, each.kind) << each.type;
    EXPECT_EQ(event->port, each.port) << each.type;
    EXPECT_EQ(event->text, "in its words");
    EXPECT_STREQ(log(), "event acknowledged\n");
  }
}

TEST_P(VerbsAdapter, TellsTheQueuePairOfAnEvent) {
  auto queue = device->make_completion_queue(100);
  auto pair = device->make_queue_pair(**queue, nullptr, 1, 10, 10, 50);
  ASSERT_TRUE(pair);
  for (const auto& [type, kind] : {std::pair(IBV_EVENT_QP_FATAL, Event::Kind::queue_broken),
                                   std::pair(IBV_EVENT_QP_REQ_ERR, Event::Kind::bad_request),
                                   std::pair(IBV_EVENT_QP_ACCESS_ERR, Event::Kind::bad_request)}) {
    raise(type, 0);
    const auto event = device->next_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, kind);
    EXPECT_EQ(event->queue_pair, 0x1234u);
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, VerbsAdapter, testing::Bool(),
                         [](const auto& info) { return info.param ? "older" : "current"; });

TEST(VerbsLoader, LeavesTheLibraryAloneWhereThereIsNoDevice) {
  const auto library = load_library("/nonexistent/libibverbs.so.1", "/nonexistent/infiniband");
  const auto devices = library->devices();
  ASSERT_TRUE(devices);
  EXPECT_TRUE(devices->empty());
  EXPECT_EQ(library->open("mlx5_0").error().what, "no RDMA device mlx5_0");
}

TEST(VerbsLoader, SaysWhatIsNotInstalled) {
  char name[] = "/tmp/ringtrue-loader-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  fs::create_directories(fs::path(name) / "mlx5_0");
  const auto missing = load_library("libibverbs-that-is-not-there.so.1", name)->devices();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().cause, Cause::unavailable);
  EXPECT_EQ(missing.error().what, "libibverbs-that-is-not-there.so.1 is not installed");
  EXPECT_NE(missing.error().next.find("rdma-core"), std::string::npos);
  const auto another = load_library("libc.so.6", name)->devices();
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().what.find("libc.so.6 is not libibverbs: it has no ibv_"), 0u);
  fs::remove_all(name);
}

TEST(VerbsLoader, SaysWhatToDoOfAnError) {
  EXPECT_NE(verbs_error("open the device", "mlx5_0", EACCES).next.find("/dev/infiniband/uverbs"),
            std::string::npos);
  EXPECT_NE(verbs_error("open the device", "mlx5_0", EMFILE).next.find("ulimit -n"), std::string::npos);
  EXPECT_NE(verbs_error("open the device", "mlx5_0", ENODEV).next.find("removed"), std::string::npos);
  EXPECT_EQ(verbs_error("open the device", "mlx5_0", ENODEV).what,
            "cannot open the device on mlx5_0: no such device");
}

}  // namespace
}  // namespace ringtrue::transport::verbs
