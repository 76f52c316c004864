// What a finding says, as values: evidence, impact and what to do next. The sentences are in lib/report/text,
// wording.cc and, of rules of inspection, rules.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/subject.h"
#include "diagnosis/findings/kinds.h"

namespace ringtrue::diagnosis {

enum class StatementKind {
  told,  // in the words of `text`: by a rule of inspection, a counter's own name, an error
  // Evidence of what is measured.
  path_rate,
  path_slow_at_times,
  ends_do_better,
  cannot_be_told_apart,
  send_rate,
  receive_rate,
  sends_slowly_at_times,
  receives_slowly_at_times,
  partners_receive,
  partners_send,
  program_holds_back,
  window_too_small,
  window_limited,
  send_buffer_limited,
  slowest_hop,
  aggregator_received,
  aggregator_sent,
  other_causes,
  busy_processors,
  resent,
  alone_sends,
  alone_receives,
  also_sends,
  also_receives,
  rdma_ports,
  slow_rail,
  slow_rails,
  between_leaves,
  leaf_slow_at_times,
  leaf_carries_less,
  ends_do_better_below_leaf,
  one_pair,
  over_trunk,
  rest_of_way_is_fine,
  trunks_of_switch,
  no_hop_tells_apart,
  rail_rate,
  others_went_on,
  last_took_part,
  round_trip,
  late_with_all,
  late_together,
  above_declared,
  fleet_rate,
  generation_rate,
  slow_alike,
  others_on_ports,
  lost_packets,
  other_scope,
  counter,
  confirmed_after,
  confirmed_last,
  since_when,
  never_good,
  gpu_carried,
  alike_in_fleet,
  calls_vanish,
  answers_vanish,
  calls_rejected,
  long_packets_vanish,
  other_way_open,
  data_end,
  // Impact.
  repair,
  repair_first,
  repair_together,
  off_ring,
  behind_slower,
  across_leaves,
  slowest_rail,
  no_collective,
  late_steps,
  sent_again,
  repair_gpu,
  other_order,
  // What to do next.
  look_at_program,
  look_at_buffers,
  look_at_route,
  look_at_sender,
  look_at_receiver,
  look_at_port,
  look_at_part,
  look_at_rail,
  look_at_way,
  look_at_cable,
  look_at_rdma_cable,
  look_at_node,
  look_at_group,
  look_at_fleet,
  give_link_rate,
  look_at_generations,
  look_at_others,
  see_ideal,
  look_at_gpu_links,
  look_at_gpu,
  look_at_firewall,
  look_at_mtu,
  // What could not be told, and why.
  unread_node,
  no_wire,
  one_process,
  alike_directions,
  seen_once,
  port_seen_once,
  single_paths,
  no_data_moved,
  alone_as_fast,
  too_long_for_ports,
  last_share,
  all_links,
  slower_part,
  unconfirmed,
  unclear_paths,
  low_by_chance,
  shared_links,
  hidden_side,
  held_back_side,
  too_few_readings,
  slow_ring,
  fast_ring,
  scattered_ring,
  unnamed_part,
  trunks_open,
  trunks_hidden,
  trunks_unmet,
  ways_changed,
  port_unnamed,
  answers_late,
  lossy_somewhere,
  gpu_not_measured,
  gpu_not_known,
  gpu_links_not_known,
  gpu_memory_not_known,
  gpu_host_not_known,
  missing_fact,
  left_out_blocked,
  daemon_stopping,
  // What a rule of inspection says of all the values that it gathered.
  rule_evidence,
  rule_impact,
  rule_next,
};

// The name tells the unit, as keys of JSON do: "rate_Bps", "latency_s", "reached_share", "lost_percent"; what
// has no unit is a count.
struct Quantity {
  std::string_view name;
  // Also words of a machine's own: names of devices, states, origins. Nothing: unknown, empty or not so.
  std::variant<std::monostate, double, std::uint64_t, std::string, std::vector<std::string>> value;

  template <class T>
  Quantity(std::string_view its_name, const T& v) : name(its_name) {
    set(v);
  }
  bool known() const { return value.index() > 0; }
  bool operator==(const Quantity&) const = default;

 private:
  template <class T>
  void set(const T& v) {
    if constexpr (std::is_same_v<T, bool>) {
      if (v) value = 1.0;
    } else if constexpr (std::is_unsigned_v<T>) {
      value = std::uint64_t(v);
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = double(v);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      if (const std::string_view text = v; !text.empty()) value = std::string(text);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      if (!v.empty()) value = v;
    } else if constexpr (requires { v.has_value(); }) {
      if (v) set(*v);
    } else {  // of base/units.h
      set(v.value);
    }
  }
};

struct Statement {
  StatementKind kind = StatementKind::told;
  std::vector<Subject> subjects;
  std::vector<Quantity> values;
  std::string text;                   // what is no number: names of devices, words of others
  std::optional<FindingKind> rule{};  // that says it

  Statement() = default;
  Statement(const char* words) : text(words) {}
  Statement(std::string words) : text(std::move(words)) {}
  Statement(StatementKind what, std::vector<Subject> whom = {}, std::vector<Quantity> numbers = {},
            std::string words = {})
      : kind(what), subjects(std::move(whom)), values(std::move(numbers)), text(std::move(words)) {}

  bool empty() const { return kind == StatementKind::told && text.empty(); }
  bool operator==(const Statement&) const = default;
};

}  // namespace ringtrue::diagnosis
