// What an operator may set of the verbs transport. Names and meanings as in ibv_modify_qp(3) and the field's
// own variables (NCCL_IB_*).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"

namespace ringtrue::run {

// A device's port, "mlx5_0:1"; the port is 1 where it is left out, "mlx5_0".
struct RdmaPort {
  std::string device;
  int port = 1;
  auto operator<=>(const RdmaPort&) const = default;  // NOLINT(modernize-use-nullptr)
};
Result<RdmaPort> parse_port(std::string_view text);
std::string to_text(const RdmaPort& port);
std::string port_name(const RdmaPort& port);  // "mlx5_0/1", as counters and findings have it
// "mlx5_0,mlx5_1:2"
Result<std::vector<RdmaPort>> parse_ports(std::string_view text);

enum class Registration : std::uint8_t {
  automatic,  // the ranks' own memory where it can be registered, else staged
  direct,     // ... or an error
  staged,     // through registered buffers, always
};

// What settings may say, and so what peers may ask for.
inline constexpr int max_queue_pairs = 16, min_slots = 2, max_slots = 64;
inline constexpr std::uint64_t min_slot_bytes = 4096, max_slot_bytes = 4 << 20;
constexpr bool is_path_mtu(int bytes) {
  return bytes >= 256 && bytes <= 4096 && (bytes & (bytes - 1)) == 0;
}

struct RdmaSettings {
  std::vector<RdmaPort> ports = {};  // the rails, in order; empty: chosen by choose_rails()
  int gid_index = -1;                // -1: chosen
  int pkey_index = 0;                // of the ports' tables, 0 to 65535
  int mtu = 0;            // path MTU in bytes: 256 to 4096, a power of two; 0: the ports' active one
  int timeout = 18;       // local ACK timeout, 4.096 us x 2^timeout: 1 to 31
  int retry_count = 7;    // 0 to 7
  int rnr_retry = 7;      // 0 to 7; 7: without end
  int traffic_class = 0;  // 0 to 255
  int service_level = 0;  // 0 to 15
  int queue_pairs = 1;    // of a hop on each rail, 1 to max_queue_pairs
  // Messages from so many bytes on leave as RDMA WRITE, which adaptive routing may reorder, and a short WRITE
  // WITH IMM behind; 0: never.
  std::uint64_t adaptive_routing_threshold = 0;
  bool relaxed_ordering = true;  // asked for where libibverbs can
  Registration registration = Registration::automatic;
  std::uint64_t slot_bytes = 256 * 1024;  // a slice's bytes in one write, at most
  int slots = 8;                          // of a hop's ring
  bool operator==(const RdmaSettings&) const = default;
};

// The settings by name ("gid_index", "path_mtu"), in the order of the table that has their ranges
// (run/fields.h).
std::vector<std::string> rdma_setting_names();
// Sets one from text, as flags and the configuration give it; names the value that is not in its range.
Result<void> set(RdmaSettings& settings, std::string_view name, std::string_view text);
// Whether all values are in their ranges; names the first that is not.
Result<void> check(const RdmaSettings& settings);

}  // namespace ringtrue::run

namespace ringtrue {

template <>
inline constexpr const char* keys_of<run::Registration>[] = {"auto", "direct", "staged"};

}  // namespace ringtrue
