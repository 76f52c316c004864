// Error counters by their rise over a window. What a counter stands at says how old a machine is; what it
// counts now says how well it does.
#include <algorithm>
#include <array>
#include <cmath>

#include "diagnosis/inspect/rule_context.h"
#include "run/counter_window.h"
#include "topology/counters.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;
using run::CounterChange;
using run::InspectThresholds;

constexpr const char* bad_wire =
    "clean or swap the cable and transceiver, then the port; see whether the errors move with the cable";
constexpr const char* repeats = "damaged packets are sent again: this rail is slower than its rate says";

struct Threshold {
  double InspectThresholds::*limit = nullptr;  // nullptr: none
  double period_s = 1;                         // 0: so many in a window, however long
  const char* unit = "/s";
};

// Counters of a port that a rule looks at together.
struct Family {
  std::array<std::string_view, 4> names;  // how they begin
  std::optional<Severity> severity;       // of a rise below the thresholds; nullopt: not worth a finding
  Threshold warning, critical;
  const char *impact, *next;
  const char* gauge = "";  // where there is no threshold
};

constexpr Family symbol_errors{
    .names = {"symbol_error"},
    .severity = Severity::info,
    .warning = {&InspectThresholds::symbol_error_per_s},
    .critical = {&InspectThresholds::symbol_error_per_hour, 3600, " an hour"},
    .impact = repeats,
    .next = bad_wire,
};
constexpr Family recovery{
    .names = {"link_error_recovery"},
    .severity = Severity::info,
    .warning = {&InspectThresholds::link_error_recovery_per_min, 60, " a minute"},
    .impact = "each recovery stops the link",
    .next = bad_wire,
};
constexpr Family receive_errors{
    .names = {"port_rcv_errors", "rx_crc_errors"},
    .severity = Severity::info,
    .warning = {&InspectThresholds::port_rcv_errors_per_s},
    .impact = repeats,
    .next = bad_wire,
};
constexpr Family discards{
    .names = {"port_xmit_discards"},
    .warning = {&InspectThresholds::port_xmit_discards_per_s},
    .impact = "discarded packets are sent again",
    .next = "look for congestion and for a receiver that is slow or gone",
};
constexpr Family fatal{
    .names = {"link_down", "excessive_buffer_overrun", "local_link_integrity", "rnr_nak_retry_err"},
    .severity = Severity::critical,
    .impact = "jobs that use this rail stall or die",
    .next = bad_wire,
    .gauge = "any at all is a fault",
};
constexpr Family carrier{
    .names = {"carrier_changes"},
    .warning = {&InspectThresholds::carrier_changes, 0, " in a window"},
    .impact = "the link goes up and down: connections stall",
    .next = bad_wire,
};
constexpr Family retransmissions{
    .names = {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err"},
    .severity = Severity::warning,
    .impact = "packets were lost or came late and are sent again, with all that followed",
    .next = "see that PFC or ECN is set alike on NICs and switches, and look for discards on the switches",
    .gauge = "a lossless network repeats nothing",
};

bool matches(std::string_view counter, const Family& family) {
  return std::ranges::any_of(family.names,
                             [&](std::string_view n) { return !n.empty() && counter.starts_with(n); });
}

bool counts(const Node& node, const Family& family) {
  const auto one_of = [&](const auto& value) { return matches(value.first, family); };
  return std::ranges::any_of(node.counters,
                             [&](const auto& set) { return std::ranges::any_of(set.values, one_of); }) ||
         (node.window && std::ranges::any_of(node.window->changes, [&](const CounterChange& c) {
            return matches(c.counter, family);
          }));
}

bool of_hardware(const NodeView& node, const CounterChange& c) {
  const Nic* nic = node.node.find_nic(c.device.substr(0, c.device.find('/')));
  return nic && node.has_hardware(*nic);
}

ScopeType type_of(const CounterChange& c) {
  return c.device.find('/') != std::string::npos ? ScopeType::port : ScopeType::nic;
}

// A window that is shorter than the period has to show more than chance would: three standard deviations, and
// at least three.
bool above(std::uint64_t by, const Threshold& threshold, const InspectThresholds& limits, double seconds) {
  if (!threshold.limit) return false;
  const double limit = limits.*threshold.limit, rose = double(by);
  if (threshold.period_s == 0) return rose > limit;
  if (seconds <= 0) return false;
  const double expected = limit * seconds / threshold.period_s;
  if (seconds >= threshold.period_s) return rose > expected;
  return by >= 3 && rose > expected + 3 * std::sqrt(expected);
}

std::string gauge(const Family& family, const InspectThresholds& limits) {
  std::string text = family.gauge;
  for (const auto& [word, threshold] : {std::pair("warning", family.warning), {"critical", family.critical}})
    if (threshold.limit)
      text += fmt::format("{}{} above {:g}{}", text.empty() ? "" : ", ", word, limits.*threshold.limit,
                          threshold.unit);
  return text;
}

template <const Family& family>
void rises(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (std::ranges::none_of(node.node.nics, [&](const Nic& n) { return node.has_hardware(n); })) continue;
    if (counts(node.node, family)) context.applies();
    if (!node.node.window) {
      if (&family == &symbol_errors)  // which speaks for all of them
        context.cannot(&node, "",
                       node.node.counters.empty()
                           ? "no counter could be read: only their rise over a window tells"
                           : "the counters were read once: only their rise over a window tells",
                       "error counters of ports");
      continue;
    }
    const auto wanted = [&](const CounterChange& c) {
      return matches(c.counter, family) && of_hardware(node, c);
    };
    context.each_rise(node, wanted, [&](const CounterChange& c, std::uint64_t by, double seconds) {
      const auto severity = above(by, family.critical, context.limits, seconds)  ? Severity::critical
                            : above(by, family.warning, context.limits, seconds) ? Severity::warning
                                                                                 : family.severity;
      if (!severity) return;
      context.report(&node, c.device,
                     {.severity = severity,
                      .type = type_of(c),
                      .evidence = {rise_text(c, seconds), fmt::format("{} rose by {:.3g}/s; {}", c.counter,
                                                                      seconds > 0 ? double(by) / seconds : 0,
                                                                      gauge(family, context.limits))},
                      .impact = family.impact,
                      .next = family.next});
    });
  }
}

void congestion(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (!node.node.window) continue;
    for (const CounterChange& c : node.node.window->changes) {
      const bool pause = c.counter.find("pause") != std::string::npos;
      if (!pause && !c.counter.starts_with("rp_cnp_handled") && !c.counter.starts_with("np_cnp_sent"))
        continue;
      if (!of_hardware(node, c)) continue;
      context.applies();
      if (c.reset || rise(c) == 0) continue;
      context.report(
          &node, c.device,
          {.type = type_of(c),
           .evidence = {rise_text(c, node.node.window->seconds)},
           .impact = "something along the way is shared: senders were slowed down",
           .next = pause ? "look for who sends the pauses: a slow receiver or PCIe link behind it"
                         : "nothing, where traffic meets; elsewhere look at the switches' queues"});
    }
  }
}

void pcie_errors(RuleContext& context) {
  constexpr Family aer{.names = {"aer_"}, .impact = "", .next = ""};
  constexpr Threshold often{&InspectThresholds::pci_correctable_per_s};
  for (const NodeView& node : context.nodes) {
    if (!counts(node.node, aer)) continue;
    context.applies();
    const auto wanted = [&](const CounterChange& c) { return matches(c.counter, aer); };
    context.each_rise(node, wanted, [&](const CounterChange& c, std::uint64_t by, double seconds) {
      const bool correctable = c.counter.find("_correctable") != std::string::npos;
      const bool nonfatal = c.counter.find("nonfatal") != std::string::npos;
      const auto* place = node.place(c.device);
      const bool matters = place && !place->parts.empty();
      const std::string below = matters ? names(place->parts) : "";
      context.report(
          &node, c.device,
          {.severity = !matters                                                ? Severity::info
                       : !correctable && !nonfatal                             ? Severity::critical
                       : nonfatal || above(by, often, context.limits, seconds) ? Severity::warning
                                                                               : Severity::info,
           .evidence = {rise_text(c, seconds), correctable ? fmt::format("warning above {:g}/s",
                                                                         context.limits.pci_correctable_per_s)
                                                           : "PCIe could not mend them"},
           .impact = !matters      ? "no GPU and no NIC is below it"
                     : correctable ? fmt::format("each is repeated on the link to {}", below)
                                   : fmt::format("transfers of {} failed", below),
           .next = "see dmesg for AER; reseat the card or riser; errors often come before a link "
                   "loses lanes or speed"});
    });
  }
}

void saturated(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (!node.node.window) continue;
    for (const CounterChange& c : node.node.window->changes) {
      if (counter_class(c.counter) != CounterClass::error || !of_hardware(node, c)) continue;
      context.applies();
      if (!c.saturated) continue;
      context.report(&node, c.device,
                     {.evidence = {fmt::format("{} stands at {}, as high as it goes: it may hide any number",
                                               c.counter, c.after)},
                      .impact = "new errors of this kind are not seen",
                      .next = "reset it (perfquery -R on InfiniBand) and look again"});
    }
  }
}

constexpr Rule table[] = {
    {FindingKind::symbol_errors, Severity::critical, ScopeType::port, "Symbol errors that rise",
     rises<symbol_errors>},
    {FindingKind::link_error_recovery, Severity::warning, ScopeType::port,
     "Link that recovers again and again", rises<recovery>},
    {FindingKind::port_receive_errors, Severity::warning, ScopeType::port, "Receive errors that rise",
     rises<receive_errors>},
    {FindingKind::port_discards, Severity::warning, ScopeType::port, "Packets discarded at a port",
     rises<discards>},
    {FindingKind::port_fatal_errors, Severity::critical, ScopeType::port,
     "Errors of which any is one too many", rises<fatal>},
    {FindingKind::carrier_changes, Severity::warning, ScopeType::port, "Link that goes up and down",
     rises<carrier>},
    {FindingKind::roce_retransmissions, Severity::warning, ScopeType::port, "RoCE packets sent again",
     rises<retransmissions>},
    {FindingKind::roce_congestion, Severity::info, ScopeType::port, "RoCE senders slowed down", congestion},
    {FindingKind::pcie_errors, Severity::critical, ScopeType::link, "PCIe errors that rise", pcie_errors},
    {FindingKind::counter_saturated, Severity::info, ScopeType::counter, "Counter at its end", saturated},
};

}  // namespace

const std::span<const Rule> counter_rules = table;

}  // namespace ringtrue::diagnosis
