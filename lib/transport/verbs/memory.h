// Registered memory: the ranks' own, and a pool of buffers that outlives runs, so that no call waits for a
// registration. A piece of memory is known to all devices in use under one handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/rdma.h"
#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {

// How a device reaches the memory that ranks compute on.
enum class Way : std::uint8_t {
  host,            // registered as it is
  dmabuf,          // GPU memory, ibv_reg_dmabuf_mr
  nvidia_peermem,  // GPU memory, registered like the host's by nvidia_peermem
  staged,          // copied through the pool (pinned host memory)
};
std::string to_text(Way way);

// Reaches memory that this processor does not, a GPU's. Done when it returns. Threads share it.
class Copier {
 public:
  virtual ~Copier() = default;
  virtual Result<void> to_host(std::byte* host, const std::byte* from, std::uint64_t bytes) = 0;
  virtual Result<void> from_host(std::byte* into, const std::byte* host, std::uint64_t bytes) = 0;
};

// The ranks' memory, as the processor gets at it.
struct Reach {
  Copier* copier = nullptr;  // nullptr: it is the host's
  const std::byte* at = nullptr;
  std::uint64_t bytes = 0;

  bool by_copier(const std::byte* there) const {
    return copier && there >= at && std::uint64_t(there - at) < bytes;
  }
  // Between buffers of the host and memory of any kind.
  Result<void> read(std::byte* host, const std::byte* from, std::uint64_t count) const;
  Result<void> write(std::byte* into, const std::byte* host, std::uint64_t count) const;
};

struct Buffer {
  std::byte* at = nullptr;
  std::uint64_t bytes = 0;
  bool on_gpu = false;
  // Of GPU memory: a descriptor of the whole buffer for ibv_reg_dmabuf_mr, with the offset at which it
  // begins; Memory closes it. Empty, or an error: there is none, and why.
  struct Dmabuf {
    int descriptor = -1;
    std::uint64_t offset = 0;
  };
  std::function<Result<Dmabuf>()> export_dmabuf;
  Copier* copier = nullptr;  // outlives its use; nullptr: the processor reaches the memory by itself
};

// A buffer's registrations, one a device, in the order of Memory's devices.
class Registered {
 public:
  std::uint32_t local_key(std::size_t device) const { return regions_[device]->local_key(); }
  std::uint32_t remote_key(std::size_t device) const { return regions_[device]->remote_key(); }
  bool holds(const std::byte* at, std::uint64_t bytes) const {
    return at >= at_ && bytes <= bytes_ && std::uint64_t(at - at_) <= bytes_ - bytes;
  }
  std::byte* at() const { return at_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class Memory;
  std::byte* at_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<std::unique_ptr<Region>> regions_;
};

// A part of the pool; goes back when it is destroyed.
class Lent {
 public:
  Lent() = default;
  Lent(Lent&&) noexcept;
  Lent& operator=(Lent&&) noexcept;
  ~Lent();
  std::byte* at() const { return at_; }
  std::uint64_t bytes() const { return bytes_; }
  const Registered& registered() const { return *registered_; }
  explicit operator bool() const { return registered_ != nullptr; }

 private:
  friend class Memory;
  class Memory* memory_ = nullptr;
  const Registered* registered_ = nullptr;
  std::byte* at_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Not thread-safe: used while a session connects and ends.
class Memory {
 public:
  // The devices outlive it.
  Memory(std::vector<Device*> devices, bool relaxed_ordering);
  ~Memory();

  // One more device, which gets the last index; the pool is known to it as well. The ranks' memory has to be
  // given to use() again.
  Result<void> add(Device& device);

  // The ranks' memory, instead of what was before; nothing is done where it is the same: before it is
  // unmapped, use({}, ...) takes it back. `wanted` as the operator has it. Where it cannot be registered and
  // need not be: Way::staged, and why in why_staged(). Errors: refused (memlock), unavailable.
  Result<Way> use(const Buffer& buffer, run::Registration wanted);
  // nullptr: staged.
  const Registered* own() const { return own_ ? &*own_ : nullptr; }
  const std::string& why_staged() const { return why_staged_; }

  // From the pool, which grows by whole pieces and is kept; 64-byte aligned. Errors as use().
  Result<Lent> lend(std::uint64_t bytes);
  // ... and remotely writable, under keys that open nothing else that is in use.
  Result<Lent> lend_ring(std::uint64_t bytes);
  std::uint64_t pooled() const;  // bytes registered for the pool

 private:
  friend class Lent;
  struct Piece;
  Lent lent(Piece& piece, std::byte* at, std::uint64_t bytes);
  void give_back(const Lent& lent);
  using Register = std::function<Result<std::unique_ptr<Region>>(Device&, Access)>;
  Result<Registered> on_all(std::byte* at, std::uint64_t bytes, bool remote_write, const Register& how) const;
  Result<Registered> on_all(std::byte* at, std::uint64_t bytes, bool remote_write) const;
  Result<Registered> on_all_by_dmabuf(const Buffer& buffer) const;
  Result<Way> register_own(const Buffer& buffer);
  Result<void> grow(std::uint64_t bytes, bool ring);

  std::vector<Device*> devices_;
  bool relaxed_ordering_ = false;
  std::optional<Registered> own_;
  struct Use {  // what use() was last asked for, and what came of it
    std::byte* at = nullptr;
    std::uint64_t bytes = 0;
    bool on_gpu = false;
    run::Registration wanted = run::Registration::automatic;
    Way way = Way::staged;
  };
  std::optional<Use> use_;
  std::string why_staged_;
  std::vector<std::unique_ptr<Piece>> pieces_;
};

}  // namespace ringtrue::transport::verbs
