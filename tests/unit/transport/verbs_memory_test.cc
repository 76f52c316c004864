#include "transport/verbs/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "run/rdma.h"
#include "tests/support/fake_verbs.h"

namespace ringtrue::transport::verbs {
namespace {

class VerbsMemory : public testing::Test {
 protected:
  void TearDown() override {
    memory.reset();
    EXPECT_EQ(fabric.live().regions, 0);
    EXPECT_EQ(fabric.live().pinned, 0u);
    devices.clear();
    EXPECT_EQ(fabric.complaints(), std::vector<std::string>());
  }
  void open(std::vector<FakeDevice> described, bool relaxed_ordering = false) {
    FakeLibrary& library = fabric.add_node(std::move(described));
    std::vector<Device*> pointers;
    const auto names = library.devices();
    for (const std::string& name : *names) {
      auto device = library.open(name);
      devices.push_back(std::move(*device));
      pointers.push_back(devices.back().get());
    }
    memory = std::make_unique<Memory>(pointers, relaxed_ordering);
  }
  static FakeDevice device(const std::string& name, void (*change)(FakeDevice&)) {
    FakeDevice made = fake_infiniband(name, 7);
    change(made);
    return made;
  }
  Buffer gpu() {
    fabric.mark_gpu(bytes.data(), bytes.size());
    return {bytes.data(), bytes.size(), true, [this]() -> Result<Buffer::Dmabuf> {
              descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
              return Buffer::Dmabuf{OwnedFd(descriptor), 4096};
            }};
  }
  Buffer host() { return {bytes.data(), bytes.size(), false, {}}; }

  FakeFabric fabric;
  std::vector<std::unique_ptr<Device>> devices;
  std::unique_ptr<Memory> memory;
  std::vector<std::byte> bytes = std::vector<std::byte>(100'000);
  int descriptor = -1;
};

TEST_F(VerbsMemory, RegistersTheRanksMemoryOnEachDeviceOnce) {
  open({fake_infiniband("mlx5_0", 7), fake_infiniband("mlx5_1", 8)});
  EXPECT_EQ(memory->use(host(), run::Registration::automatic), Way::host);
  ASSERT_NE(memory->own(), nullptr);
  EXPECT_NE(memory->own()->local_key(0), memory->own()->local_key(1));
  EXPECT_EQ(fabric.live().regions, 2);
  EXPECT_EQ(memory->use(host(), run::Registration::automatic), Way::host);
  EXPECT_EQ(fabric.totals().registrations, 2u);
  // Other memory takes its place, and none at all, too.
  Buffer half = host();
  half.bytes /= 2;
  EXPECT_EQ(memory->use(half, run::Registration::direct), Way::host);
  EXPECT_EQ(fabric.live().pinned, bytes.size());
  EXPECT_EQ(memory->use({}, run::Registration::direct), Way::staged);
  EXPECT_EQ(memory->own(), nullptr);
  EXPECT_EQ(fabric.live().regions, 0);
}

TEST_F(VerbsMemory, KnowsWhatARegistrationHolds) {
  open({fake_infiniband("mlx5_0", 7)});
  ASSERT_TRUE(memory->use(host(), run::Registration::direct));
  const Registered& own = *memory->own();
  EXPECT_TRUE(own.holds(bytes.data(), bytes.size()));
  EXPECT_TRUE(own.holds(bytes.data() + bytes.size(), 0));
  EXPECT_FALSE(own.holds(bytes.data() + 1, bytes.size()));
  EXPECT_FALSE(own.holds(bytes.data() + 1, ~std::uint64_t(0)));
  // Nobody writes into the ranks' memory from afar.
  EXPECT_FALSE(fabric.regions().at(0).access.remote_write);
}

TEST_F(VerbsMemory, StagesWhatCannotBePinnedAndSaysWhy) {
  open({device("mlx5_0", [](FakeDevice& d) { d.max_pinned = 64 << 10; })});
  EXPECT_EQ(memory->use(host(), run::Registration::automatic), Way::staged);
  EXPECT_EQ(memory->own(), nullptr);
  EXPECT_EQ(memory->why_staged(),
            "cannot pin 97.66 KiB of memory on mlx5_0: the limit of locked memory is 64 KiB");
  const auto direct = memory->use(host(), run::Registration::direct);
  ASSERT_FALSE(direct);
  EXPECT_EQ(direct.error().cause, Cause::refused);
  EXPECT_NE(direct.error().next.find("memlock"), std::string::npos);
}

TEST_F(VerbsMemory, RegistersOnAllDevicesOrOnNone) {
  open({fake_infiniband("mlx5_0", 7), device("mlx5_1", [](FakeDevice& d) { d.max_pinned = 0; })});
  EXPECT_EQ(memory->use(host(), run::Registration::automatic), Way::staged);
  EXPECT_EQ(fabric.live().regions, 0);
}

TEST_F(VerbsMemory, StagesOnRequestWithoutAReason) {
  open({fake_infiniband("mlx5_0", 7)});
  EXPECT_EQ(memory->use(host(), run::Registration::staged), Way::staged);
  EXPECT_EQ(memory->why_staged(), "");
  EXPECT_EQ(fabric.totals().registrations, 0u);
}

TEST_F(VerbsMemory, TakesAGpusMemoryByDmabuf) {
  open({device("mlx5_0", [](FakeDevice& d) { d.dmabuf = d.peermem = true; })});
  EXPECT_EQ(memory->use(gpu(), run::Registration::automatic), Way::dmabuf);
  EXPECT_TRUE(fabric.regions().at(0).dmabuf);
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1) << "the descriptor is closed";
}

TEST_F(VerbsMemory, TakesAGpusMemoryByPeermemWhereThereIsNoDmabuf) {
  open({device("mlx5_0", [](FakeDevice& d) { d.peermem = true; })});
  EXPECT_EQ(memory->use(gpu(), run::Registration::automatic), Way::nvidia_peermem);
  EXPECT_FALSE(fabric.regions().at(0).dmabuf);
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1) << "the descriptor is closed";
  Buffer without = gpu();
  without.export_dmabuf = {};
  without.bytes /= 2;
  EXPECT_EQ(memory->use(without, run::Registration::direct), Way::nvidia_peermem);
}

TEST_F(VerbsMemory, StagesAGpusMemoryThatNoDeviceReaches) {
  open({fake_infiniband("mlx5_0", 7)});
  EXPECT_EQ(memory->use(gpu(), run::Registration::automatic), Way::staged);
  EXPECT_EQ(memory->why_staged(),
            "by dma-buf: mlx5_0 takes no dma-buf: operation not supported; by nvidia_peermem: cannot "
            "register memory on "
            "mlx5_0: bad address");
  const auto direct = memory->use(gpu(), run::Registration::direct);
  ASSERT_FALSE(direct);
  EXPECT_EQ(direct.error().cause, Cause::unavailable);
  EXPECT_NE(direct.error().next.find("nvidia_peermem"), std::string::npos);
}

TEST_F(VerbsMemory, AsksForRelaxedOrderingWhereItIsKnown) {
  open(
      {device("mlx5_0", [](FakeDevice& d) { d.limits.relaxed_ordering = true; }), fake_infiniband("rxe0", 8)},
      true);
  ASSERT_TRUE(memory->use(host(), run::Registration::direct));
  const auto lent = memory->lend(100);
  ASSERT_TRUE(lent);
  for (const auto& region : fabric.regions())
    EXPECT_EQ(region.access.relaxed_ordering, region.device == "mlx5_0") << region.device;
}

TEST_F(VerbsMemory, LeavesRelaxedOrderingOutWhereItIsNotWanted) {
  open({device("mlx5_0", [](FakeDevice& d) { d.limits.relaxed_ordering = true; })}, false);
  ASSERT_TRUE(memory->use(host(), run::Registration::direct));
  EXPECT_FALSE(fabric.regions().at(0).access.relaxed_ordering);
}

TEST_F(VerbsMemory, LendsAlignedBuffersThatDoNotOverlap) {
  open({fake_infiniband("mlx5_0", 7), fake_infiniband("mlx5_1", 8)});
  std::vector<Lent> all;
  for (const std::uint64_t size : {1u, 64u, 65u, 4096u, 0u, 100'000u}) {
    auto lent = memory->lend(size);
    ASSERT_TRUE(lent) << size;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lent->at()) % 64, 0u);
    EXPECT_GE(lent->bytes(), size);
    EXPECT_TRUE(lent->registered().holds(lent->at(), size));
    std::memset(lent->at(), int(all.size()), size);
    all.push_back(std::move(*lent));
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(std::all_of(all[i].at(), all[i].at() + (i == 4 ? 0 : all[i].bytes()),
                            [&](auto b) { return b == std::byte(i); }));
  EXPECT_EQ(fabric.live().pinned, 2 * memory->pooled());
  for (const auto& region : fabric.regions()) EXPECT_FALSE(region.access.remote_write);
}

TEST_F(VerbsMemory, ARingIsOpenedByKeysOfItsOwn) {
  open({fake_infiniband("mlx5_0", 7)});
  const auto staging = memory->lend(1000), first = memory->lend(1000, true),
             second = memory->lend(1000, true);
  ASSERT_TRUE(staging && first && second);
  EXPECT_NE(first->registered().remote_key(0), second->registered().remote_key(0));
  for (const auto& region : fabric.regions()) {
    EXPECT_EQ(region.access.remote_write, region.at == first->at() || region.at == second->at());
    EXPECT_EQ(region.bytes, 1000u) << "not a byte more";
  }
}

TEST_F(VerbsMemory, BuffersAreKeptAndReplacedWhereTheyAreTooSmall) {
  open({fake_infiniband("mlx5_0", 7)});
  const auto run = [&](std::uint64_t bytes) {
    const auto before = fabric.totals().registrations;
    std::vector<Lent> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(std::move(*memory->lend(bytes, true)));
      EXPECT_EQ(all.back().bytes(), bytes);
    }
    return fabric.totals().registrations - before;
  };
  EXPECT_EQ(run(1000), 3u);
  EXPECT_EQ(run(1000), 0u);
  EXPECT_EQ(run(64), 0u) << "larger ones do";
  EXPECT_EQ(run(5000), 3u);
  EXPECT_EQ(memory->pooled(), 15'000u) << "instead of those before";
  EXPECT_EQ(run(1000), 0u);
}

TEST_F(VerbsMemory, ReusesWhatComesBack) {
  open({fake_infiniband("mlx5_0", 7)});
  for (int run = 0; run < 10; ++run) {
    std::vector<Lent> all;
    for (int i = 0; i < 3; ++i) all.push_back(std::move(*memory->lend(1 << 20)));
    std::swap(all[0], all[1]);
    all.erase(all.begin() + 1);  // gaps in the middle, gone in another order
    all.push_back(std::move(*memory->lend(1 << 20)));
  }
  EXPECT_EQ(memory->pooled(), 3u << 20);
  EXPECT_EQ(fabric.totals().registrations, 3u);
}

TEST_F(VerbsMemory, MakesThePoolKnownToADeviceThatComesLater) {
  open({fake_infiniband("mlx5_0", 7)});
  const auto early = memory->lend(100);
  ASSERT_TRUE(early);
  ASSERT_TRUE(memory->use(host(), run::Registration::direct));
  auto second = fabric.add_node({fake_infiniband("mlx5_1", 8)}).open("mlx5_1");
  devices.push_back(std::move(*second));
  ASSERT_TRUE(memory->add(*devices.back()));
  EXPECT_NE(early->registered().local_key(1), early->registered().local_key(0));
  EXPECT_EQ(memory->own(), nullptr);
  ASSERT_TRUE(memory->use(host(), run::Registration::direct));
  EXPECT_NE(memory->own()->local_key(1), memory->own()->local_key(0));
  EXPECT_EQ(fabric.live().regions, 4);
}

TEST_F(VerbsMemory, ExplainsWhatThePoolCannotPin) {
  open({device("mlx5_0", [](FakeDevice& d) { d.max_pinned = 64 << 10; })});
  const auto small = memory->lend(8000);
  ASSERT_TRUE(small);
  EXPECT_EQ(memory->pooled(), 8000u);
  const auto large = memory->lend(1 << 20);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().cause, Cause::refused);
  EXPECT_EQ(large.error().what, "cannot pin 1 MiB of memory on mlx5_0: the limit of locked memory is 64 KiB");
  EXPECT_EQ(memory->pooled(), 8000u);
}

TEST_F(VerbsMemory, MovesWhatIsLent) {
  open({fake_infiniband("mlx5_0", 7)});
  Lent a = std::move(*memory->lend(100));
  std::byte* const at = a.at();
  Lent b = std::move(a);
  EXPECT_EQ(b.at(), at);
  EXPECT_FALSE(a);
  b = Lent();
  EXPECT_FALSE(b);
  EXPECT_EQ(memory->lend(100)->at(), at);
}

}  // namespace
}  // namespace ringtrue::transport::verbs
