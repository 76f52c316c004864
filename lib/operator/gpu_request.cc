#include "operator/gpu_request.h"

#include <fmt/format.h>

namespace ringtrue::ops {

Result<void> check_memory(const Setup& setup, const GpuRequest& request) {
  if (setup.config.memory.value == run::Memory::device) return {};
  const char* const what = setup.config.transport.value == run::Transport::cuda ? "--transport cuda"
                           : !request.gpus.empty()                              ? "--gpus"
                           : request.share                                      ? "--share-gpus"
                                                                                : nullptr;
  if (!what) return {};
  return fail(Cause::bad_input, fmt::format("{} is about data on GPUs, and this is in host memory", what), {},
              "add --memory device");
}

}  // namespace ringtrue::ops
