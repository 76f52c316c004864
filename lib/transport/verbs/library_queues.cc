// Completion queues, shared receive queues and queue pairs of libibverbs.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "transport/verbs/library_api.h"
#include "transport/verbs/rails.h"

namespace ringtrue::transport::verbs {
namespace {

// Receives' wr_id: of a failed completion nothing else tells a receive from a send.
constexpr std::uint64_t receive_mark = ~std::uint64_t(0);

// Receives without memory, so many at once.
template <class Post>
Result<void> post_receives(int count, const std::string& device, Post post) {
  std::array<ibv_recv_wr, 64> chain{};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    chain[i].wr_id = receive_mark;
    chain[i].next = i + 1 < chain.size() ? &chain[i + 1] : nullptr;
  }
  for (int left = count; left > 0;) {
    const auto now = std::min(chain.size(), std::size_t(left));
    ibv_recv_wr* const first = &chain[chain.size() - now];
    ibv_recv_wr* bad = nullptr;
    if (const int error = post(first, &bad); error != 0)
      return tl::unexpected(verbs_error("post receives", device, error));
    left -= int(now);
  }
  return {};
}

class RealQueue : public CompletionQueue {
 public:
  RealQueue(const Api& api, const std::string& device) : api_(api), device_(device) {}
  ~RealQueue() override {
    if (queue_) api_.ibv_destroy_cq(queue_);
    if (channel_) api_.ibv_destroy_comp_channel(channel_);
  }

  Result<void> begin(ibv_context* context, int completions, std::uint64_t kilohertz) {
    channel_ = api_.ibv_create_comp_channel(context);
    if (!channel_) return problem("make a completion channel");
    if (::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK) != 0)
      return problem("make a completion channel");
    if (verbs_context* extended = verbs_get_ctx_op(context, create_cq_ex); extended && kilohertz > 0) {
      ibv_cq_init_attr_ex attributes{};
      attributes.cqe = unsigned(completions);
      attributes.channel = channel_;
      attributes.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
                            IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
      stamped_ = extended->create_cq_ex(context, &attributes);
      if (stamped_) queue_ = ibv_cq_ex_to_cq(stamped_);
      kilohertz_ = kilohertz;
    }
    if (!queue_) queue_ = api_.ibv_create_cq(context, completions, nullptr, channel_, 0);
    if (!queue_) return problem(fmt::format("make a completion queue of {}", completions));
    return {};
  }

  ibv_cq* raw() const { return queue_; }
  int descriptor() const override { return channel_->fd; }
  Result<void> arm() override {
    if (const int error = ibv_req_notify_cq(queue_, 0); error != 0)
      return tl::unexpected(verbs_error("arm a completion queue", device_, error));
    return {};
  }
  void take_events() override {
    unsigned taken = 0;
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    while (api_.ibv_get_cq_event(channel_, &queue, &context) == 0) ++taken;
    if (taken > 0) api_.ibv_ack_cq_events(queue_, taken);
  }

  int poll(std::span<Completion> into) override { return stamped_ ? poll_stamped(into) : poll_plain(into); }

 private:
  tl::unexpected<Error> problem(const std::string& what) const {
    return tl::unexpected(verbs_error(what, device_, errno));
  }

  static Completion begin_completion(std::uint64_t id, int status, std::uint32_t queue_pair,
                                     std::uint32_t vendor) {
    Completion completion;
    completion.received = id == receive_mark;
    completion.work = completion.received ? 0 : id;
    completion.status = status;
    completion.queue_pair = queue_pair;
    if (status != IBV_WC_SUCCESS) completion.vendor_error = vendor;
    return completion;
  }

  int poll_plain(std::span<Completion> into) {
    std::array<ibv_wc, 32> raw;
    std::size_t done = 0;
    while (done < into.size()) {
      const int wanted = int(std::min(raw.size(), into.size() - done));
      const int count = ibv_poll_cq(queue_, wanted, raw.data());
      if (count < 0) return -1;
      for (int i = 0; i < count; ++i) {
        const ibv_wc& from = raw[std::size_t(i)];
        Completion& to = into[done++];
        to = begin_completion(from.wr_id, from.status, from.qp_num, from.vendor_err);
        if (!to.received || to.status != IBV_WC_SUCCESS) continue;
        to.bytes = from.byte_len;
        to.immediate = ntohl(from.imm_data);
      }
      if (count < wanted) break;
    }
    return int(done);
  }

  int poll_stamped(std::span<Completion> into) {
    if (into.empty()) return 0;
    ibv_poll_cq_attr attributes{};
    int error = ibv_start_poll(stamped_, &attributes);
    if (error != 0) return error == ENOENT ? 0 : -1;
    std::size_t done = 0;
    for (;;) {
      Completion& to = into[done++];
      const bool failed = stamped_->status != IBV_WC_SUCCESS;
      to = begin_completion(stamped_->wr_id, stamped_->status, ibv_wc_read_qp_num(stamped_),
                            failed ? ibv_wc_read_vendor_err(stamped_) : 0);
      if (!failed) {
        to.time_ns = std::int64_t(static_cast<__int128>(ibv_wc_read_completion_ts(stamped_)) * 1'000'000 /
                                  static_cast<__int128>(kilohertz_));
        if (to.received) {
          to.bytes = ibv_wc_read_byte_len(stamped_);
          to.immediate = ntohl(ibv_wc_read_imm_data(stamped_));
        }
      }
      if (done == into.size()) break;
      error = ibv_next_poll(stamped_);
      if (error != 0) break;
    }
    ibv_end_poll(stamped_);
    return error == 0 || error == ENOENT ? int(done) : -1;
  }

  const Api& api_;
  std::string device_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_cq_ex* stamped_ = nullptr;  // the same, where its completions have times
  std::uint64_t kilohertz_ = 0;
};

class RealShared : public SharedReceiveQueue {
 public:
  RealShared(const Api& api, ibv_srq* queue, const std::string& device)
      : api_(api), queue_(queue), device_(device) {}
  ~RealShared() override { api_.ibv_destroy_srq(queue_); }
  ibv_srq* raw() const { return queue_; }
  Result<void> post(int count) override {
    return post_receives(count, device_, [&](ibv_recv_wr* first, ibv_recv_wr** bad) {
      return ibv_post_srq_recv(queue_, first, bad);
    });
  }

 private:
  const Api& api_;
  ibv_srq* queue_;
  std::string device_;
};

ibv_mtu mtu_of(int bytes) {
  int mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && (128 << mtu) < bytes) ++mtu;
  return ibv_mtu(mtu);
}

class RealPair : public QueuePair {
 public:
  RealPair(const Api& api, ibv_qp* pair, int max_inline, const std::string& device)
      : api_(api), pair_(pair), max_inline_(max_inline), device_(device) {}
  ~RealPair() override { api_.ibv_destroy_qp(pair_); }

  std::uint32_t number() const override { return pair_->qp_num; }
  int max_inline() const override { return max_inline_; }

  Result<void> to_init(Place place) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = std::uint8_t(place.port);
    attributes.pkey_index = std::uint16_t(place.pkey_index);
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    return modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                  fmt::format("bring a queue pair to INIT with the P_Key at index {}", place.pkey_index));
  }
  Result<void> to_ready_to_receive(const Path& path) override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = mtu_of(path.mtu);
    attributes.dest_qp_num = path.queue_pair;
    attributes.rq_psn = path.packet_sequence;
    attributes.max_dest_rd_atomic = 1;
    attributes.min_rnr_timer = std::uint8_t(path.min_rnr_timer);
    ibv_ah_attr& to = attributes.ah_attr;
    to.port_num = std::uint8_t(path.port);
    to.dlid = path.lid;
    to.sl = std::uint8_t(path.service_level);
    if (path.gid) {
      to.is_global = 1;
      std::memcpy(to.grh.dgid.raw, path.gid->data(), path.gid->size());
      to.grh.sgid_index = std::uint8_t(path.gid_index);
      to.grh.hop_limit = std::uint8_t(path.hop_limit);
      to.grh.traffic_class = std::uint8_t(path.traffic_class);
      to.grh.flow_label = path.flow_label;
    }
    return modify(attributes,
                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                  fmt::format("connect a queue pair to {}",
                              path.gid ? to_text(Gid{*path.gid}) : fmt::format("LID {}", path.lid)));
  }
  Result<void> to_ready_to_send(const RetryLimits& limits, std::uint32_t packet_sequence) override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = std::uint8_t(limits.timeout);
    attributes.retry_cnt = std::uint8_t(limits.retry_count);
    attributes.rnr_retry = std::uint8_t(limits.rnr_retry);
    attributes.sq_psn = packet_sequence;
    attributes.max_rd_atomic = 1;
    return modify(attributes,
                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                      IBV_QP_MAX_QP_RD_ATOMIC,
                  "make a queue pair ready to send");
  }

  Result<void> post(std::span<const Write> writes) override {
    std::array<ibv_send_wr, 32> chain;
    std::array<std::array<ibv_sge, 2>, 32> parts;
    while (!writes.empty()) {
      const auto now = std::min(writes.size(), chain.size());
      for (std::size_t i = 0; i < now; ++i) {
        fill(writes[i], chain[i], parts[i]);
        chain[i].next = i + 1 < now ? &chain[i + 1] : nullptr;
      }
      ibv_send_wr* bad = nullptr;
      if (const int error = ibv_post_send(pair_, chain.data(), &bad); error != 0)
        return tl::unexpected(verbs_error("post writes", device_, error));
      writes = writes.subspan(now);
    }
    return {};
  }
  Result<void> post_receives(int count) override {
    return verbs::post_receives(count, device_, [&](ibv_recv_wr* first, ibv_recv_wr** bad) {
      return ibv_post_recv(pair_, first, bad);
    });
  }
  void to_error() override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    (void)modify(attributes, IBV_QP_STATE, "end a queue pair");
  }

 private:
  static void fill(const Write& write, ibv_send_wr& request, std::array<ibv_sge, 2>& parts) {
    request = {};
    request.wr_id = write.work;
    request.sg_list = parts.data();
    for (int i = 0; i < write.part_count; ++i) {
      const Part& part = write.parts[std::size_t(i)];
      if (part.bytes == 0) continue;
      parts[std::size_t(request.num_sge++)] = {reinterpret_cast<std::uintptr_t>(part.from), part.bytes,
                                               part.local_key};
    }
    request.opcode = write.immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    if (write.signaled) request.send_flags |= IBV_SEND_SIGNALED;
    if (write.inlined) request.send_flags |= IBV_SEND_INLINE;
    if (write.immediate) request.imm_data = htonl(*write.immediate);
    request.wr.rdma.remote_addr = write.remote_address;
    request.wr.rdma.rkey = write.remote_key;
  }

  Result<void> modify(ibv_qp_attr& attributes, int mask, const std::string& what) {
    if (const int error = api_.ibv_modify_qp(pair_, &attributes, mask); error != 0)
      return tl::unexpected(verbs_error(what, device_, error));
    return {};
  }

  const Api& api_;
  ibv_qp* pair_;
  int max_inline_;
  std::string device_;
};

}  // namespace

Result<std::unique_ptr<CompletionQueue>> make_queue(const Api& api, ibv_context* context, int completions,
                                                    std::uint64_t kilohertz, const std::string& device) {
  auto queue = std::make_unique<RealQueue>(api, device);
  if (const auto begun = queue->begin(context, completions, kilohertz); !begun)
    return tl::unexpected(begun.error());
  return queue;
}

Result<std::unique_ptr<SharedReceiveQueue>> make_shared_queue(const Api& api, ibv_pd* domain, int receives,
                                                              const std::string& device) {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = unsigned(receives);
  attributes.attr.max_sge = 1;
  ibv_srq* queue = api.ibv_create_srq(domain, &attributes);
  if (!queue)
    return tl::unexpected(
        verbs_error(fmt::format("make a shared receive queue of {}", receives), device, errno));
  return std::make_unique<RealShared>(api, queue, device);
}

Result<std::unique_ptr<QueuePair>> make_pair(const Api& api, ibv_pd* domain, CompletionQueue& queue,
                                             SharedReceiveQueue* shared, Place place, int sends, int receives,
                                             int inline_bytes, const std::string& device) {
  for (int max_inline = inline_bytes;; max_inline = max_inline >= 64 ? max_inline / 2 : 0) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = static_cast<RealQueue&>(queue).raw();
    if (shared) attributes.srq = static_cast<RealShared*>(shared)->raw();
    attributes.cap.max_send_wr = unsigned(sends);
    attributes.cap.max_recv_wr = shared ? 0 : unsigned(receives);
    attributes.cap.max_send_sge = 2;
    attributes.cap.max_recv_sge = 1;
    attributes.cap.max_inline_data = unsigned(max_inline);
    attributes.qp_type = IBV_QPT_RC;
    if (ibv_qp* made = api.ibv_create_qp(domain, &attributes)) {
      auto pair = std::make_unique<RealPair>(api, made, int(attributes.cap.max_inline_data), device);
      if (const auto begun = pair->to_init(place); !begun) return tl::unexpected(begun.error());
      return pair;
    }
    // A device that cannot inline so much may say EINVAL or ENOMEM.
    if (max_inline == 0 || (errno != EINVAL && errno != ENOMEM))
      return tl::unexpected(verbs_error(
          fmt::format("make a queue pair for {} sends and {} receives", sends, receives), device, errno));
  }
}

}  // namespace ringtrue::transport::verbs
