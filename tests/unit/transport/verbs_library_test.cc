// What the transport relies on in a provider of verbs: held against the scripted one, and against libibverbs
// on machines with an RDMA device (the lab's virtual machine has soft-RoCE).
#include "transport/verbs/library.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/clock.h"
#include "tests/support/fake_verbs.h"
#include "transport/verbs/memory.h"
#include "transport/verbs/rails.h"

namespace ringtrue::transport::verbs {
namespace {

enum class Provider { scripted_infiniband, scripted_roce, system };
std::string name_of(const testing::TestParamInfo<Provider>& info) {
  constexpr const char* names[] = {"scripted_infiniband", "scripted_roce", "system"};
  return names[int(info.param)];
}

// Two ends of a connection, each with a device of its own opening, a queue, and memory.
class VerbsLibrary : public testing::TestWithParam<Provider> {
 protected:
  struct End {
    std::unique_ptr<Device> device;
    Rail rail;
    std::unique_ptr<CompletionQueue> queue;
    std::vector<std::byte> bytes = std::vector<std::byte>(8192);
    std::unique_ptr<Region> region;
    std::unique_ptr<SharedReceiveQueue> shared;
    std::unique_ptr<QueuePair> pair;
  };

  void SetUp() override {
    if (GetParam() == Provider::system) {
      const auto devices = system_library().devices();
      if (!devices || devices->empty()) GTEST_SKIP() << "no RDMA device";
      begin(near, system_library());
      begin(far, system_library());
    } else {
      const bool roce = GetParam() == Provider::scripted_roce;
      begin(near, fabric.add_node({roce ? fake_roce("mlx5_0", "10.1.0.1") : fake_infiniband("mlx5_0", 1)}));
      begin(far, fabric.add_node({roce ? fake_roce("mlx5_0", "10.1.0.2") : fake_infiniband("mlx5_0", 2)}));
    }
  }
  void TearDown() override {
    for (End* end : {&near, &far}) {
      end->pair.reset();
      end->shared.reset();
      end->region.reset();
      end->queue.reset();
      end->device.reset();
    }
    EXPECT_EQ(fabric.live(), FakeFabric::Live());
    EXPECT_EQ(fabric.complaints(), std::vector<std::string>());
  }

  void begin(End& end, Library& library) {
    auto devices = open_devices(library);
    ASSERT_TRUE(devices) << devices.error().text();
    ASSERT_TRUE(devices->closed.empty()) << devices->closed.begin()->second.text();
    const auto choice = choose_rails(*devices, {}, {});
    ASSERT_TRUE(choice) << choice.error().text();
    end.rail = choice->rails.front();
    for (auto& device : devices->opened)
      if (device->name() == end.rail.name.device) end.device = std::move(device);
    auto queue = end.device->make_completion_queue(64);
    ASSERT_TRUE(queue) << queue.error().text();
    end.queue = std::move(*queue);
    std::iota(reinterpret_cast<unsigned char*>(end.bytes.data()),
              reinterpret_cast<unsigned char*>(end.bytes.data() + end.bytes.size()), &end == &near ? 1 : 0);
    auto region = end.device->register_memory(end.bytes.data(), end.bytes.size(),
                                              {&end == &far, end.device->limits().relaxed_ordering});
    ASSERT_TRUE(region) << region.error().text();
    end.region = std::move(*region);
  }

  std::unique_ptr<QueuePair> make_pair(End& end, int inline_bytes = 64) {
    auto pair =
        end.device->make_queue_pair(*end.queue, end.shared.get(), end.rail.name.port, 16, 16, inline_bytes);
    EXPECT_TRUE(pair) << pair.error().text();
    return pair ? std::move(*pair) : nullptr;
  }
  static void connect(QueuePair& from, const End& near, const QueuePair& to, const End& far,
                      std::uint32_t from_sequence, std::uint32_t to_sequence,
                      const RetryLimits& patience = {}) {
    Path path;
    path.port = near.rail.name.port;
    path.mtu = std::min(near.rail.port.mtu, far.rail.port.mtu);
    path.queue_pair = to.number();
    path.packet_sequence = to_sequence;
    path.layer = far.rail.port.layer;
    path.lid = far.rail.port.lid;
    if (far.rail.global) path.gid = far.rail.gid.raw;
    path.gid_index = near.rail.gid.index;
    const auto receives = from.to_ready_to_receive(path);
    ASSERT_TRUE(receives) << receives.error().text();
    const auto sends = from.to_ready_to_send(patience, from_sequence);
    ASSERT_TRUE(sends) << sends.error().text();
  }
  void connect_ends(const RetryLimits& patience = {}) {
    near.pair = make_pair(near);
    far.pair = make_pair(far);
    ASSERT_TRUE(near.pair && far.pair);
    connect(*near.pair, near, *far.pair, far, 0x123456, 0xfffffe, patience);
    connect(*far.pair, far, *near.pair, near, 0xfffffe, 0x123456, patience);
  }

  // Of the near end's first `bytes`, in two parts.
  Write write(std::uint32_t bytes, std::uint64_t to, std::uint64_t work) {
    Write made;
    made.work = work;
    made.remote_address = reinterpret_cast<std::uintptr_t>(far.bytes.data()) + to;
    made.remote_key = far.region->remote_key();
    made.parts = {Part{near.bytes.data(), bytes / 2, near.region->local_key()},
                  Part{near.bytes.data() + bytes / 2, bytes - bytes / 2, near.region->local_key()}};
    made.part_count = 2;
    made.signaled = true;
    return made;
  }

  static std::vector<Completion> wait(CompletionQueue& queue, std::size_t count, double seconds = 10) {
    std::vector<Completion> all(count + 1);
    std::size_t have = 0;
    for (const Deadline deadline = Deadline::in(Seconds(seconds)); have < count && !deadline.passed();
         ::usleep(100)) {
      const int got = queue.poll(std::span(all).subspan(have));
      if (got < 0) break;
      have += std::size_t(got);
    }
    all.resize(have);
    return all;
  }
  static bool readable(int descriptor, int milliseconds) {
    pollfd waiting{descriptor, POLLIN, 0};
    return ::poll(&waiting, 1, milliseconds) == 1;
  }

  FakeFabric fabric;
  End near, far;
};

TEST_P(VerbsLibrary, DescribesItsDevices) {
  const DeviceLimits& limits = near.device->limits();
  EXPECT_GE(limits.ports, 1);
  EXPECT_GE(limits.queue_pairs, 64);
  EXPECT_GE(limits.work_requests, 64);
  EXPECT_GE(limits.completions, 64);
  EXPECT_TRUE(near.rail.port.active);
  EXPECT_EQ(near.rail.port.state, "active");
  EXPECT_GE(near.rail.port.mtu, 256);
  EXPECT_GT(near.rail.port.rate.value, 0);
  EXPECT_FALSE(near.device->gids(near.rail.name.port).empty());
  EXPECT_FALSE(near.device->port(limits.ports + 1));
}

TEST_P(VerbsLibrary, WritesWithImmediate) {
  connect_ends();
  ASSERT_TRUE(far.pair->post_receives(2));
  Write first = write(5000, 100, 7);
  first.immediate = 0x80000001;
  const auto posted = near.pair->post({&first, 1});
  ASSERT_TRUE(posted) << posted.error().text();
  const auto sent = wait(*near.queue, 1), came = wait(*far.queue, 1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, 0);
  EXPECT_EQ(sent[0].work, 7u);
  EXPECT_FALSE(sent[0].received);
  EXPECT_EQ(sent[0].queue_pair, near.pair->number());
  ASSERT_EQ(came.size(), 1u);
  EXPECT_EQ(came[0].status, 0);
  EXPECT_TRUE(came[0].received);
  EXPECT_EQ(came[0].bytes, 5000u);
  EXPECT_EQ(came[0].immediate, 0x80000001);
  EXPECT_EQ(came[0].queue_pair, far.pair->number());
  EXPECT_EQ(std::memcmp(far.bytes.data() + 100, near.bytes.data(), 5000), 0);
  EXPECT_EQ(far.bytes[99], std::byte(99));
  EXPECT_EQ(far.bytes[5100], std::byte(5100 % 256));
}

TEST_P(VerbsLibrary, CompletesWhatIsSignaledAlone) {
  connect_ends();
  ASSERT_TRUE(far.pair->post_receives(16));
  // Twice as many writes as have room at once: a completion frees those before it.
  for (int round = 0; round < 4; ++round) {
    std::vector<Write> eight;
    for (std::uint64_t i = 0; i < 8; ++i) {
      Write each = write(64, 64 * i, i);
      each.signaled = i == 7;
      if (i % 4 == 3) each.immediate = std::uint32_t(i);
      eight.push_back(each);
    }
    const auto posted = near.pair->post(eight);
    ASSERT_TRUE(posted) << posted.error().text();
    const auto sent = wait(*near.queue, 1), came = wait(*far.queue, 2);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].work, 7u);
    ASSERT_EQ(came.size(), 2u);
    EXPECT_EQ(came[0].immediate, 3u);
    EXPECT_EQ(came[1].immediate, 7u);
  }
}

TEST_P(VerbsLibrary, SendsInlineWhatMayChangeAtOnce) {
  connect_ends();
  ASSERT_GE(near.pair->max_inline(), 16);
  ASSERT_TRUE(far.pair->post_receives(2));
  std::array<std::byte, 16> bytes;
  bytes.fill(std::byte(0xaa));
  Write small = write(0, 200, 1);
  small.parts = {Part{bytes.data(), 10, 0}, Part{bytes.data() + 10, 6, 0}};
  small.inlined = true;
  small.immediate = 5;
  ASSERT_TRUE(near.pair->post({&small, 1}));
  bytes.fill(std::byte(0xbb));
  // As credits are: nothing but the immediate, to no address.
  Write empty;
  empty.immediate = 6;
  empty.signaled = true;
  ASSERT_TRUE(near.pair->post({&empty, 1}));
  const auto came = wait(*far.queue, 2);
  ASSERT_EQ(came.size(), 2u);
  EXPECT_EQ(came[0].bytes, 16u);
  EXPECT_EQ(came[1].bytes, 0u);
  EXPECT_EQ(came[1].immediate, 6u);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(far.bytes[std::size_t(200 + i)], std::byte(0xaa));
}

TEST_P(VerbsLibrary, WakesOncePerArming) {
  connect_ends();
  ASSERT_TRUE(far.pair->post_receives(4));
  Write each = write(8, 0, 1);
  each.immediate = 1;
  ASSERT_TRUE(near.pair->post({&each, 1}));
  ASSERT_EQ(wait(*far.queue, 1).size(), 1u);
  EXPECT_FALSE(readable(far.queue->descriptor(), 0)) << "nobody armed it";

  ASSERT_TRUE(far.queue->arm());
  EXPECT_FALSE(readable(far.queue->descriptor(), 50)) << "nothing came since";
  ASSERT_TRUE(near.pair->post({&each, 1}));
  EXPECT_TRUE(readable(far.queue->descriptor(), 10'000));
  far.queue->take_events();
  EXPECT_FALSE(readable(far.queue->descriptor(), 0));
  EXPECT_EQ(wait(*far.queue, 1).size(), 1u);

  ASSERT_TRUE(near.pair->post({&each, 1}));
  EXPECT_EQ(wait(*far.queue, 1).size(), 1u);
  EXPECT_FALSE(readable(far.queue->descriptor(), 0)) << "an event an arming";
}

TEST_P(VerbsLibrary, SharesReceivesAmongQueuePairs) {
  if (far.device->limits().shared_queues == 0) GTEST_SKIP() << "no shared receive queues";
  auto shared = far.device->make_shared_receive_queue(100);
  ASSERT_TRUE(shared) << shared.error().text();
  far.shared = std::move(*shared);
  ASSERT_TRUE(far.shared->post(70));
  connect_ends();
  const auto second = make_pair(near), peer = make_pair(far);
  connect(*second, near, *peer, far, 0, 0);
  connect(*peer, far, *second, near, 0, 0);
  Write each = write(8, 0, 1);
  for (std::uint32_t i = 0; i < 4; ++i) {
    each.immediate = i;
    ASSERT_TRUE((i % 2 ? *second : *near.pair).post({&each, 1}));
    const auto came = wait(*far.queue, 1);
    ASSERT_EQ(came.size(), 1u);
    EXPECT_EQ(came[0].immediate, i);
    EXPECT_EQ(came[0].queue_pair, (i % 2 ? *peer : *far.pair).number());
    ASSERT_EQ(wait(*near.queue, 1).size(), 1u);
  }
}

TEST_P(VerbsLibrary, RefusesAccessWithAWrongKey) {
  connect_ends();
  ASSERT_TRUE(far.pair->post_receives(3));
  Write wrong = write(8, 0, 3);
  wrong.remote_key ^= 0xff00;
  wrong.signaled = false;
  wrong.immediate = 1;
  const std::byte before = far.bytes[0];
  ASSERT_TRUE(near.pair->post({&wrong, 1}));
  const auto sent = wait(*near.queue, 1);
  ASSERT_EQ(sent.size(), 1u) << "a failed one completes in any case";
  EXPECT_EQ(status_text(sent[0].status), "remote access error");
  EXPECT_EQ(sent[0].work, 3u);
  EXPECT_EQ(far.bytes[0], before);
  // The queue pair is of no more use.
  Write right = write(8, 0, 4);
  ASSERT_TRUE(near.pair->post({&right, 1}));
  const auto flushed = wait(*near.queue, 1);
  ASSERT_EQ(flushed.size(), 1u);
  EXPECT_EQ(status_text(flushed[0].status), "work request flushed error");
}

TEST_P(VerbsLibrary, RefusesWritesBeyondAndIntoWhatIsOnlyRead) {
  connect_ends();
  Write beyond = write(64, far.bytes.size() - 63, 3);
  ASSERT_TRUE(near.pair->post({&beyond, 1}));
  auto sent = wait(*near.queue, 1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(status_text(sent[0].status), "remote access error");
  // The near end's memory is not for others to write.
  connect_ends();
  Write back;
  back.remote_address = reinterpret_cast<std::uintptr_t>(near.bytes.data());
  back.remote_key = near.region->remote_key();
  back.parts[0] = {far.bytes.data(), 8, far.region->local_key()};
  back.part_count = 1;
  ASSERT_TRUE(far.pair->post({&back, 1}));
  sent = wait(*far.queue, 1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(status_text(sent[0].status), "remote access error");
}

TEST_P(VerbsLibrary, NoticesThatThePeerIsGone) {
  connect_ends({.timeout = 12, .retry_count = 1, .rnr_retry = 7});
  far.pair.reset();
  Write lost = write(8, 0, 3);
  lost.signaled = false;
  ASSERT_TRUE(near.pair->post({&lost, 1}));
  const auto sent = wait(*near.queue, 1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(status_text(sent[0].status), "transport retry counter exceeded");
}

TEST_P(VerbsLibrary, NoticesThatThePeerTakesNothing) {
  connect_ends({.timeout = 18, .retry_count = 7, .rnr_retry = 1});
  Write early = write(8, 0, 3);
  early.immediate = 1;
  ASSERT_TRUE(near.pair->post({&early, 1}));
  const auto sent = wait(*near.queue, 1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(status_text(sent[0].status), "RNR retry counter exceeded");
}

TEST_P(VerbsLibrary, WaitsForAReceive) {
  connect_ends();
  Write early = write(8, 0, 3);
  early.immediate = 1;
  ASSERT_TRUE(near.pair->post({&early, 1}));
  EXPECT_EQ(wait(*near.queue, 1, 0.05).size(), 0u);
  ASSERT_TRUE(far.pair->post_receives(1));
  EXPECT_EQ(wait(*near.queue, 1).size(), 1u);
  EXPECT_EQ(wait(*far.queue, 1).size(), 1u);
}

TEST_P(VerbsLibrary, FlushesWhatIsOutstanding) {
  connect_ends();
  ASSERT_TRUE(far.pair->post_receives(5));
  far.pair->to_error();
  const auto flushed = wait(*far.queue, 5);
  ASSERT_EQ(flushed.size(), 5u);
  for (const Completion& each : flushed) {
    EXPECT_EQ(each.status, 5);
    EXPECT_TRUE(each.received);
  }
}

TEST_P(VerbsLibrary, RefusesQueuesThatNoDeviceHas) {
  EXPECT_FALSE(near.device->make_completion_queue(near.device->limits().completions + 1));
  EXPECT_FALSE(
      near.device->make_queue_pair(*near.queue, nullptr, 1, near.device->limits().work_requests + 1, 1, 0));
  EXPECT_FALSE(near.device->register_memory(nullptr, 4096, {}));
}

TEST_P(VerbsLibrary, HasNoEventsByItself) {
  EXPECT_FALSE(readable(near.device->event_descriptor(), 0));
  EXPECT_FALSE(near.device->next_event());
}

INSTANTIATE_TEST_SUITE_P(Providers, VerbsLibrary,
                         testing::Values(Provider::scripted_infiniband, Provider::scripted_roce,
                                         Provider::system),
                         name_of);

// For an ordinary user below a limit of locked memory; the lab runs it so.
TEST(VerbsSystem, ExplainsALimitOfLockedMemory) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  const auto devices = system_library().devices();
  if (!devices || devices->empty()) GTEST_SKIP() << "no RDMA device";
  if (::geteuid() == 0 || limit.rlim_cur > (1 << 20)) GTEST_SKIP() << "this user may lock memory";
  const auto device = system_library().open(devices->front());
  ASSERT_TRUE(device) << device.error().text();
  Memory memory({device->get()}, true);
  const auto lent = memory.lend(8 << 20);
  ASSERT_FALSE(lent);
  EXPECT_EQ(lent.error().cause, Cause::refused);
  EXPECT_EQ(lent.error().what.substr(0, 27), "cannot pin 8 MiB of memory ") << lent.error().what;
  EXPECT_NE(lent.error().next.find("memlock"), std::string::npos);
}

// For a port that goes down and comes back while this runs; the lab does so.
TEST(VerbsSystem, HearsOfAPort) {
  if (!::getenv("RINGTRUE_PORT_GOES")) GTEST_SKIP() << "no port goes";
  const auto devices = system_library().devices();
  ASSERT_TRUE(devices && !devices->empty());
  const auto device = system_library().open(devices->front());
  ASSERT_TRUE(device) << device.error().text();
  std::vector<Event::Kind> kinds;
  for (const Deadline deadline = Deadline::in(Seconds(20)); kinds.size() < 2 && !deadline.passed();) {
    pollfd waiting{(*device)->event_descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, deadline.left_ms());
    while (const auto event = (*device)->next_event()) {
      if (event->kind == Event::Kind::other) continue;  // its GIDs change as well
      EXPECT_EQ(event->port, 1);
      if (kinds.empty() || kinds.back() != event->kind)
        kinds.push_back(event->kind);  // drivers repeat themselves
    }
  }
  EXPECT_EQ(kinds, (std::vector<Event::Kind>{Event::Kind::port_down, Event::Kind::port_up}));
}

TEST(VerbsSystem, KnowsNoDeviceByAnotherName) {
  const auto device = system_library().open("mlx5_that_is_not_there");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().cause, Cause::unavailable);
}

}  // namespace
}  // namespace ringtrue::transport::verbs
