// Registered memory: the ranks' own, and a pool of buffers that outlives runs, so that no call waits for a
// registration. A piece of memory is known to all devices in use under one handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/keys.h"
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
  // begins. Empty, or an error: there is none, and why.
  struct Dmabuf {
    OwnedFd descriptor;
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

// A buffer of the pool; goes back when it is destroyed.
class Lent {
 public:
  std::byte* at() const { return registered().at(); }
  std::uint64_t bytes() const { return bytes_; }
  const Registered& registered() const;
  explicit operator bool() const { return pooled_ != nullptr; }

 private:
  friend class Memory;
  struct Pooled;
  struct GiveBack {
    void operator()(Pooled* pooled) const;
  };
  std::unique_ptr<Pooled, GiveBack> pooled_;
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

  // From the pool, whose buffers are kept: the smallest that is large enough, or a new one in the place of
  // one that is too small. One that is remotely writable has keys that open nothing else. Errors as use().
  Result<Lent> lend(std::uint64_t bytes, bool remote_write = false);
  std::uint64_t pooled() const;  // bytes registered for the pool

 private:
  using Register = std::function<Result<std::unique_ptr<Region>>(Device&, Access)>;
  Access access_to(const Device& device, bool remote_write) const {
    return {remote_write, relaxed_ordering_ && device.limits().relaxed_ordering};
  }
  Result<Registered> on_all(std::byte* at, std::uint64_t bytes, bool remote_write, const Register& how) const;
  Result<Registered> on_all(std::byte* at, std::uint64_t bytes, bool remote_write) const;
  Result<Registered> on_all_by_dmabuf(const Buffer& buffer) const;
  Result<Way> register_own(const Buffer& buffer);
  Result<void> grow(std::uint64_t bytes, bool remote_write);

  std::vector<Device*> devices_;
  bool relaxed_ordering_ = false;
  std::optional<Registered> own_;
  using Asked = std::tuple<std::byte*, std::uint64_t, bool, run::Registration>;
  std::optional<std::pair<Asked, Way>> use_;  // what use() was last asked for, and what came of it
  std::string why_staged_;
  std::vector<std::unique_ptr<Lent::Pooled>> pool_;
};

}  // namespace ringtrue::transport::verbs

namespace ringtrue {

template <>
inline constexpr const char* keys_of<transport::verbs::Way>[] = {"host", "dmabuf", "nvidia_peermem",
                                                                 "staged"};

}  // namespace ringtrue
