#include "transport/verbs/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

namespace ringtrue::transport::verbs {
namespace {

constexpr std::uint64_t piece_bytes = 4 << 20, page = 4096, alignment = 64;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

std::string to_text(Way way) {
  switch (way) {
    case Way::host:
      return "host";
    case Way::dmabuf:
      return "dmabuf";
    case Way::nvidia_peermem:
      return "nvidia_peermem";
    case Way::staged:
      return "staged";
  }
  return "unknown";
}

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

// A mapping of its own, and what of it is free: offset to bytes.
struct Memory::Piece {
  Piece(std::uint64_t size, bool is_ring)
      : ring(is_ring),
        at(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        bytes(size),
        free{{0, size}} {}
  ~Piece() {
    registered = {};  // before the memory goes
    if (at != MAP_FAILED) ::munmap(at, bytes);
  }

  std::byte* take(std::uint64_t wanted) {
    for (auto hole = free.begin(); hole != free.end(); ++hole) {
      if (hole->second < wanted) continue;
      const auto [offset, size] = *hole;
      free.erase(hole);
      if (size > wanted) free.emplace(offset + wanted, size - wanted);
      return static_cast<std::byte*>(at) + offset;
    }
    return nullptr;
  }
  void give(const std::byte* part, std::uint64_t size) {
    auto hole = free.emplace(std::uint64_t(part - static_cast<std::byte*>(at)), size).first;
    if (const auto next = std::next(hole); next != free.end() && hole->first + hole->second == next->first) {
      hole->second += next->second;
      free.erase(next);
    }
    if (hole == free.begin()) return;
    if (const auto before = std::prev(hole); before->first + before->second == hole->first) {
      before->second += hole->second;
      free.erase(hole);
    }
  }

  bool whole() const { return !free.empty() && free.begin()->second == bytes; }

  bool ring;  // remotely writable, and lent as a whole
  void* at;
  std::uint64_t bytes;
  std::map<std::uint64_t, std::uint64_t> free;
  Registered registered;
};

Lent::Lent(Lent&& other) noexcept {
  *this = std::move(other);
}
Lent& Lent::operator=(Lent&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(registered_, other.registered_);
  std::swap(at_, other.at_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
Lent::~Lent() {
  if (memory_) memory_->give_back(*this);
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
    auto region = how(*device, {remote_write, relaxed_ordering_ && device->limits().relaxed_ordering});
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
  auto all = on_all(buffer.at, buffer.bytes, false, [&](Device& device, Access access) {
    return device.register_dmabuf(exported->descriptor, exported->offset, buffer.bytes, buffer.at, access);
  });
  if (exported->descriptor >= 0) ::close(exported->descriptor);
  return all;
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
  if (use_ && use_->at == buffer.at && use_->bytes == buffer.bytes && use_->on_gpu == buffer.on_gpu &&
      use_->wanted == wanted)
    return use_->way;
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
  use_ = {buffer.at, buffer.bytes, buffer.on_gpu, wanted, way};
  return way;
}

Result<void> Memory::add(Device& device) {
  std::vector<std::unique_ptr<Region>> regions;
  for (const auto& piece : pieces_) {
    const Access access{piece->ring, relaxed_ordering_ && device.limits().relaxed_ordering};
    auto region = device.register_memory(static_cast<std::byte*>(piece->at), piece->bytes, access);
    if (!region) return tl::unexpected(region.error());
    regions.push_back(std::move(*region));
  }
  for (std::size_t i = 0; i < regions.size(); ++i)
    pieces_[i]->registered.regions_.push_back(std::move(regions[i]));
  devices_.push_back(&device);
  use_.reset();
  own_.reset();
  return {};
}

Result<void> Memory::grow(std::uint64_t bytes, bool ring) {
  auto piece = std::make_unique<Piece>(bytes, ring);
  if (piece->at == MAP_FAILED)
    return fail(Cause::unavailable, fmt::format("no memory for the pool: {}", std::strerror(errno)));
  auto registered = on_all(static_cast<std::byte*>(piece->at), bytes, ring);
  if (!registered) return tl::unexpected(registered.error());
  piece->registered = std::move(*registered);
  pieces_.push_back(std::move(piece));
  return {};
}

Result<Lent> Memory::lend(std::uint64_t bytes) {
  const std::uint64_t wanted = round_up(std::max<std::uint64_t>(bytes, 1), alignment);
  for (;;) {
    for (const auto& piece : pieces_)
      if (std::byte* at = piece->ring ? nullptr : piece->take(wanted)) return lent(*piece, at, bytes);
    // What is short of a piece may still fit below the limit of locked memory.
    const std::uint64_t exact = round_up(wanted, page), whole = std::max(exact, piece_bytes);
    if (auto grown = grow(whole, false); !grown && (exact == whole || !(grown = grow(exact, false))))
      return tl::unexpected(grown.error());
  }
}

// The smallest that is large enough; else a new one, in the place of one that is too small for this run.
Result<Lent> Memory::lend_ring(std::uint64_t bytes) {
  auto best = pieces_.end(), small = pieces_.end();
  for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece) {
    if (!(*piece)->ring || !(*piece)->whole()) continue;
    if ((*piece)->bytes < bytes)
      small = piece;
    else if (best == pieces_.end() || (*piece)->bytes < (*best)->bytes)
      best = piece;
  }
  if (best == pieces_.end()) {
    if (small != pieces_.end()) pieces_.erase(small);
    if (const auto grown = grow(std::max<std::uint64_t>(bytes, 1), true); !grown)
      return tl::unexpected(grown.error());
    best = pieces_.end() - 1;
  }
  return lent(**best, (*best)->take((*best)->bytes), bytes);
}

Lent Memory::lent(Piece& piece, std::byte* at, std::uint64_t bytes) {
  Lent lent;
  lent.memory_ = this;
  lent.registered_ = &piece.registered;
  lent.at_ = at;
  lent.bytes_ = bytes;
  return lent;
}

std::uint64_t Memory::pooled() const {
  std::uint64_t sum = 0;
  for (const auto& piece : pieces_) sum += piece->bytes;
  return sum;
}

void Memory::give_back(const Lent& lent) {
  for (const auto& piece : pieces_)
    if (&piece->registered == lent.registered_)
      piece->give(lent.at_,
                  piece->ring ? piece->bytes : round_up(std::max<std::uint64_t>(lent.bytes_, 1), alignment));
}

}  // namespace ringtrue::transport::verbs
