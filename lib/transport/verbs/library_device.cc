// A device of libibverbs: its limits, ports, addresses, memory and events.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "transport/verbs/errors.h"
#include "transport/verbs/library_api.h"

namespace ringtrue::transport::verbs {
namespace {

constexpr std::size_t max_gids = 4096;

// Drivers of Linux that give queue pairs rdma_get_udp_sport()'s port: mlx5 (from Connect-IB on, part 4113),
// irdma, hns. Others take one of their own, soft-RoCE for one.
bool labels_set_ports(const ibv_device_attr& device) {
  constexpr std::uint32_t mellanox = 0x02c9, intel = 0x8086, huawei = 0x19e5;
  return (device.vendor_id == mellanox && device.vendor_part_id >= 4113) || device.vendor_id == intel ||
         device.vendor_id == huawei;
}

// `table` has a value for each bit, from the lowest; the value of what has that bit alone.
template <class T, std::size_t n>
T of_bit(const T (&table)[n], unsigned bit) {
  const auto place = std::size_t(std::countr_zero(bit));
  return std::has_single_bit(bit) && place < n ? table[place] : T();
}

// Gbit/s of one lane. InfiniBand counts data, below FDR 8 of 10 bits and then 64 of 66; Ethernet names its
// rates without their coding.
double lane_rate(unsigned speed, LinkLayer layer) {
  constexpr double infiniband[] = {2, 4, 8, 10, 54.5 / 4, 25, 50, 100};
  constexpr double ethernet[] = {2.5, 5, 10, 10, 14, 25, 50, 100};
  return of_bit(layer == LinkLayer::ethernet ? ethernet : infiniband, speed);
}

int lanes(unsigned width) {
  constexpr int lanes[] = {1, 4, 8, 12, 2};
  return of_bit(lanes, width);
}

std::string state_text(ibv_port_state state) {
  constexpr const char* states[] = {nullptr, "down", "init", "armed", "active", "active"};
  const bool known = state >= IBV_PORT_DOWN && std::size_t(state) < std::size(states);
  return known ? states[state] : "in no known state";
}

// The events that mean something here.
struct Meaning {
  ibv_event_type type;
  Event::Kind kind;
  bool of_port = false, of_queue_pair = false;
};
constexpr Meaning meanings[] = {
    {IBV_EVENT_PORT_ERR, Event::Kind::port_down, true},
    {IBV_EVENT_PORT_ACTIVE, Event::Kind::port_up, true},
    {IBV_EVENT_DEVICE_FATAL, Event::Kind::device_fatal},
    {IBV_EVENT_CQ_ERR, Event::Kind::queue_broken},
    {IBV_EVENT_SRQ_ERR, Event::Kind::queue_broken},
    {IBV_EVENT_WQ_FATAL, Event::Kind::queue_broken},
    {IBV_EVENT_QP_FATAL, Event::Kind::queue_broken, false, true},
    {IBV_EVENT_QP_REQ_ERR, Event::Kind::bad_request, false, true},
    {IBV_EVENT_QP_ACCESS_ERR, Event::Kind::bad_request, false, true},
};

// What this process has pinned already, by its "VmPin: 8 kB".
std::uint64_t pinned_bytes() {
  return kib_field("/proc/self/status", "VmPin").value_or(0);
}

class RealRegion : public Region {
 public:
  RealRegion(const Api& api, ibv_mr* region) : api_(api), region_(region) {}
  ~RealRegion() override { api_.ibv_dereg_mr(region_); }
  std::uint32_t local_key() const override { return region_->lkey; }
  std::uint32_t remote_key() const override { return region_->rkey; }

 private:
  const Api& api_;
  ibv_mr* region_;
};

class RealDevice : public Device {
 public:
  RealDevice(const Api& api, ibv_context* context, std::string sysfs)
      : api_(api),
        context_(context),
        name_(api.ibv_get_device_name(context->device)),
        sysfs_(std::move(sysfs)) {}
  ~RealDevice() override {
    if (domain_) api_.ibv_dealloc_pd(domain_);
    api_.ibv_close_device(context_);
  }

  Result<void> begin() {
    ibv_device_attr_ex attributes{};
    if (const int error = query(attributes); error != 0)
      return tl::unexpected(problem("query the device", error));
    const ibv_device_attr& plain = attributes.orig_attr;
    limits_.ports = plain.phys_port_cnt;
    limits_.queue_pairs = plain.max_qp;
    limits_.work_requests = plain.max_qp_wr;
    limits_.completions = plain.max_cqe;
    limits_.labels_set_ports = labels_set_ports(plain);
    limits_.shared_queues = plain.max_srq;
    limits_.shared_work_requests = plain.max_srq_wr;
    limits_.relaxed_ordering = api_.ibv_reg_mr_iova2 != nullptr;
    if (attributes.completion_timestamp_mask != 0) kilohertz_ = attributes.hca_core_clock;
    limits_.timestamp_hertz = double(kilohertz_) * 1e3;
    if (::fcntl(context_->async_fd, F_SETFL, ::fcntl(context_->async_fd, F_GETFL) | O_NONBLOCK) != 0)
      return tl::unexpected(problem("watch for events", errno));
    domain_ = api_.ibv_alloc_pd(context_);
    if (!domain_) return tl::unexpected(problem("make a protection domain", errno));
    return {};
  }

  const std::string& name() const override { return name_; }
  const DeviceLimits& limits() const override { return limits_; }

  Result<PortState> port(int number) const override {
    ibv_port_attr attributes{};
    if (const int error = query(number, attributes); error != 0)
      return tl::unexpected(problem(fmt::format("query port {}", number), error));
    PortState state;
    state.active = attributes.state == IBV_PORT_ACTIVE || attributes.state == IBV_PORT_ACTIVE_DEFER;
    state.state = state_text(attributes.state);
    state.layer =
        attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkLayer::ethernet : LinkLayer::infiniband;
    state.lid = attributes.lid;
    state.needs_grh = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
    if (attributes.active_mtu >= IBV_MTU_256 && attributes.active_mtu <= IBV_MTU_4096)
      state.mtu = 128 << attributes.active_mtu;
    state.rate = BytesPerSecond(lane_rate(attributes.active_speed, state.layer) *
                                lanes(attributes.active_width) * 1e9 / 8);
    return state;
  }

  std::vector<Gid> gids(int port) const override {
    ibv_port_attr attributes{};
    if (query(port, attributes) != 0) return {};
    const bool ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
    std::vector<Gid> all;
    const auto add = [&](const ibv_gid& raw, int index, bool v2) {
      Gid gid;
      std::memcpy(gid.raw.data(), raw.raw, gid.raw.size());
      gid.index = index;
      gid.type = !ethernet ? Gid::Type::infiniband : v2 ? Gid::Type::roce_v2 : Gid::Type::roce_v1;
      if (raw.global.interface_id != 0) all.push_back(gid);
    };
    if (api_._ibv_query_gid_table) {
      std::vector<ibv_gid_entry> entries(max_gids);
      const ssize_t count =
          api_._ibv_query_gid_table(context_, entries.data(), entries.size(), 0, sizeof entries[0]);
      for (ssize_t i = 0; i < count; ++i) {
        const ibv_gid_entry& entry = entries[std::size_t(i)];
        if (int(entry.port_num) == port)
          add(entry.gid, int(entry.gid_index), entry.gid_type == IBV_GID_TYPE_ROCE_V2);
      }
      if (count >= 0) return all;
    }
    for (int i = 0; i < std::min(attributes.gid_tbl_len, int(max_gids)); ++i) {
      ibv_gid raw{};
      if (api_.ibv_query_gid(context_, std::uint8_t(port), i, &raw) == 0 && raw.global.interface_id != 0)
        add(raw, i, type_text(port, i) == "RoCE v2");
    }
    return all;
  }

  Result<std::unique_ptr<Region>> register_memory(std::byte* at, std::uint64_t bytes,
                                                  Access access) override {
    const unsigned flags = flags_of(access);
    ibv_mr* region =
        api_.ibv_reg_mr_iova2
            ? api_.ibv_reg_mr_iova2(domain_, at, bytes, reinterpret_cast<std::uintptr_t>(at), flags)
            : (api_.ibv_reg_mr)(domain_, at, bytes, int(flags));
    return made(region, bytes, "register memory");
  }
  Result<std::unique_ptr<Region>> register_dmabuf(int descriptor, std::uint64_t offset, std::uint64_t bytes,
                                                  const std::byte* at, Access access) override {
    if (!api_.ibv_reg_dmabuf_mr)
      return fail(Cause::unavailable, "this libibverbs has no ibv_reg_dmabuf_mr", {},
                  "rdma-core 34 or newer has it");
    ibv_mr* region = api_.ibv_reg_dmabuf_mr(domain_, offset, bytes, reinterpret_cast<std::uintptr_t>(at),
                                            descriptor, int(flags_of(access)));
    return made(region, bytes, "register a dma-buf");
  }

  Result<std::unique_ptr<CompletionQueue>> make_completion_queue(int completions) override {
    return make_queue(api_, context_, completions, kilohertz_, name_);
  }
  Result<std::unique_ptr<SharedReceiveQueue>> make_shared_receive_queue(int receives) override {
    return make_shared_queue(api_, domain_, receives, name_);
  }
  Result<std::unique_ptr<QueuePair>> make_queue_pair(CompletionQueue& queue, SharedReceiveQueue* shared,
                                                     int port, int sends, int receives, int inline_bytes,
                                                     int pkey_index) override {
    return make_pair(api_, domain_, queue, shared, {port, pkey_index}, sends, receives, inline_bytes, name_);
  }

  int event_descriptor() const override { return context_->async_fd; }
  std::optional<Event> next_event() override {
    ibv_async_event raw{};
    if (api_.ibv_get_async_event(context_, &raw) != 0) return std::nullopt;
    Event event;
    for (const Meaning& meaning : meanings) {
      if (meaning.type != raw.event_type) continue;
      event.kind = meaning.kind;
      if (meaning.of_port) event.port = raw.element.port_num;
      if (meaning.of_queue_pair) event.queue_pair = raw.element.qp->qp_num;
    }
    if (const char* text = api_.ibv_event_type_str(raw.event_type)) event.text = text;
    api_.ibv_ack_async_event(&raw);  // or the queue pair could not be destroyed
    return event;
  }

 private:
  Error problem(const std::string& what, int error) const { return verbs_error(what, name_, error); }

  int query(ibv_device_attr_ex& attributes) const {
    if (verbs_context* extended = verbs_get_ctx_op(context_, query_device_ex)) {
      const int error = extended->query_device_ex(context_, nullptr, &attributes, sizeof attributes);
      if (error != EOPNOTSUPP && error != ENOSYS) return error;
    }
    attributes = {};
    return api_.ibv_query_device(context_, &attributes.orig_attr);
  }
  int query(int number, ibv_port_attr& attributes) const {
    if (verbs_context* extended = verbs_get_ctx_op(context_, query_port))
      return extended->query_port(context_, std::uint8_t(number), &attributes, sizeof attributes);
    return (api_.ibv_query_port)(context_, std::uint8_t(number),
                                 reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  }

  std::string type_text(int port, int index) const {
    return first_line(fmt::format("{}/{}/ports/{}/gid_attrs/types/{}", sysfs_, name_, port, index));
  }

  unsigned flags_of(Access access) const {
    unsigned flags = IBV_ACCESS_LOCAL_WRITE;
    if (access.remote_write) flags |= IBV_ACCESS_REMOTE_WRITE;
    if (access.relaxed_ordering && limits_.relaxed_ordering) flags |= IBV_ACCESS_RELAXED_ORDERING;
    return flags;
  }

  Result<std::unique_ptr<Region>> made(ibv_mr* region, std::uint64_t bytes, const char* what) const {
    if (region) return std::make_unique<RealRegion>(api_, region);
    const int error = errno;
    rlimit limit{};
    if ((error == ENOMEM || error == EPERM) && ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY && pinned_bytes() + bytes > limit.rlim_cur)
      return tl::unexpected(cannot_pin(name_, bytes, limit.rlim_cur));
    return tl::unexpected(problem(what, error));
  }

  const Api& api_;
  ibv_context* context_;
  std::string name_, sysfs_;
  ibv_pd* domain_ = nullptr;
  DeviceLimits limits_;
  std::uint64_t kilohertz_ = 0;  // of completion timestamps; 0: none
};

}  // namespace

std::uint16_t source_port(std::uint32_t flow_label) {
  return ibv_flow_label_to_udp_sport(flow_label);
}

Result<std::unique_ptr<Device>> open_device(const Api& api, ibv_device* device, const std::string& sysfs) {
  ibv_context* context = api.ibv_open_device(device);
  if (!context) {
    int why = errno;
    // libibverbs goes on to other ways, whose error says less.
    const std::string file = std::string("/dev/infiniband/") + device->dev_name;
    if (why == ENOENT && ::access(file.c_str(), R_OK | W_OK) != 0) why = errno;
    return tl::unexpected(verbs_error("open " + file, api.ibv_get_device_name(device), why));
  }
  auto opened = std::make_unique<RealDevice>(api, context, sysfs);
  if (const auto begun = opened->begin(); !begun) return tl::unexpected(begun.error());
  return opened;
}

}  // namespace ringtrue::transport::verbs
