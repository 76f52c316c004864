#include "topology/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ringtrue::topology {
namespace {

struct Named {
  std::string_view counter;
  CounterClass is;
  std::string_view words;
  int bits = 64;  // InfiniBand's PortCounters stick at their end instead of wrapping
};

using enum CounterClass;
constexpr std::array named{
    // InfiniBand ports: counters/
    Named{"symbol_error", error, "symbol errors", 16},
    Named{"link_error_recovery", error, "link error recoveries", 8},
    Named{"link_downed", error, "times that the link went down", 8},
    Named{"port_rcv_errors", error, "receive errors", 16},
    Named{"port_rcv_remote_physical_errors", error, "errors on the other side's wires", 16},
    Named{"port_rcv_switch_relay_errors", error, "packets that a switch could not pass on", 16},
    Named{"port_xmit_discards", error, "discarded packets to send", 16},
    Named{"port_xmit_constraint_errors", error, "packets not sent for a constraint", 8},
    Named{"port_rcv_constraint_errors", error, "packets not received for a constraint", 8},
    Named{"local_link_integrity_errors", error, "local link integrity errors", 4},
    Named{"excessive_buffer_overrun_errors", error, "excessive buffer overruns", 4},
    Named{"VL15_dropped", congestion, "dropped management packets", 16},
    Named{"port_xmit_wait", congestion, "ticks of waiting for credits", 32},
    // hw_counters/, RoCE
    Named{"rnr_nak_retry_err", error, "retries given up on a receiver that was not ready"},
    Named{"out_of_sequence", error, "packets out of sequence"},
    Named{"packet_seq_err", error, "packet sequence errors"},
    Named{"implied_nak_seq_err", error, "implied sequence errors"},
    Named{"local_ack_timeout_err", error, "acknowledgements that did not come in time"},
    Named{"duplicate_request", error, "duplicate requests"},
    Named{"roce_adp_retrans", error, "adaptive retransmissions"},
    Named{"roce_adp_retrans_to", error, "adaptive retransmissions after a timeout"},
    Named{"out_of_buffer", congestion, "packets that found no receive buffer"},
    Named{"rp_cnp_handled", congestion, "congestion notifications handled"},
    Named{"np_cnp_sent", congestion, "congestion notifications sent"},
    Named{"np_ecn_marked_roce_packets", congestion, "packets marked for congestion"},
    // Ending a queue pair flushes what it holds: every run does.
    Named{"req_cqe_flush_error", traffic, "requests flushed"},
    Named{"resp_cqe_flush_error", traffic, "receives flushed"},
    // hw_counters/ of soft-RoCE
    Named{"out_of_seq_request", error, "requests out of sequence"},
    Named{"rcvd_seq_err", error, "sequence errors told by the receiver"},
    Named{"completer_retry_err", error, "retries"},
    Named{"retry_exceeded_err", error, "retries given up"},
    Named{"retry_rnr_exceeded_err", error, "retries given up on a receiver that was not ready"},
    Named{"send_err", error, "packets that could not be sent"},
    Named{"rcvd_rnr_err", congestion, "answers of a receiver that was not ready"},
    Named{"send_rnr_err", congestion, "requests that found no receive"},
    Named{"ack_deferred", traffic, "completions put off"},
    // What the daemon saw of a port's state, for devices that do not count it
    Named{"port_down", error, "times that the port left the state active"},
    // netdevs
    Named{"carrier_changes", error, "carrier changes"},
    Named{"carrier_down_count", error, "times that the carrier went down"},
    Named{"carrier_up_count", error, "times that the carrier came up"},
    Named{"rx_crc_errors", error, "checksum errors"},
    Named{"rx_errors", error, "receive errors"},
    Named{"tx_errors", error, "send errors"},
    Named{"collisions", error, "collisions"},
    // Frames of protocols that nobody here speaks are dropped, too: no error.
    Named{"rx_dropped", congestion, "dropped packets received"},
    Named{"tx_dropped", congestion, "dropped packets to send"},
    Named{"rx_missed_errors", congestion, "packets missed for want of buffers"},
    // PCI, GPUs
    Named{"aer_correctable", error, "corrected PCIe errors"},
    Named{"aer_nonfatal", error, "uncorrected PCIe errors"},
    Named{"aer_fatal", error, "fatal PCIe errors"},
    Named{"ecc_corrected", error, "corrected memory errors"},
    Named{"ecc_uncorrected", error, "uncorrected memory errors"},
};

const Named* find(std::string_view counter) {
  const auto it = std::ranges::find(named, counter, &Named::counter);
  return it == named.end() ? nullptr : &*it;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

CounterClass counter_class(std::string_view counter) {
  if (const Named* n = find(counter)) return n->is;
  if (counter.starts_with("nvlink"))
    return has(counter, "data") || has(counter, "bytes") || has(counter, "throughput") ? traffic : error;
  for (const char* part : {"pause", "cnp", "ecn", "discard_by_watchdog", "congest", "xoff", "xon", "wait"}) {
    if (has(counter, part)) return congestion;
  }
  for (const char* part : {"err", "discard", "retrans", "timeout", "crc", "replay", "link_down"}) {
    if (has(counter, part)) return error;
  }
  for (const char* part : {"bytes", "packets", "_data", "multicast", "unicast", "broadcast", "pkts"}) {
    if (has(counter, part)) return traffic;
  }
  return unknown;
}

std::string counter_words(std::string_view counter) {
  if (const Named* n = find(counter)) return std::string(n->words);
  return std::string(counter);
}

int counter_bits(std::string_view counter) {
  const Named* n = find(counter);
  return n ? n->bits : 64;
}

std::string device_words(std::string_view device) {
  const auto slash = device.rfind('/');
  if (slash == std::string_view::npos) return std::string(device);
  return fmt::format("{} port {}", device.substr(0, slash), device.substr(slash + 1));
}

Loss loss_seen(std::string_view counter) {
  if (counter == "packet_seq_err" || counter == "rcvd_seq_err") return Loss::sending;
  if (counter == "out_of_sequence" || counter == "out_of_seq_request") return Loss::receiving;
  return Loss::none;
}

std::uint64_t rise(const run::CounterChange& change) {
  return change.reset || change.after < change.before ? change.after : change.after - change.before;
}

std::string text(const run::CounterChange& change) {
  const std::string device = device_words(change.device), words = counter_words(change.counter);
  const std::uint64_t by = rise(change);
  if (change.saturated && by == 0)
    return fmt::format("{}: {} stand at the counter's end, {}", device, words, change.after);
  std::string text =
      fmt::format("{}: {}{} {}", device, change.saturated || change.reset ? "at least " : "", by, words);
  if (change.reset) text += " (the counter was reset)";
  if (change.saturated) text += " (the counter stands at its end)";
  return text;
}

}  // namespace ringtrue::topology
