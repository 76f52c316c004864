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

struct Threshold {
  double InspectThresholds::*limit = nullptr;  // nullptr: none
  double period_s = 1;                         // 0: so many in a window, however long
  std::string_view name = "warning_per_s";
};

// Counters of a port that a rule looks at together.
struct Family {
  std::array<std::string_view, 4> names;  // how they begin
  std::optional<Severity> severity{};     // of a rise below the thresholds; nullopt: not worth a finding
  Threshold warning{}, critical{};
};

constexpr Family symbol_errors{
    .names = {"symbol_error"},
    .severity = Severity::info,
    .warning = {&InspectThresholds::symbol_error_per_s},
    .critical = {&InspectThresholds::symbol_error_per_hour, 3600, "critical_per_hour"},
};
constexpr Family recovery{
    .names = {"link_error_recovery"},
    .severity = Severity::info,
    .warning = {&InspectThresholds::link_error_recovery_per_min, 60, "warning_per_min"},
};
constexpr Family receive_errors{
    .names = {"port_rcv_errors", "rx_crc_errors"},
    .severity = Severity::info,
    .warning = {&InspectThresholds::port_rcv_errors_per_s},
};
constexpr Family discards{
    .names = {"port_xmit_discards"},
    .warning = {&InspectThresholds::port_xmit_discards_per_s},
};
constexpr Family fatal{
    .names = {"link_down", "excessive_buffer_overrun", "local_link_integrity", "rnr_nak_retry_err"},
    .severity = Severity::critical,
};
constexpr Family carrier{
    .names = {"carrier_changes"},
    .warning = {&InspectThresholds::carrier_changes, 0, "warning_per_window"},
};
constexpr Family retransmissions{
    .names = {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err"},
    .severity = Severity::warning,
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
      std::vector<Quantity> thresholds;
      for (const Threshold& t : {family.warning, family.critical})
        if (t.limit) thresholds.emplace_back(t.name, context.limits.*t.limit);
      context.report(&node, c.device,
                     {.severity = severity,
                      .type = type_of(c),
                      .values = rise_values(c, seconds, std::move(thresholds))});
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
          {.type = type_of(c), .values = rise_values(c, node.node.window->seconds, {{"pause", pause}})});
    }
  }
}

void pcie_errors(RuleContext& context) {
  constexpr Family aer{.names = {"aer_"}};
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
      context.report(&node, c.device,
                     {.severity = !matters                                                ? Severity::info
                                  : !correctable && !nonfatal                             ? Severity::critical
                                  : nonfatal || above(by, often, context.limits, seconds) ? Severity::warning
                                                                                          : Severity::info,
                      .values = rise_values(
                          c, seconds,
                          {{"correctable", correctable},
                           {"warning_per_s",
                            correctable ? std::optional(context.limits.pci_correctable_per_s) : std::nullopt},
                           {"parts", matters ? names(place->parts) : std::vector<std::string>()}})});
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
      context.report(&node, c.device, {.values = {{"counter", c.counter}, {"after", c.after}}});
    }
  }
}

constexpr Rule counters_table[] = {
    {FindingKind::symbol_errors, Severity::critical, ScopeType::port, rises<symbol_errors>},
    {FindingKind::link_error_recovery, Severity::warning, ScopeType::port, rises<recovery>},
    {FindingKind::port_receive_errors, Severity::warning, ScopeType::port, rises<receive_errors>},
    {FindingKind::port_discards, Severity::warning, ScopeType::port, rises<discards>},
    {FindingKind::port_fatal_errors, Severity::critical, ScopeType::port, rises<fatal>},
    {FindingKind::carrier_changes, Severity::warning, ScopeType::port, rises<carrier>},
    {FindingKind::roce_retransmissions, Severity::warning, ScopeType::port, rises<retransmissions>},
    {FindingKind::roce_congestion, Severity::info, ScopeType::port, congestion},
    {FindingKind::pcie_errors, Severity::critical, ScopeType::link, pcie_errors},
    {FindingKind::counter_saturated, Severity::info, ScopeType::counter, saturated},
};

}  // namespace

const std::span<const Rule> counter_rules = counters_table;

}  // namespace ringtrue::diagnosis
