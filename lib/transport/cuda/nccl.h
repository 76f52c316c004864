// NCCL's own allreduce on the same GPUs and buffers, as a reference: is it the fabric, or the library? Opened
// where it is asked for; nothing links it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "collective/types.h"

namespace ringtrue::transport::cuda {

// Algorithm and protocol of the last call that NCCL's log tells of, "RING, LL128"; releases that write
// numbers mean the same. Empty: it tells of none.
std::string algorithm_in_log(const std::string& log);

class Nccl {
 public:
  // A rank on each of `gpus`, as CUDA counts them in this process. Errors, unavailable: no library, no such
  // function in it, or what it says against these GPUs; deadline: it did not connect them by then.
  static Result<std::unique_ptr<Nccl>> open(std::span<const int> gpus, Deadline deadline,
                                            const std::string& library = "libnccl.so.2");
  ~Nccl();
  Nccl(const Nccl&) = delete;

  struct Part {
    void* stream = nullptr;     // CUDA's own: Stream::native()
    std::byte* data = nullptr;  // in place
  };
  // Tells the streams, in the order of `gpus`, and does not wait, but for the first call, which may connect
  // the GPUs: errors as of open().
  Result<void> allreduce(std::span<const Part> parts, std::uint64_t elements, collective::Type type,
                         collective::Operation operation, Deadline deadline);

  // What hangs is given up: its streams get free, and nothing more can be asked of it.
  void abort();

  std::string version() const;  // "NCCL 2.28.9"
  // Of the last call, by its log; empty, too, where NCCL_DEBUG sends the log elsewhere.
  std::string how() const;

 private:
  struct Functions;
  Nccl() = default;
  static int group(const Functions& f, std::span<void* const> ranks, std::span<const Part> parts,
                   std::uint64_t elements, int type, int operation);
  Result<void> checked(std::optional<int> result, const char* what) const;

  std::shared_ptr<Functions> functions_;
  std::vector<void*> ranks_;
  bool connected_ = false;  // a call was made
  int version_ = 0;
  int log_ = -1;  // a memfd
};

}  // namespace ringtrue::transport::cuda
