// The kernels' launches, as C++ that needs no CUDA header; internal to the module. Each returns CUDA's error
// code.
#pragma once

#include "transport/cuda/jobs.h"

struct CUstream_st;

namespace ringtrue::transport::cuda::kernels {

// 0 blocks: the error is in `error`.
int resident_blocks(std::uint8_t type, std::uint8_t operation, int processors, int& error);
int launch(CUstream_st* stream, const Interpretation& job);  // cooperative: all blocks at once, or an error
// `blocks`: as many as keep the GPU busy.
int launch(CUstream_st* stream, const Reduction& job, int blocks);
int launch(CUstream_st* stream, const Fill& job, int blocks);
int launch(CUstream_st* stream, const Check& job, int blocks);
int launch(CUstream_st* stream, const Bitmap& job, int blocks);

}  // namespace ringtrue::transport::cuda::kernels
