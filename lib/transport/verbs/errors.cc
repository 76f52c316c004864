#include "transport/verbs/errors.h"

#include <fmt/format.h>

#include <array>

namespace ringtrue::transport::verbs {
namespace {

// What a failed completion means, and its usual reason.
struct Status {
  const char* text;
  Cause cause;
  const char* usual;
};

constexpr const char* program = "a fault of this program: please report it";
constexpr const char* reports = "see dmesg on that node and the device's counters (ringtrue topo)";

constexpr std::array<Status, 24> statuses = {{
    {"success", Cause::internal, program},
    {"local length error", Cause::internal, "a message longer than its place: the path MTU or sizes differ"},
    {"local QP operation error", Cause::internal,
     "the port may have gone down at that moment (see ibv_devinfo there); else a fault of this program: "
     "please report it"},
    {"local EE context operation error", Cause::internal, program},
    {"local protection error", Cause::internal,
     "memory that is not registered any more: was the buffer freed or the GPU reset?"},
    {"work request flushed error", Cause::cancelled, "an earlier error on this connection is the cause"},
    {"memory management operation error", Cause::internal, program},
    {"bad response error", Cause::corrupted,
     "damaged answers: check the cable, the port's counters and firmware"},
    {"local access error", Cause::internal, program},
    {"remote invalid request error", Cause::corrupted,
     "the peer's adapter refused the request: the path MTU of both ends differs, or their versions do"},
    {"remote access error", Cause::corrupted,
     "the peer's memory is not registered any more: its process ended or began another run"},
    {"remote operation error", Cause::peer_lost,
     "the peer's adapter could not finish: see dmesg and its counters there"},
    {"transport retry counter exceeded", Cause::peer_lost,
     "the peer is gone, or nothing reaches it: a wrong GID (--gid-index) or P_Key (--pkey-index), a path MTU "
     "that the network does not carry, a missing route or VLAN, a port that is down, loss"},
    {"RNR retry counter exceeded", Cause::peer_lost,
     "the peer posted no receives in time: its process is stopped or overloaded; allow more with "
     "rnr_retry 7"},
    {"local RDD violation error", Cause::internal, program},
    {"remote invalid RD request", Cause::corrupted, program},
    {"aborted error", Cause::peer_lost, "the peer's adapter gave up: see dmesg there"},
    {"invalid EE context number", Cause::internal, program},
    {"invalid EE context state", Cause::internal, program},
    {"fatal error", Cause::unavailable, reports},
    {"response timeout error", Cause::peer_lost,
     "the peer answers no more: its adapter, its port or the path to it"},
    {"general error", Cause::unavailable, reports},
    {"tag matching error", Cause::internal, program},
    {"tag matching rendezvous incomplete", Cause::internal, program},
}};

const Status* find(int status) {
  return status >= 0 && std::size_t(status) < statuses.size() ? &statuses[std::size_t(status)] : nullptr;
}

// "512 MiB", "1.5 GiB", "100 B"
std::string binary(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double value = double(bytes);
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

// "mlx5_0:1 to node3's mlx5_3:1"
std::string way(const Ends& ends) {
  const std::string port = to_text(ends.port);
  return ends.peer_port.empty() ? port
                                : fmt::format("{} to {}'s {}", port, ends.hop.peer_node, ends.peer_port);
}

}  // namespace

std::string status_text(int status) {
  const Status* known = find(status);
  return known ? known->text : fmt::format("status {}", status);
}

Error completion_error(const std::string& node, const Ends& ends, const Completion& completion) {
  const Hop& hop = ends.hop;
  const Status* known = find(completion.status);
  Error error;
  error.cause = known ? known->cause : Cause::peer_lost;
  const bool by_peer = error.cause == Cause::peer_lost || error.cause == Cause::corrupted;
  const char* what = by_peer || error.cause == Cause::cancelled ? "lost" : "can no longer reach";
  error.what = fmt::format("rank {} on {} {} rank {} on {}, from {}: {} (vendor error {:#x})", hop.self, node,
                           what, hop.peer, hop.peer_node, way(ends), status_text(completion.status),
                           completion.vendor_error);
  error.where = by_peer ? hop.peer_node : node;
  error.next = known ? known->usual : reports;
  return error;
}

std::optional<Error> event_error(const std::string& node, const std::string& device, const Event& event,
                                 const std::optional<Ends>& ends) {
  const std::string why = event.text.empty() ? "" : ": " + event.text;
  switch (event.kind) {
    case Event::Kind::port_down:
      return Error{Cause::unavailable,
                   fmt::format("port {} of {} went down during the run", event.port, device), node,
                   "check the cable, the switch's port and the counters of link errors (ringtrue topo)"};
    case Event::Kind::device_fatal:
      return Error{Cause::unavailable, fmt::format("{} failed during the run{}", device, why), node,
                   "see dmesg there; reload the driver or reset the adapter"};
    case Event::Kind::bad_request:
      if (ends)
        return Error{
            Cause::corrupted,
            fmt::format("rank {} on {} was sent a request by rank {} on {} that its adapter refused, on {}{}",
                        ends->hop.self, node, ends->hop.peer, ends->hop.peer_node, way(*ends), why),
            ends->hop.peer_node, "look for faulty memory or a faulty adapter there, and that versions agree"};
      [[fallthrough]];
    case Event::Kind::queue_broken:
      if (ends)
        return Error{Cause::unavailable,
                     fmt::format("the queue pair of rank {} on {} to rank {} on {} broke, from {}{}",
                                 ends->hop.self, node, ends->hop.peer, ends->hop.peer_node, way(*ends), why),
                     node, "see dmesg there"};
      return Error{Cause::unavailable, fmt::format("a queue of {} broke during the run{}", device, why), node,
                   "see dmesg there"};
    case Event::Kind::port_up:
    case Event::Kind::other:
      break;
  }
  return std::nullopt;
}

Error cannot_pin(const std::string& device, std::uint64_t bytes, std::uint64_t limit) {
  return {Cause::refused,
          fmt::format("cannot pin {} of memory on {}: the limit of locked memory is {}", binary(bytes),
                      device, binary(limit)),
          {},
          "raise memlock (ulimit -l unlimited; LimitMEMLOCK=infinity for ringtrued; /etc/security/limits.d)"};
}

}  // namespace ringtrue::transport::verbs
