// Error counters by their rise over a window. What a counter stands at says how old a machine is; what it
// counts now says how well it does.
#include <algorithm>
#include <cmath>

#include "diagnosis/inspect/rule_context.h"
#include "run/counter_window.h"
#include "topology/counters.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

using Names = std::span<const std::string_view>;

bool matches(std::string_view counter, Names names) {
  return std::ranges::any_of(names, [&](std::string_view n) { return counter.starts_with(n); });
}

bool counts(const Node& node, Names names) {
  for (const run::CounterSet& set : node.counters)
    for (std::string_view n : names) {
      const auto it = set.values.lower_bound(std::string(n));
      if (it != set.values.end() && it->first.starts_with(n)) return true;
    }
  return node.window && std::ranges::any_of(node.window->changes, [&](const run::CounterChange& c) {
           return matches(c.counter, names);
         });
}

const Nic* physical_nic(const NodeView& node, const std::string& device) {
  const Nic* nic = node.node.find_nic(device.substr(0, device.find('/')));
  return nic && node.has_hardware(*nic) ? nic : nullptr;
}

// Above so many in a period. A window that is shorter than the period has to show more than chance would:
// three standard deviations, and at least three.
bool above(std::uint64_t by, double limit, double period_s, double seconds) {
  if (seconds <= 0) return false;
  const double expected = limit * seconds / period_s, rose = double(by);
  if (seconds >= period_s) return rose > expected;
  return by >= 3 && rose > expected + 3 * std::sqrt(expected);
}

struct Judgement {
  std::optional<Severity> severity;  // nullopt: nothing to say
  std::string gauge;                 // "warning above 10/s"
};

// Calls `judge` for each counter of a port that rose. `first`: of the family; speaks for all of it where
// there is no window.
template <class Judge>
void each_rise(RuleContext& context, Names names, bool first, const char* impact, const char* next,
               Judge judge) {
  for (const NodeView& node : context.nodes) {
    const bool nics = std::ranges::any_of(node.node.nics, [&](const Nic& n) { return node.has_hardware(n); });
    if (!nics) continue;
    if (counts(node.node, names)) context.applies();
    if (!node.node.window) {
      if (first)
        context.cannot(&node, "",
                       node.node.counters.empty()
                           ? "no counter could be read: only their rise over a window tells"
                           : "the counters were read once: only their rise over a window tells",
                       "error counters of ports");
      continue;
    }
    const double seconds = node.node.window->seconds;
    for (const run::CounterChange& c : node.node.window->changes) {
      if (!matches(c.counter, names) || !physical_nic(node, c.device)) continue;
      if (c.reset) {
        context.cannot(&node, c.device, "the counter was reset within the window");
        continue;
      }
      const auto by = rise(c);
      if (by == 0) {
        if (c.saturated) context.cannot(&node, c.device, "the counter stands at its end and cannot rise");
        continue;
      }
      const Judgement j = judge(by, seconds);
      if (!j.severity) continue;
      const bool port = c.device.find('/') != std::string::npos;
      context.report({.severity = *j.severity,
                      .type = port ? ScopeType::port : ScopeType::nic,
                      .node = &node,
                      .device = c.device,
                      .evidence = {fmt::format("{} within {} ({} -> {})", text(c), to_text(Seconds(seconds)),
                                               c.before, c.after),
                                   fmt::format("{} rose by {:.3g}/s; {}", c.counter,
                                               seconds > 0 ? double(by) / seconds : 0, j.gauge)},
                      .impact = impact,
                      .next = next});
    }
  }
}

constexpr const char* bad_wire =
    "clean or swap the cable and transceiver, then the port; see whether the errors move with the cable";
constexpr const char* repeats = "damaged packets are sent again: this rail is slower than its rate says";

void symbol_errors(RuleContext& context) {
  constexpr std::string_view names[] = {"symbol_error"};
  const InspectThresholds& t = context.limits;
  each_rise(context, names, true, repeats, bad_wire, [&](std::uint64_t by, double s) {
    const std::string gauge = fmt::format("warning above {:g}/s, critical above {:g} an hour",
                                          t.symbol_error_per_s, t.symbol_error_per_hour);
    return Judgement{above(by, t.symbol_error_per_hour, 3600, s) ? Severity::critical
                     : above(by, t.symbol_error_per_s, 1, s)     ? Severity::warning
                                                                 : Severity::info,
                     gauge};
  });
}

void recovery(RuleContext& context) {
  constexpr std::string_view names[] = {"link_error_recovery"};
  const double limit = context.limits.link_error_recovery_per_min;
  each_rise(context, names, false, "each recovery stops the link", bad_wire, [&](std::uint64_t by, double s) {
    return Judgement{above(by, limit, 60, s) ? Severity::warning : Severity::info,
                     fmt::format("warning above {:g} a minute", limit)};
  });
}

void receive_errors(RuleContext& context) {
  constexpr std::string_view names[] = {"port_rcv_errors", "rx_crc_errors"};
  const double limit = context.limits.port_rcv_errors_per_s;
  each_rise(context, names, false, repeats, bad_wire, [&](std::uint64_t by, double s) {
    return Judgement{above(by, limit, 1, s) ? Severity::warning : Severity::info,
                     fmt::format("warning above {:g}/s", limit)};
  });
}

void discards(RuleContext& context) {
  constexpr std::string_view names[] = {"port_xmit_discards"};
  const double limit = context.limits.port_xmit_discards_per_s;
  each_rise(context, names, false, "discarded packets are sent again",
            "look for congestion and for a receiver that is slow or gone", [&](std::uint64_t by, double s) {
              Judgement j{std::nullopt, fmt::format("warning above {:g}/s", limit)};
              if (above(by, limit, 1, s)) j.severity = Severity::warning;
              return j;
            });
}

void fatal(RuleContext& context) {
  constexpr std::string_view names[] = {"link_down", "excessive_buffer_overrun", "local_link_integrity",
                                        "rnr_nak_retry_err"};
  each_rise(context, names, false, "jobs that use this rail stall or die", bad_wire,
            [](std::uint64_t, double) {
              return Judgement{Severity::critical, "any at all is a fault"};
            });
}

void carrier(RuleContext& context) {
  constexpr std::string_view names[] = {"carrier_changes"};
  const double limit = context.limits.carrier_changes;
  each_rise(context, names, false, "the link goes up and down: connections stall", bad_wire,
            [&](std::uint64_t by, double) {
              Judgement j{std::nullopt, fmt::format("warning above {:g} in a window", limit)};
              if (double(by) > limit) j.severity = Severity::warning;
              return j;
            });
}

void retransmissions(RuleContext& context) {
  constexpr std::string_view names[] = {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err"};
  each_rise(context, names, false,
            "packets were lost or came late and are sent again, with all that followed",
            "see that PFC or ECN is set alike on NICs and switches, and look for discards on the switches",
            [](std::uint64_t, double) {
              return Judgement{Severity::warning, "a lossless network repeats nothing"};
            });
}

void congestion(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (!node.node.window) continue;
    for (const run::CounterChange& c : node.node.window->changes) {
      const bool pause = c.counter.find("pause") != std::string::npos;
      if (!pause && !c.counter.starts_with("rp_cnp_handled") && !c.counter.starts_with("np_cnp_sent"))
        continue;
      if (!physical_nic(node, c.device)) continue;
      context.applies();
      if (c.reset || rise(c) == 0) continue;
      context.report(
          {.severity = Severity::info,
           .type = c.device.find('/') != std::string::npos ? ScopeType::port : ScopeType::nic,
           .node = &node,
           .device = c.device,
           .evidence = {fmt::format("{} within {}", text(c), to_text(Seconds(node.node.window->seconds)))},
           .impact = "something along the way is shared: senders were slowed down",
           .next = pause ? "look for who sends the pauses: a slow receiver or PCIe link behind it"
                         : "nothing, where traffic meets; elsewhere look at the switches' queues"});
    }
  }
}

void pcie_errors(RuleContext& context) {
  constexpr std::string_view names[] = {"aer_"};
  const double limit = context.limits.pci_correctable_per_s;
  for (const NodeView& node : context.nodes) {
    if (!counts(node.node, names)) continue;
    context.applies();
    if (!node.node.window) {
      context.cannot(&node, "", "the counters were read once: only their rise over a window tells");
      continue;
    }
    const double seconds = node.node.window->seconds;
    for (const run::CounterChange& c : node.node.window->changes) {
      if (!c.counter.starts_with("aer_")) continue;
      if (c.reset) {
        context.cannot(&node, c.device, "the counter was reset within the window");
        continue;
      }
      const auto by = rise(c);
      if (by == 0) continue;
      const bool correctable = c.counter.find("_correctable") != std::string::npos;
      const bool nonfatal = c.counter.find("nonfatal") != std::string::npos;
      const auto* place = node.place(c.device);
      const bool matters = place && !place->parts.empty();
      Severity severity = !correctable && !nonfatal                  ? Severity::critical
                          : nonfatal || above(by, limit, 1, seconds) ? Severity::warning
                                                                     : Severity::info;
      if (!matters) severity = Severity::info;
      const std::string below = matters ? node.names(place->parts) : "";
      context.report({.severity = severity,
                      .type = ScopeType::link,
                      .node = &node,
                      .device = c.device,
                      .evidence = {fmt::format("{} within {} ({} -> {})", text(c), to_text(Seconds(seconds)),
                                               c.before, c.after),
                                   correctable ? fmt::format("warning above {:g}/s", limit)
                                               : "PCIe could not mend them"},
                      .impact = !matters      ? "no GPU and no NIC is below it"
                                : correctable ? fmt::format("each is repeated on the link to {}", below)
                                              : fmt::format("transfers of {} failed", below),
                      .next = "see dmesg for AER; reseat the card or riser; errors often come before a link "
                              "loses lanes or speed"});
    }
  }
}

void saturated(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (!node.node.window) continue;
    for (const run::CounterChange& c : node.node.window->changes) {
      if (counter_class(c.counter) != CounterClass::error || !physical_nic(node, c.device)) continue;
      context.applies();
      if (!c.saturated) continue;
      context.report({.severity = Severity::info,
                      .type = ScopeType::counter,
                      .node = &node,
                      .device = c.device,
                      .evidence = {fmt::format("{} stands at {}, as high as it goes: it may hide any number",
                                               c.counter, c.after)},
                      .impact = "new errors of this kind are not seen",
                      .next = "reset it (perfquery -R on InfiniBand) and look again"});
    }
  }
}

constexpr Rule table[] = {
    {"symbol-errors", Severity::critical, "Symbol errors that rise", symbol_errors},
    {"link-error-recovery", Severity::warning, "Link that recovers again and again", recovery},
    {"port-receive-errors", Severity::warning, "Receive errors that rise", receive_errors},
    {"port-discards", Severity::warning, "Packets discarded at a port", discards},
    {"port-fatal-errors", Severity::critical, "Errors of which any is one too many", fatal},
    {"carrier-changes", Severity::warning, "Link that goes up and down", carrier},
    {"roce-retransmissions", Severity::warning, "RoCE packets sent again", retransmissions},
    {"roce-congestion", Severity::info, "RoCE senders slowed down", congestion},
    {"pcie-errors", Severity::critical, "PCIe errors that rise", pcie_errors},
    {"counter-saturated", Severity::info, "Counter at its end", saturated},
};

}  // namespace

std::span<const Rule> counter_rules() {
  return table;
}

}  // namespace ringtrue::diagnosis
