// How a group's calls are played, once its ranks' memory is in place; internal to the transport.
// kernel_player.cc: by kernels that interpret programs. copy_player.cc: by the host, which tells copy engines
// and reductions the same programs.
#pragma once

#include <memory>
#include <string>

#include "transport/cuda/dataflow.h"
#include "transport/cuda/group_state.h"

namespace ringtrue::transport::cuda {

class Player {
 public:
  virtual ~Player() = default;
  // What run() names until the next prepare(). `call` as compiled.
  virtual Result<void> prepare(const collective::Algorithm& algorithm, const collective::Layout& layout,
                               const collective::Call& call, Deadline deadline) = 0;
  // Tells the GPUs `calls.count` calls; does not wait for them. Each context's start and stop are recorded
  // around.
  virtual Result<void> begin(Calls calls) = 0;
  // Kernels are told to leave.
  virtual void stop() = 0;
  // Which rank was stuck, where, and for whom; empty: none did. After stop(), when all has left that will.
  virtual std::string where_stuck() = 0;
};

Result<std::unique_ptr<Player>> make_kernel_player(GroupState& state);
Result<std::unique_ptr<Player>> make_copy_player(GroupState& state);

}  // namespace ringtrue::transport::cuda
