// libibverbs' functions, found with dlopen: what verbs.h declares as functions is here, what it inlines goes
// through a context's own operations. Only library*.cc see this.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {

struct Api {
  // The last ones are missing in libraries that are older: nullptr.
// clang-format off
#define RINGTRUE_IBVERBS(required, optional) \
  required(ibv_get_device_list)              \
  required(ibv_free_device_list)             \
  required(ibv_get_device_name)              \
  required(ibv_open_device)                  \
  required(ibv_close_device)                 \
  required(ibv_get_async_event)              \
  required(ibv_ack_async_event)              \
  required(ibv_event_type_str)               \
  required(ibv_query_device)                 \
  required(ibv_query_port)                   \
  required(ibv_query_gid)                    \
  required(ibv_alloc_pd)                     \
  required(ibv_dealloc_pd)                   \
  required(ibv_reg_mr)                       \
  required(ibv_dereg_mr)                     \
  required(ibv_create_comp_channel)          \
  required(ibv_destroy_comp_channel)         \
  required(ibv_create_cq)                    \
  required(ibv_destroy_cq)                   \
  required(ibv_get_cq_event)                 \
  required(ibv_ack_cq_events)                \
  required(ibv_create_srq)                   \
  required(ibv_destroy_srq)                  \
  required(ibv_create_qp)                    \
  required(ibv_modify_qp)                    \
  required(ibv_destroy_qp)                   \
  optional(ibv_reg_mr_iova2)                 \
  optional(ibv_reg_dmabuf_mr)                \
  optional(_ibv_query_gid_table)
// clang-format on
#define RINGTRUE_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  RINGTRUE_IBVERBS(RINGTRUE_MEMBER, RINGTRUE_MEMBER)
#undef RINGTRUE_MEMBER

  static Result<Api> load(const std::string& file);
};

// libibverbs from `file`, for the devices that the folder `devices` lists. It is loaded when there is one.
std::unique_ptr<Library> load_library(std::string file, std::string devices);

Result<std::unique_ptr<Device>> open_device(const Api& api, ibv_device* device, const std::string& sysfs);

// "cannot WHAT on DEVICE: no such device", with what to do where that is known.
Error verbs_error(const std::string& what, const std::string& device, int error);

Result<std::unique_ptr<CompletionQueue>> make_queue(const Api& api, ibv_context* context, int completions,
                                                    std::uint64_t kilohertz, const std::string& device);
Result<std::unique_ptr<SharedReceiveQueue>> make_shared_queue(const Api& api, ibv_pd* domain, int receives,
                                                              const std::string& device);
struct Place {
  int port = 1, pkey_index = 0;
};
Result<std::unique_ptr<QueuePair>> make_pair(const Api& api, ibv_pd* domain, CompletionQueue& queue,
                                             SharedReceiveQueue* shared, Place place, int sends, int receives,
                                             int inline_bytes, const std::string& device);

}  // namespace ringtrue::transport::verbs
