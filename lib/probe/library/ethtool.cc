// The answer of ethtool, for every netdev but loopback and those that sleep, keys left out where nothing is
// known:
//
//   {"eth0": {"speed_Mbps": 100000, "supported_Mbps": 100000, "lanes": 4, "pause_rx": true, "pause_tx": true,
//             "driver": "mlx5_core", "firmware": "28.39.1002 (MT_0000000838)",
//             "statistics": {"rx_prio3_pause": 12, "pause_rx_frames": 0, ...}}}
//
// "supported_Mbps" is the fastest of the link modes that the port supports. Of the driver's own statistics
// (ethtool -S) those about errors, pauses and lost packets, without the queues' own.
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/fd.h"
#include "probe/library/library.h"
#include "probe/live.h"

namespace ringtrue::probe {
namespace {

using nlohmann::json;

constexpr std::uint32_t max_statistics = 16384;
constexpr std::size_t max_kept = 128;

// ---- the ethtool family of generic netlink

std::string text_of(nlattr* attribute) {
  if (!attribute) return {};
  const auto* text = static_cast<const char*>(nla_data(attribute));
  return {text, ::strnlen(text, std::size_t(nla_len(attribute)))};
}

// "100000baseCR4/Full" -> 100000; 0 for "Autoneg", "Pause", "FIBRE".
unsigned mode_Mbps(std::string_view mode) {
  unsigned rate = 0;
  const auto [end, error] = std::from_chars(mode.data(), mode.data() + mode.size(), rate);
  const std::string_view rest(end, std::size_t(mode.data() + mode.size() - end));
  return error == std::errc() && rest.starts_with("base") ? rate : 0;
}

// Modes come as names, so that those are known that the kernel has learnt since. In this list are the
// supported ones; a flag marks those that are advertised.
unsigned fastest_mode(nlattr* bitset) {
  nlattr* set[ETHTOOL_A_BITSET_MAX + 1];
  if (nla_parse_nested(set, ETHTOOL_A_BITSET_MAX, bitset, nullptr) < 0 || !set[ETHTOOL_A_BITSET_BITS])
    return 0;
  unsigned fastest = 0;
  int left = 0;
  nlattr* entry = nullptr;
  nla_for_each_nested(entry, set[ETHTOOL_A_BITSET_BITS], left) {
    nlattr* bit[ETHTOOL_A_BITSET_BIT_MAX + 1];
    if (nla_parse_nested(bit, ETHTOOL_A_BITSET_BIT_MAX, entry, nullptr) < 0) continue;
    fastest = std::max(fastest, mode_Mbps(text_of(bit[ETHTOOL_A_BITSET_BIT_NAME])));
  }
  return fastest;
}

// The netdev that a message speaks of.
json* entry_of(json& answer, nlattr* header) {
  nlattr* part[ETHTOOL_A_HEADER_MAX + 1];
  if (!header || nla_parse_nested(part, ETHTOOL_A_HEADER_MAX, header, nullptr) < 0) return nullptr;
  const auto entry = answer.find(text_of(part[ETHTOOL_A_HEADER_DEV_NAME]));
  return entry == answer.end() ? nullptr : &*entry;
}

bool parse(genlmsghdr* message, nlattr** part, int max) {
  return nla_parse(part, max, genlmsg_attrdata(message, 0), genlmsg_attrlen(message, 0), nullptr) >= 0;
}

void take_link_modes(json& answer, genlmsghdr* message) {
  nlattr* part[ETHTOOL_A_LINKMODES_MAX + 1];
  if (!parse(message, part, ETHTOOL_A_LINKMODES_MAX)) return;
  json* netdev = entry_of(answer, part[ETHTOOL_A_LINKMODES_HEADER]);
  if (!netdev) return;
  const auto number = [&](int attribute) {
    return part[attribute] && nla_len(part[attribute]) == 4 ? nla_get_u32(part[attribute]) : 0;
  };
  const std::uint32_t speed = number(ETHTOOL_A_LINKMODES_SPEED), lanes = number(ETHTOOL_A_LINKMODES_LANES);
  if (speed != 0 && speed != std::uint32_t(SPEED_UNKNOWN)) (*netdev)["speed_Mbps"] = speed;
  if (lanes != 0) (*netdev)["lanes"] = lanes;
  if (nlattr* ours = part[ETHTOOL_A_LINKMODES_OURS])
    if (const unsigned fastest = fastest_mode(ours)) (*netdev)["supported_Mbps"] = fastest;
}

void take_pause(json& answer, genlmsghdr* message) {
  nlattr* part[ETHTOOL_A_PAUSE_MAX + 1];
  if (!parse(message, part, ETHTOOL_A_PAUSE_MAX)) return;
  json* netdev = entry_of(answer, part[ETHTOOL_A_PAUSE_HEADER]);
  if (!netdev) return;
  if (part[ETHTOOL_A_PAUSE_RX]) (*netdev)["pause_rx"] = nla_get_u8(part[ETHTOOL_A_PAUSE_RX]) != 0;
  if (part[ETHTOOL_A_PAUSE_TX]) (*netdev)["pause_tx"] = nla_get_u8(part[ETHTOOL_A_PAUSE_TX]) != 0;
  nlattr* count[ETHTOOL_A_PAUSE_STAT_MAX + 1];
  if (!part[ETHTOOL_A_PAUSE_STATS] ||
      nla_parse_nested(count, ETHTOOL_A_PAUSE_STAT_MAX, part[ETHTOOL_A_PAUSE_STATS], nullptr) < 0)
    return;
  const auto put = [&](const char* name, nlattr* value) {
    if (value && nla_len(value) == 8) (*netdev)["statistics"][name] = nla_get_u64(value);
  };
  put("pause_tx_frames", count[ETHTOOL_A_PAUSE_STAT_TX_FRAMES]);
  put("pause_rx_frames", count[ETHTOOL_A_PAUSE_STAT_RX_FRAMES]);
}

struct Reply {
  json& answer;
  void (*take)(json&, genlmsghdr*);
};

int on_message(nl_msg* message, void* context) {
  auto& reply = *static_cast<Reply*>(context);
  if (genlmsg_valid_hdr(nlmsg_hdr(message), 0))
    reply.take(reply.answer, static_cast<genlmsghdr*>(nlmsg_data(nlmsg_hdr(message))));
  return NL_OK;
}

// Netdev by netdev: a dump of all would wake those that sleep. A kernel or driver that does not know the
// question answers with an error, and leaves its facts out.
void request(nl_sock* socket, int family, int command, int header, const std::string& netdev,
             std::uint32_t flags, Reply reply) {
  const std::unique_ptr<nl_msg, decltype(&nlmsg_free)> message(nlmsg_alloc(), nlmsg_free);
  if (!message || !genlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, 0, std::uint8_t(command),
                               ETHTOOL_GENL_VERSION))
    return;
  nlattr* nest = nla_nest_start(message.get(), header | NLA_F_NESTED);
  if (!nest || nla_put_string(message.get(), ETHTOOL_A_HEADER_DEV_NAME, netdev.c_str()) < 0 ||
      (flags != 0 && nla_put_u32(message.get(), ETHTOOL_A_HEADER_FLAGS, flags) < 0))
    return;
  nla_nest_end(message.get(), nest);
  nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, on_message, &reply);
  if (nl_send_auto(socket, message.get()) >= 0) nl_recvmsgs_default(socket);
}

void ask_netlink(json& answer) {
  const std::unique_ptr<nl_sock, decltype(&nl_socket_free)> socket(nl_socket_alloc(), nl_socket_free);
  if (!socket || genl_connect(socket.get()) < 0) return;
  const int family = genl_ctrl_resolve(socket.get(), ETHTOOL_GENL_NAME);
  if (family < 0) return;
  nl_socket_disable_auto_ack(socket.get());
  nl_socket_disable_seq_check(socket.get());
  std::vector<std::string> netdevs;
  for (const auto& [netdev, entry] : answer.items()) netdevs.push_back(netdev);
  for (const auto& netdev : netdevs) {
    request(socket.get(), family, ETHTOOL_MSG_LINKMODES_GET, ETHTOOL_A_LINKMODES_HEADER, netdev, 0,
            {answer, take_link_modes});
    request(socket.get(), family, ETHTOOL_MSG_PAUSE_GET, ETHTOOL_A_PAUSE_HEADER, netdev, ETHTOOL_FLAG_STATS,
            {answer, take_pause});
  }
}

// ---- ioctls, for what the family lacks

bool query(int socket, const std::string& netdev, void* data) {
  ifreq request{};
  netdev.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(data);
  return ::ioctl(socket, SIOCETHTOOL, &request) == 0;
}

std::string field(const char* text, std::size_t size) {
  return {text, ::strnlen(text, size)};
}

bool matters(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  // "rx_queue_3_drops", "rx3_...", "[3]: rx_drops": hundreds, and their sums stand beside them.
  const bool of_a_queue =
      has("queue") || has("[") || has("ring") ||
      (name.size() > 2 && (name.starts_with("rx") || name.starts_with("tx") || name.starts_with("ch")) &&
       name[2] >= '0' && name[2] <= '9');
  if (of_a_queue) return false;
  for (const char* part : {"pause", "err", "crc", "discard", "drop", "symbol", "link_down", "out_of_buffer",
                           "timeout", "ecn", "cnp"})
    if (has(part)) return true;
  return false;
}

// ethtool -S
void add_statistics(int socket, const std::string& netdev, std::uint32_t count, json& entry) {
  if (count == 0 || count > max_statistics) return;
  std::vector<std::uint64_t> names_room(sizeof(ethtool_gstrings) / 8 + 1 + count * ETH_GSTRING_LEN / 8);
  auto* names = reinterpret_cast<ethtool_gstrings*>(names_room.data());
  names->cmd = ETHTOOL_GSTRINGS;
  names->string_set = ETH_SS_STATS;
  names->len = count;
  std::vector<std::uint64_t> values_room(sizeof(ethtool_stats) / 8 + 1 + count);
  auto* values = reinterpret_cast<ethtool_stats*>(values_room.data());
  values->cmd = ETHTOOL_GSTATS;
  values->n_stats = count;
  if (!query(socket, netdev, names) || !query(socket, netdev, values)) return;
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i < std::min({count, names->len, values->n_stats}) && kept < max_kept; ++i) {
    const auto name =
        field(reinterpret_cast<const char*>(names->data) + std::size_t(i) * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
    if (!matters(name)) continue;
    entry["statistics"][name] = values->data[i];
    ++kept;
  }
}

void ask_ioctl(int socket, const std::string& netdev, json& entry) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!query(socket, netdev, &info)) return;
  const auto put = [&](const char* key, const std::string& text) {
    if (!text.empty() && text != "N/A") entry[key] = text;
  };
  put("driver", field(info.driver, sizeof info.driver));
  put("firmware", field(info.fw_version, sizeof info.fw_version));
  add_statistics(socket, netdev, info.n_stats, entry);
}

}  // namespace

Result<std::string> ask_ethtool(const Asking& asking) {
  if (!asking.root.empty())
    return fail(Cause::unavailable,
                fmt::format("ethtool tells of this machine, and the files are those under {}", asking.root));
  const OwnedFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Cause::unavailable, fmt::format("no socket: {}", std::strerror(errno)));
  json answer = json::object();
  Files files;
  const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> names(::if_nameindex(),
                                                                                  ::if_freenameindex);
  for (const struct if_nameindex* i = names.get(); i && i->if_index != 0; ++i) {
    ifreq request{};
    std::strncpy(request.ifr_name, i->if_name, IFNAMSIZ - 1);
    if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_LOOPBACK)) continue;
    // The kernel resumes a device before it asks the driver.
    if (files.read(fmt::format("/sys/class/net/{}/device/power/runtime_status", i->if_name)) == "suspended")
      continue;
    json& entry = answer[i->if_name] = json::object();
    ask_ioctl(socket.get(), i->if_name, entry);
  }
  ask_netlink(answer);
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace ringtrue::probe
