// Collectives on GPU memory, compared by the GPU itself: for tests and figures, on real GPUs and scripted
// ones.
#pragma once

#include <memory>

#include "collective/algorithm.h"
#include "transport/cuda/transport.h"

namespace ringtrue::test {

// `ranks` ranks on one GPU of this process, connected, with room for calls of `bytes` by any algorithm that
// kernels interpret.
Result<std::unique_ptr<transport::cuda::Group>> group_on(
    transport::cuda::Driver& driver, int gpu, collective::Rank ranks, std::uint64_t bytes,
    transport::cuda::Play play = transport::cuda::Play::automatic);

// Bytes of GPU memory that such a group takes, but for some MiB.
std::uint64_t bytes_of_group(collective::Rank ranks, std::uint64_t bytes);

// Those that kernels interpret.
std::vector<const collective::Algorithm*> algorithms_on_gpus();

// Fills every rank's buffer, plays, and compares every element on every rank: how many are wrong. With more
// than one call in `calls`, the operation has to be one whose result stays what it is (min, max).
Result<std::uint64_t> wrong_of(transport::cuda::Group& group, collective::Rank ranks,
                               const collective::Algorithm& algorithm, const collective::Call& call,
                               transport::cuda::Calls calls = {});

}  // namespace ringtrue::test
