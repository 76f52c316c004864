// libibverbs with one adapter, mlx5_0, that has two ports: InfiniBand and RoCE. It moves no bytes: a posted
// request completes at once, and what was asked is in a log that tests read (fake_ibverbs_log).
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#undef ibv_reg_mr
#undef ibv_query_port

namespace {

std::string log_;
int live_ = 0;  // objects

template <class... Values>
void note(fmt::format_string<Values...> text, Values&&... values) {
  log_ += fmt::format(text, std::forward<Values>(values)...) + "\n";
}
template <class T>
T* made(T* object) {
  ++live_;
  return object;
}

ibv_device device_ = [] {
  ibv_device device{};
  fmt::format_to_n(device.dev_name, sizeof device.dev_name - 1, "uverbs0");
  return device;
}();
ibv_device* devices_[] = {&device_, nullptr};

struct Done {
  std::uint64_t id = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  bool received = false;
  std::uint32_t bytes = 0, immediate = 0;
};
struct Queue : ibv_cq_ex {
  std::deque<Done> done;
  Done now;
  std::uint64_t ticks = 0;
};
Queue* as_queue(ibv_cq_ex* queue) {
  return static_cast<Queue*>(queue);
}
Queue* as_queue(ibv_cq* queue) {
  return as_queue(reinterpret_cast<ibv_cq_ex*>(queue));
}

void show(Queue* queue) {
  queue->now = queue->done.front();
  queue->done.pop_front();
  queue->wr_id = queue->now.id;
  queue->status = queue->now.status;
  queue->ticks += 156'250;  // a millisecond
}

int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr**) {
  for (; request; request = request->next) {
    note("send {} opcode {} flags {} parts {} to {:#x} key {} immediate {:#x}", request->wr_id,
         int(request->opcode), request->send_flags, request->num_sge, request->wr.rdma.remote_addr,
         request->wr.rdma.rkey, request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? ntohl(request->imm_data) : 0);
    if (request->send_flags & IBV_SEND_SIGNALED)
      as_queue(pair->send_cq)
          ->done.push_back(
              {request->wr_id, request->wr.rdma.rkey == 13 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS});
  }
  return 0;
}
// Each receive is answered by a message of its place in the list.
int complete_receives(ibv_cq* queue, ibv_recv_wr* request) {
  std::uint32_t count = 0;
  for (; request; request = request->next)
    as_queue(queue)->done.push_back({request->wr_id, IBV_WC_SUCCESS, true, 100 + count, ++count});
  note("{} receives", count);
  return 0;
}
int post_receive(ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr**) {
  return complete_receives(pair->recv_cq, request);
}
int post_shared(ibv_srq*, ibv_recv_wr* request, ibv_recv_wr**) {
  std::uint32_t count = 0;
  for (; request; request = request->next) ++count;
  note("{} shared receives", count);
  return 0;
}
int poll(ibv_cq* raw, int most, ibv_wc* into) {
  Queue* queue = as_queue(raw);
  int count = 0;
  for (; count < most && !queue->done.empty(); ++count) {
    show(queue);
    into[count] = {};
    into[count].wr_id = queue->now.id;
    into[count].status = queue->now.status;
    into[count].vendor_err = 0x88;
    into[count].qp_num = 0x1234;
    into[count].byte_len = queue->now.bytes;
    into[count].imm_data = htonl(queue->now.immediate);
  }
  return count;
}
int arm(ibv_cq*, int) {
  return 0;
}

struct Context : verbs_context {
  std::deque<ibv_async_event> events;
};
Context* as_context(ibv_context* context) {
  return static_cast<Context*>(
      reinterpret_cast<verbs_context*>(reinterpret_cast<char*>(context) - offsetof(verbs_context, context)));
}
Context* opened_ = nullptr;
int refusal_ = 0;  // errno of ibv_open_device
ibv_qp* pair_ = nullptr;

int describe(ibv_device_attr& attributes) {
  attributes.vendor_id = 0x02c9;
  attributes.vendor_part_id = 4119;  // ConnectX-5
  attributes.phys_port_cnt = 2;
  attributes.max_qp = 1000;
  attributes.max_qp_wr = 2000;
  attributes.max_cqe = 3000;
  attributes.max_srq = 40;
  attributes.max_srq_wr = 5000;
  return 0;
}
int describe(std::uint8_t number, ibv_port_attr& port) {
  if (number < 1 || number > 2) return EINVAL;
  port.state = IBV_PORT_ACTIVE;
  port.active_mtu = IBV_MTU_4096;
  port.gid_tbl_len = 3;
  port.active_width = 2;  // 4x
  port.active_speed = number == 1 ? 128 : 4;
  port.lid = number == 1 ? 77 : 0;
  port.flags = number == 1 ? IBV_QPF_GRH_REQUIRED : 0;
  port.link_layer = number == 1 ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  return 0;
}
ibv_gid gid(int number, int index) {
  ibv_gid made{};
  made.raw[0] = 0xfe;
  made.raw[15] = index == 2 ? 0 : std::uint8_t(number * 16 + index);
  return made;
}

ibv_mr* region(const void* at, std::size_t bytes, unsigned access, const char* how) {
  note("{} {} bytes access {:#x}", how, bytes, access);
  if (!at) return errno = EFAULT, nullptr;
  if (bytes > (1u << 30)) return errno = ENOMEM, nullptr;
  auto* made = new ibv_mr{};
  made->lkey = 5;
  made->rkey = 6;
  ++live_;
  return made;
}

}  // namespace

extern "C" {

const char* fake_ibverbs_log() {
  static std::string told;
  told = std::exchange(log_, "");
  return told.c_str();
}
int fake_ibverbs_live() {
  return live_;
}
void fake_ibverbs_raise(int type, int port) {
  ibv_async_event event{};
  event.event_type = ibv_event_type(type);
  if (type <= IBV_EVENT_PATH_MIG_ERR && type != IBV_EVENT_CQ_ERR)
    event.element.qp = pair_;
  else
    event.element.port_num = port;
  opened_->events.push_back(event);
}
void fake_ibverbs_refuse(int error) {
  refusal_ = error;
}

ibv_device** ibv_get_device_list(int* count) {
  if (count) *count = 1;
  return made(devices_);
}
void ibv_free_device_list(ibv_device**) {
  --live_;
}
const char* ibv_get_device_name(ibv_device*) {
  return "mlx5_0";
}
ibv_context* ibv_open_device(ibv_device* device) {
  if (refusal_ != 0) return errno = refusal_, nullptr;
  auto* context = new Context();
  context->sz = sizeof(verbs_context);
  context->context.device = device;
  context->context.async_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ibv_context_ops& ops = context->context.ops;
  ops.post_send = post_send;
  ops.post_recv = post_receive;
  ops.post_srq_recv = post_shared;
  ops.poll_cq = poll;
  ops.req_notify_cq = arm;
#ifndef OLD_LIBRARY
  context->context.abi_compat = reinterpret_cast<void*>(std::uintptr_t(-1));
  context->query_device_ex = [](ibv_context*, const ibv_query_device_ex_input*,
                                ibv_device_attr_ex* attributes, std::size_t) {
    *attributes = {};
    attributes->hca_core_clock = 156'250;
    attributes->completion_timestamp_mask = 0x7fffffffffffffff;
    return describe(attributes->orig_attr);
  };
  context->query_port = [](ibv_context*, std::uint8_t number, ibv_port_attr* attributes, std::size_t) {
    return describe(number, *attributes);
  };
  context->create_cq_ex = [](ibv_context* owner, ibv_cq_init_attr_ex* attributes) {
    note("extended queue of {}", attributes->cqe);
    auto* queue = new Queue();
    queue->context = owner;
    queue->start_poll = [](ibv_cq_ex* raw, ibv_poll_cq_attr*) {
      if (as_queue(raw)->done.empty()) return int(ENOENT);
      return show(as_queue(raw)), 0;
    };
    queue->next_poll = [](ibv_cq_ex* raw) {
      if (as_queue(raw)->done.empty()) return int(ENOENT);
      return show(as_queue(raw)), 0;
    };
    queue->end_poll = [](ibv_cq_ex*) { note("end of poll"); };
    queue->read_vendor_err = [](ibv_cq_ex*) { return std::uint32_t(0x88); };
    queue->read_byte_len = [](ibv_cq_ex* raw) { return as_queue(raw)->now.bytes; };
    queue->read_imm_data = [](ibv_cq_ex* raw) { return __be32(htonl(as_queue(raw)->now.immediate)); };
    queue->read_qp_num = [](ibv_cq_ex*) { return std::uint32_t(0x1234); };
    queue->read_completion_ts = [](ibv_cq_ex* raw) { return as_queue(raw)->ticks; };
    ++live_;
    return static_cast<ibv_cq_ex*>(queue);
  };
#endif
  opened_ = context;
  ++live_;
  return &context->context;
}
int ibv_close_device(ibv_context* context) {
  ::close(context->async_fd);
  delete as_context(context);
  return --live_, 0;
}
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  auto& events = as_context(context)->events;
  if (events.empty()) return errno = EAGAIN, -1;
  *event = events.front();
  events.pop_front();
  return 0;
}
void ibv_ack_async_event(ibv_async_event*) {
  note("event acknowledged");
}
const char* ibv_event_type_str(ibv_event_type) {
  return "in its words";
}
int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  return describe(*attributes);
}
int ibv_query_port(ibv_context*, std::uint8_t number, _compat_ibv_port_attr* attributes) {
  return describe(number, *reinterpret_cast<ibv_port_attr*>(attributes));
}
int ibv_query_gid(ibv_context*, std::uint8_t number, int index, ibv_gid* into) {
  *into = gid(number, index);
  return 0;
}
ibv_pd* ibv_alloc_pd(ibv_context*) {
  return made(new ibv_pd{});
}
int ibv_dealloc_pd(ibv_pd* domain) {
  delete domain;
  return --live_, 0;
}
ibv_mr* ibv_reg_mr(ibv_pd*, void* at, std::size_t bytes, int access) {
  return region(at, bytes, unsigned(access), "reg_mr");
}
#ifndef OLD_LIBRARY
ibv_mr* ibv_reg_mr_iova2(ibv_pd*, void* at, std::size_t bytes, std::uint64_t, unsigned access) {
  return region(at, bytes, access, "reg_mr_iova2");
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                          int descriptor, int access) {
  note("dma-buf {} at {} for {:#x}", descriptor, offset, iova);
  return region(reinterpret_cast<void*>(iova), bytes, unsigned(access), "reg_dmabuf_mr");
}
ssize_t _ibv_query_gid_table(ibv_context*, ibv_gid_entry* entries, std::size_t, std::uint32_t, std::size_t) {
  ssize_t count = 0;
  for (unsigned number = 1; number <= 2; ++number)
    for (unsigned index = 0; index < 2; ++index)
      entries[count++] = {gid(int(number), int(index)), index, number,
                          std::uint32_t(index == 1 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB), 0};
  return count;
}
#endif
int ibv_dereg_mr(ibv_mr* region) {
  delete region;
  return --live_, 0;
}
ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* channel = new ibv_comp_channel{};
  channel->context = context;
  channel->fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return made(channel);
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  ::close(channel->fd);
  delete channel;
  return --live_, 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int completions, void*, ibv_comp_channel*, int) {
  note("plain queue of {}", completions);
  auto* queue = new Queue();
  queue->context = context;
  return made(reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(queue)));
}
int ibv_destroy_cq(ibv_cq* queue) {
  delete as_queue(queue);
  return --live_, 0;
}
int ibv_get_cq_event(ibv_comp_channel*, ibv_cq**, void**) {
  return errno = EAGAIN, -1;
}
void ibv_ack_cq_events(ibv_cq*, unsigned) {}
ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr* attributes) {
  note("shared queue of {}", attributes->attr.max_wr);
  auto* queue = new ibv_srq{};
  queue->context = &opened_->context;
  return made(queue);
}
int ibv_destroy_srq(ibv_srq* queue) {
  delete queue;
  return --live_, 0;
}
ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr* attributes) {
  const ibv_qp_cap& cap = attributes->cap;
  note("queue pair type {} sends {} receives {} inline {} all signaled {}", int(attributes->qp_type),
       cap.max_send_wr, cap.max_recv_wr, cap.max_inline_data, attributes->sq_sig_all);
  if (cap.max_inline_data > 100) return errno = EINVAL, nullptr;
  auto* pair = new ibv_qp{};
  pair->context = &opened_->context;
  pair->send_cq = attributes->send_cq;
  pair->recv_cq = attributes->recv_cq;
  pair->qp_num = 0x1234;
  attributes->cap.max_inline_data = 100;
  return made(pair_ = pair);
}
int ibv_modify_qp(ibv_qp*, ibv_qp_attr* a, int mask) {
  note("to state {} mask {:#x}", int(a->qp_state), mask);
  if (a->qp_state == IBV_QPS_INIT) note("port {} P_Key {}", a->port_num, a->pkey_index);
  if (a->qp_state == IBV_QPS_RTR) {
    note("mtu {} pair {:#x} sequence {:#x} rnr timer {}", int(a->path_mtu), a->dest_qp_num, a->rq_psn,
         a->min_rnr_timer);
    note("port {} lid {} sl {} global {} gid ..{:x} index {} hops {} class {} flow {}", a->ah_attr.port_num,
         a->ah_attr.dlid, a->ah_attr.sl, a->ah_attr.is_global, a->ah_attr.grh.dgid.raw[15],
         a->ah_attr.grh.sgid_index, a->ah_attr.grh.hop_limit, a->ah_attr.grh.traffic_class,
         a->ah_attr.grh.flow_label);
    if (a->dest_qp_num == 0xdead) return ETIMEDOUT;
  }
  if (a->qp_state == IBV_QPS_RTS)
    note("timeout {} retries {} rnr {} sequence {:#x}", a->timeout, a->retry_cnt, a->rnr_retry, a->sq_psn);
  return 0;
}
int ibv_destroy_qp(ibv_qp* pair) {
  delete pair;
  return --live_, 0;
}
}
