#include "tests/support/fake_verbs.h"

#include <arpa/inet.h>

#include <algorithm>

#include "tests/support/fake_verbs_world.h"

namespace ringtrue::transport::verbs {

using namespace fake;

FakeFabric::FakeFabric() : world_(std::make_unique<World>()) {}
FakeFabric::~FakeFabric() = default;

FakeLibrary& FakeFabric::add_node(std::vector<FakeDevice> devices) {
  const Lock lock(world_->mutex);
  const int node = int(nodes_.size()) + 1;
  for (FakeDevice& device : devices) {
    device.limits.ports = int(device.ports.size());
    world_->cards.push_back({node, std::move(device)});
  }
  nodes_.push_back(std::unique_ptr<FakeLibrary>(new FakeLibrary(*this, node)));
  return *nodes_.back();
}

void FakeFabric::hold() {
  const Lock lock(world_->mutex);
  world_->holding = true;
}
void FakeFabric::release() {
  const Lock lock(world_->mutex);
  world_->holding = false;
  world_->go_on();
}
std::size_t FakeFabric::held() const {
  const Lock lock(world_->mutex);
  std::size_t count = 0;
  for (const auto& [number, pair] : world_->pairs) count += pair->waiting.size();
  return count;
}
std::size_t FakeFabric::deliver(std::size_t count) {
  const Lock lock(world_->mutex);
  return world_->deliver(count);
}
std::size_t FakeFabric::deliver_from(std::uint32_t queue_pair, std::size_t count) {
  const Lock lock(world_->mutex);
  const auto found = world_->pairs.find(queue_pair);
  if (found == world_->pairs.end()) return 0;
  const PairPtr pair = found->second;
  std::size_t done = 0;
  while (done < count && world_->deliver_head(pair)) ++done;
  return done;
}
void FakeFabric::shuffle(std::uint32_t seed) {
  const Lock lock(world_->mutex);
  world_->shuffling = true;
  world_->random.seed(seed);
}

void FakeFabric::fail_write(std::uint64_t count, int status, std::uint32_t vendor_error) {
  const Lock lock(world_->mutex);
  world_->write_failure = {count, status, vendor_error};
}
void FakeFabric::fail_completion(std::uint64_t count, int status, std::uint32_t vendor_error) {
  const Lock lock(world_->mutex);
  world_->completion_failure = {count, status, vendor_error};
}
void FakeFabric::break_queues() {
  const Lock lock(world_->mutex);
  for (const auto& [number, pair] : world_->pairs) pair->queue->broken = true;
}
void FakeFabric::mark_gpu(const std::byte* at, std::uint64_t bytes) {
  const Lock lock(world_->mutex);
  world_->gpu.emplace_back(at, bytes);
}
void FakeFabric::set_clock(std::function<std::int64_t()> clock) {
  const Lock lock(world_->mutex);
  world_->clock = std::move(clock);
}

FakeFabric::Live FakeFabric::live() const {
  const Lock lock(world_->mutex);
  return world_->live;
}
FakeFabric::Totals FakeFabric::totals() const {
  const Lock lock(world_->mutex);
  return world_->totals;
}
std::vector<FakeFabric::LiveRegion> FakeFabric::regions() const {
  const Lock lock(world_->mutex);
  std::vector<LiveRegion> all;
  for (const auto& [key, mapping] : world_->regions) all.push_back(mapping.is);
  return all;
}
std::vector<std::uint32_t> FakeFabric::queue_pairs() const {
  const Lock lock(world_->mutex);
  std::vector<std::uint32_t> all;
  for (const auto& [number, pair] : world_->pairs) all.push_back(number);
  return all;
}
std::vector<std::string> FakeFabric::complaints() const {
  const Lock lock(world_->mutex);
  return world_->complaints;
}

Result<std::vector<std::string>> FakeLibrary::devices() {
  World& world = *fabric_.world_;
  const Lock lock(world.mutex);
  std::vector<std::string> names;
  for (const Card& card : world.cards)
    if (card.node == node_) names.push_back(card.is.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<Device>> FakeLibrary::open(const std::string& name) {
  World& world = *fabric_.world_;
  const Lock lock(world.mutex);
  for (Card& card : world.cards) {
    if (card.node != node_ || card.is.name != name) continue;
    if (!card.is.cannot_open.empty()) return refuse(card.is.cannot_open);
    auto context = std::make_shared<Context>();
    context->card = &card;
    world.contexts.push_back(context);
    ++world.live.devices;
    return fake::open(world, std::move(context));
  }
  return refuse(fmt::format("no RDMA device {}", name));
}

void FakeLibrary::set_active(const std::string& device, int port, bool active) {
  World& world = *fabric_.world_;
  const Lock lock(world.mutex);
  for (Card& card : world.cards) {
    if (card.node != node_ || card.is.name != device) continue;
    PortState& state = card.is.ports.at(std::size_t(port - 1)).state;
    state.active = active;
    state.state = active ? "active" : "down";
    world.raise(card, {active ? Event::Kind::port_up : Event::Kind::port_down, port, 0,
                       active ? "port active" : "port error"});
  }
  world.go_on();
}

void FakeLibrary::raise(const std::string& device, const Event& event) {
  World& world = *fabric_.world_;
  const Lock lock(world.mutex);
  for (Card& card : world.cards)
    if (card.node == node_ && card.is.name == device) world.raise(card, event);
}

Gid fake_gid(const std::string& address, int index, Gid::Type type) {
  Gid gid{.index = index, .type = type};
  if (::inet_pton(AF_INET6, address.c_str(), gid.raw.data()) == 1) return gid;
  gid.raw[10] = gid.raw[11] = std::byte(0xff);
  if (::inet_pton(AF_INET, address.c_str(), gid.raw.data() + 12) != 1) std::abort();
  return gid;
}

namespace {

FakeDevice fake_device(std::string name, PortState state, std::vector<Gid> gids) {
  state.active = true;
  state.state = "active";
  state.rate = BytesPerSecond(12.5e9);
  FakeDevice device;
  device.name = std::move(name);
  device.ports = {{state, std::move(gids)}};
  device.limits = {.queue_pairs = 1024,
                   .work_requests = 8192,
                   .completions = 65536,
                   .shared_queues = 64,
                   .shared_work_requests = 8192};
  return device;
}

}  // namespace

FakeDevice fake_infiniband(std::string name, std::uint16_t lid) {
  return fake_device(std::move(name), {.layer = LinkLayer::infiniband, .lid = lid, .mtu = 4096},
                     {fake_gid(fmt::format("fe80::2:c903:0:{:x}", lid), 0, Gid::Type::infiniband)});
}

FakeDevice fake_roce(std::string name, const std::string& address) {
  return fake_device(std::move(name), {.layer = LinkLayer::ethernet, .mtu = 1024},
                     {fake_gid(address, 0, Gid::Type::roce_v1), fake_gid(address, 1, Gid::Type::roce_v2)});
}

}  // namespace ringtrue::transport::verbs
