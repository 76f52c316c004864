// What a finding says, as numbers: evidence, impact and what to do next. lib/report/text/wording.cc has the
// sentences.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/subject.h"

namespace ringtrue::diagnosis {

enum class StatementKind {
  told,  // in the words of `text`: by a rule of inspection, a counter's own name, an error
  // Evidence of what is measured.
  path_rate,
  ends_do_better,
  cannot_be_told_apart,
  send_rate,
  receive_rate,
  partners_receive,
  partners_send,
  program_holds_back,
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
  ends_do_better_below_leaf,
  one_pair,
  rail_rate,
  others_went_on,
  round_trip,
  late_with_all,
  late_together,
  above_declared,
  fleet_rate,
  lost_packets,
  other_scope,
  counter,
  confirmed_after,
  confirmed_last,
  // Impact.
  repair,
  repair_first,
  repair_together,
  off_ring,
  across_leaves,
  slowest_rail,
  no_collective,
  late_steps,
  sent_again,
  // What to do next.
  look_at_program,
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
  look_at_fleet,
  give_link_rate,
  see_ideal,
};

// The name tells the unit, as keys of JSON do: "rate_Bps", "latency_s", "reached_share", "lost_percent"; what
// has no unit is a count.
struct Quantity {
  std::string_view name;
  double value = 0;
  bool operator==(const Quantity&) const = default;
};

struct Statement {
  StatementKind kind = StatementKind::told;
  std::vector<Subject> subjects;
  std::vector<Quantity> values;
  std::string text;  // what is no number: names of devices, words of others

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
