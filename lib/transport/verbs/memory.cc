#include "transport/verbs/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ringtrue::transport::verbs {
Result<void> Reach::read(std::byte* host, const std::byte* from, std::uint64_t count) const {
  if (by_copier(from)) return copier->to_host(host, from, count);
  std::memcpy(host, from, count);
  return {};
}
Result<void> Reach::write(std::byte* into, const std::byte* host, std::uint64_t count) const {
  if (by_copier(into)) return copier->from_host(into, host, count);
  std::memcpy(into, host, count);
  return {};
}

// A mapping of its own.
struct Lent::Pooled {
  Pooled(Registered memory, bool writable) : registered(std::move(memory)), remote_write(writable) {}
  ~Pooled() {
    std::byte* const at = registered.at();
    const std::uint64_t bytes = registered.bytes();
    registered = {};  // before the memory goes
    ::munmap(at, bytes);
  }
  Registered registered;
  const bool remote_write;
  bool lent = false;
};

const Registered& Lent::registered() const {
  return pooled_->registered;
}

void Lent::GiveBack::operator()(Pooled* pooled) const {
  pooled->lent = false;
}

Memory::Memory(std::vector<Device*> devices, bool relaxed_ordering)
    : devices_(std::move(devices)), relaxed_ordering_(relaxed_ordering) {}
Memory::~Memory() = default;

// On each device or on none.
Result<Registered> Memory::on_all(std::byte* at, std::uint64_t bytes, bool remote_write,
                                  const Register& how) const {
  Registered all;
  all.at_ = at;
  all.bytes_ = bytes;
  for (Device* device : devices_) {
    auto region = how(*device, access_to(*device, remote_write));
    if (!region) return tl::unexpected(region.error());
    all.regions_.push_back(std::move(*region));
  }
  return all;
}
Result<Registered> Memory::on_all(std::byte* at, std::uint64_t bytes, bool remote_write) const {
  return on_all(at, bytes, remote_write,
                [&](Device& device, Access access) { return device.register_memory(at, bytes, access); });
}
Result<Registered> Memory::on_all_by_dmabuf(const Buffer& buffer) const {
  if (!buffer.export_dmabuf) return fail(Cause::unavailable, "the GPU's driver exports no dma-buf");
  const auto exported = buffer.export_dmabuf();
  if (!exported) return tl::unexpected(exported.error());
  return on_all(buffer.at, buffer.bytes, false, [&](Device& device, Access access) {
    return device.register_dmabuf(exported->descriptor.get(), exported->offset, buffer.bytes, buffer.at,
                                  access);
  });
}

// The first way that works, with own_ set.
Result<Way> Memory::register_own(const Buffer& buffer) {
  auto dmabuf = buffer.on_gpu ? on_all_by_dmabuf(buffer) : fail(Cause::unavailable, "");
  if (dmabuf) {
    own_ = std::move(*dmabuf);
    return Way::dmabuf;
  }
  auto plain = on_all(buffer.at, buffer.bytes, false);
  if (plain) {
    own_ = std::move(*plain);
    return buffer.on_gpu ? Way::nvidia_peermem : Way::host;
  }
  if (!buffer.on_gpu) return tl::unexpected(plain.error());
  return fail(
      Cause::unavailable,
      fmt::format("by dma-buf: {}; by nvidia_peermem: {}", dmabuf.error().what, plain.error().what), {},
      "modprobe nvidia_peermem, or a driver and a kernel with dma-buf (open kernel modules, Linux 5.12)");
}

Result<Way> Memory::use(const Buffer& buffer, run::Registration wanted) {
  const Asked asked{buffer.at, buffer.bytes, buffer.on_gpu, wanted};
  if (use_ && use_->first == asked) return use_->second;
  use_.reset();
  own_.reset();
  why_staged_.clear();
  Way way = Way::staged;
  if (wanted != run::Registration::staged && buffer.bytes > 0) {
    auto registered = register_own(buffer);
    if (registered)
      way = *registered;
    else if (wanted == run::Registration::direct)
      return registered;
    else
      why_staged_ = registered.error().what;
  }
  use_ = {asked, way};
  return way;
}

Result<void> Memory::add(Device& device) {
  std::vector<std::unique_ptr<Region>> regions;
  for (const auto& each : pool_) {
    auto region = device.register_memory(each->registered.at(), each->registered.bytes(),
                                         access_to(device, each->remote_write));
    if (!region) return tl::unexpected(region.error());
    regions.push_back(std::move(*region));
  }
  for (std::size_t i = 0; i < regions.size(); ++i)
    pool_[i]->registered.regions_.push_back(std::move(regions[i]));
  devices_.push_back(&device);
  use_.reset();
  own_.reset();
  return {};
}

Result<void> Memory::grow(std::uint64_t bytes, bool remote_write) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return fail(Cause::unavailable, fmt::format("no memory for the pool: {}", std::strerror(errno)));
  auto registered = on_all(static_cast<std::byte*>(at), bytes, remote_write);
  if (!registered) {
    ::munmap(at, bytes);
    return tl::unexpected(registered.error());
  }
  pool_.push_back(std::make_unique<Lent::Pooled>(std::move(*registered), remote_write));
  return {};
}

Result<Lent> Memory::lend(std::uint64_t bytes, bool remote_write) {
  bytes = std::max<std::uint64_t>(bytes, 1);
  auto best = pool_.end(), small = pool_.end();
  for (auto each = pool_.begin(); each != pool_.end(); ++each) {
    if ((*each)->lent || (*each)->remote_write != remote_write) continue;
    const std::uint64_t has = (*each)->registered.bytes();
    if (has < bytes)
      small = each;
    else if (best == pool_.end() || has < (*best)->registered.bytes())
      best = each;
  }
  if (best == pool_.end()) {
    if (small != pool_.end()) pool_.erase(small);
    if (const auto grown = grow(bytes, remote_write); !grown) return tl::unexpected(grown.error());
    best = pool_.end() - 1;
  }
  Lent lent;
  (*best)->lent = true;
  lent.pooled_.reset(best->get());
  lent.bytes_ = bytes;
  return lent;
}

std::uint64_t Memory::pooled() const {
  std::uint64_t sum = 0;
  for (const auto& each : pool_) sum += each->registered.bytes();
  return sum;
}

}  // namespace ringtrue::transport::verbs
