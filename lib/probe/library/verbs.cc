// The answer of verbs, keys left out where nothing is known:
//
//   {"rdma_core": "44.0",
//    "devices": [{"name": "mlx5_0", "firmware": "28.39.1002", "node_guid": "506b4b0300c19c16",
//                 "error": "...", "ports": [{"port": 1, "layer": "infiniband" | "ethernet", "state":
//                 "active",
//                            "physical_state": "linkup", "active_speed": "HDR", "active_width": 4,
//                            "active_mtu": 4096, "max_mtu": 4096, "lid": 26, "gids": ["fe80:..."]}]}]}
//
// Devices are opened and queried; no protection domain, memory or queue is made.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <endian.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "probe/library/library.h"

namespace ringtrue::probe {
namespace {

using nlohmann::json;

constexpr int max_devices = 4096, max_gids = 64, empty_gids_at_the_end = 4;

// "libibverbs.so.1.14.44.0" carries the version of rdma-core behind its own.
std::string rdma_core_version() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&ibv_get_device_list), &info) == 0 || !info.dli_fname) return {};
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(info.dli_fname, nullptr), ::free);
  const std::string_view path = real ? real.get() : "";
  constexpr std::string_view before = "libibverbs.so.1.";
  const auto at = path.rfind(before);
  if (at == std::string_view::npos) return {};
  const auto version = path.substr(at + before.size());
  const auto dot = version.find('.');
  return dot == std::string_view::npos ? std::string() : std::string(version.substr(dot + 1));
}

// Speeds and widths are bits; nullptr and 0 for those that nobody named.
const char* speed(unsigned bits) {
  constexpr const char* names[] = {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR"};
  const auto bit = std::size_t(std::countr_zero(bits));
  return std::has_single_bit(bits) && bit < std::size(names) ? names[bit] : nullptr;
}

int width(unsigned bits) {
  constexpr int lanes[] = {1, 4, 8, 12, 2};
  const auto bit = std::size_t(std::countr_zero(bits));
  return std::has_single_bit(bits) && bit < std::size(lanes) ? lanes[bit] : 0;
}

const char* state(unsigned state) {
  constexpr const char* words[] = {nullptr, "down", "init", "armed", "active", "active_defer"};
  return state < std::size(words) ? words[state] : nullptr;
}

const char* physical_state(unsigned state) {
  constexpr const char* words[] = {
      nullptr,   "sleep", "polling", "disabled", "portconfigurationtraining", "linkup", "linkerrorrecovery",
      "phy test"};
  return state < std::size(words) ? words[state] : nullptr;
}

std::string gid_text(const ibv_gid& gid) {
  std::string text;
  for (int i = 0; i < 16; i += 2)
    text += fmt::format("{}{:02x}{:02x}", i ? ":" : "", gid.raw[i], gid.raw[i + 1]);
  return text;
}

json gids(ibv_context* context, int number, int length) {
  json all = json::array();
  int empty = 0;
  for (int i = 0; i < std::min(length, max_gids) && empty < empty_gids_at_the_end; ++i) {
    ibv_gid gid{};
    if (::ibv_query_gid(context, std::uint8_t(number), i, &gid) != 0) break;
    const bool set = gid.global.interface_id != 0;
    if (set) all.push_back(gid_text(gid));
    empty = set ? 0 : empty + 1;
  }
  return all;
}

json ask_port(ibv_context* context, int number) {
  json port = {{"port", number}};
  ibv_port_attr attributes{};
  if (const int error = ::ibv_query_port(context, std::uint8_t(number), &attributes); error != 0) {
    port["error"] = std::strerror(error);
    return port;
  }
  const auto put = [&](const char* key, const char* word) {
    if (word) port[key] = word;
  };
  if (attributes.link_layer == IBV_LINK_LAYER_INFINIBAND) port["layer"] = "infiniband";
  if (attributes.link_layer == IBV_LINK_LAYER_ETHERNET) port["layer"] = "ethernet";
  put("state", state(attributes.state));
  put("physical_state", physical_state(attributes.phys_state));
  put("active_speed", speed(attributes.active_speed));
  if (const int lanes = width(attributes.active_width)) port["active_width"] = lanes;
  for (const auto& [key, mtu] :
       {std::pair("active_mtu", attributes.active_mtu), {"max_mtu", attributes.max_mtu}})
    if (mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096) port[key] = 128 << mtu;
  if (attributes.lid != 0) port["lid"] = attributes.lid;
  port["gids"] = gids(context, number, attributes.gid_tbl_len);
  return port;
}

json ask_device(ibv_device* device) {
  json answer = {{"name", ::ibv_get_device_name(device)}, {"ports", json::array()}};
  const std::unique_ptr<ibv_context, decltype(&::ibv_close_device)> context(::ibv_open_device(device),
                                                                            ::ibv_close_device);
  if (!context) {
    answer["error"] = fmt::format("cannot be opened: {}", std::strerror(errno));
    return answer;
  }
  ibv_device_attr attributes{};
  if (const int error = ::ibv_query_device(context.get(), &attributes); error != 0) {
    answer["error"] = fmt::format("does not tell its attributes: {}", std::strerror(error));
    return answer;
  }
  if (*attributes.fw_ver)
    answer["firmware"] =
        std::string(attributes.fw_ver, ::strnlen(attributes.fw_ver, sizeof attributes.fw_ver));
  answer["node_guid"] = fmt::format("{:016x}", be64toh(attributes.node_guid));
  for (int number = 1; number <= attributes.phys_port_cnt; ++number)
    answer["ports"].push_back(ask_port(context.get(), number));
  return answer;
}

}  // namespace

Result<std::string> ask_verbs(const Asking& asking) {
  if (!asking.root.empty())
    return fail(Cause::unavailable,
                fmt::format("verbs tell of this machine, and the files are those under {}", asking.root));
  int count = 0;
  const std::unique_ptr<ibv_device*, decltype(&::ibv_free_device_list)> devices(::ibv_get_device_list(&count),
                                                                                ::ibv_free_device_list);
  if (!devices && errno != ENOSYS)
    return fail(errno == EPERM || errno == EACCES ? Cause::refused : Cause::unavailable,
                fmt::format("no list of RDMA devices: {}", std::strerror(errno)));
  json answer = {{"devices", json::array()}};
  if (const std::string version = rdma_core_version(); !version.empty()) answer["rdma_core"] = version;
  for (int i = 0; devices && i < std::min(count, max_devices); ++i)
    answer["devices"].push_back(ask_device(devices.get()[i]));
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace ringtrue::probe
