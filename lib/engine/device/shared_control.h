// The control block of a job on device memory, through which the processes of a node exchange offers,
// refusals and meet: a place for each process at the end of the memory that they share.
//
// Phases keep readers behind writers: an offer is written in prepare and read in connect, a refusal written
// in connect and read after the first meet().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace ringtrue::engine {

class SharedControl {
 public:
  static std::uint64_t bytes(int processes);
  // `offset` of the memfd, in whole pages, with bytes(processes) behind it. This process's place is cleared.
  static Result<std::unique_ptr<SharedControl>> open(int memfd, std::uint64_t offset, int process,
                                                     int processes);
  ~SharedControl();
  SharedControl(const SharedControl&) = delete;

  static constexpr std::size_t max_offer = 64 * 1024, max_refusal = 1024;
  Result<void> offer(std::span<const std::byte> bytes);
  std::span<const std::byte> offer_of(int process) const;
  void refuse(const std::string& why);  // cut to max_refusal
  std::string refusal_of(int process) const;

  // Until all processes have come as often. Errors: deadline, naming a process that has not; cancelled when
  // `stop` says so.
  Result<void> meet(const std::function<bool()>& stop, Deadline deadline);

 private:
  struct Place;
  SharedControl(Place* places, int process, int processes)
      : places_(places), process_(process), processes_(processes) {}

  Place* places_;
  int process_, processes_;
  std::uint64_t times_ = 0;
};

}  // namespace ringtrue::engine
