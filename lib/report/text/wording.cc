#include "report/text/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/hostlist.h"
#include "base/plural.h"
#include "base/units.h"
#include "report/text/template.h"

namespace ringtrue::report {
namespace {

using diagnosis::Plan;
using diagnosis::Statement;
using diagnosis::StatementKind;

constexpr std::size_t names_shown = 16;

struct Wording {
  StatementKind kind;
  std::string_view name, sentence;
};

constexpr Wording wordings[] = {
    {StatementKind::told, "told", "{text}"},
    {StatementKind::path_rate, "path-rate",
     "{0} -> {1} carries at most {rate_Bps} ({#readings} in {#experiments}, {low_Bps} to {high_Bps}); "
     "expected {expected_Bps}"},
    {StatementKind::path_slow_at_times, "path-slow-at-times",
     "{0} -> {1} {text}: it then carries {rate_Bps}; expected {expected_Bps}"},
    {StatementKind::ends_do_better, "ends-do-better",
     "both ends reach more with other partners: {0} sends up to {sends_Bps}, {1} receives up to "
     "{receives_Bps}"},
    {StatementKind::cannot_be_told_apart, "cannot-be-told-apart",
     "{0}'s sending side, {1}'s receiving side and the path between cannot be told apart, as no other "
     "node can show them better: all three are suspects"},
    {StatementKind::send_rate, "send-rate",
     "{0} sends at most {rate_Bps} to any of {#partners} ({#readings} in {#experiments}, {low_Bps} to "
     "{high_Bps}); expected {expected_Bps}"},
    {StatementKind::receive_rate, "receive-rate",
     "{0} receives at most {rate_Bps} from any of {#partners} ({#readings} in {#experiments}, {low_Bps} to "
     "{high_Bps}); expected {expected_Bps}"},
    {StatementKind::sends_slowly_at_times, "sends-slowly-at-times",
     "{0} {text}: it then sends {rate_Bps} to any of {#partners}; expected {expected_Bps}"},
    {StatementKind::receives_slowly_at_times, "receives-slowly-at-times",
     "{0} {text}: it then receives {rate_Bps} from any of {#partners}; expected {expected_Bps}"},
    {StatementKind::partners_receive, "partners-receive",
     "each of these partners receives {rate_Bps} or more with others"},
    {StatementKind::partners_send, "partners-send",
     "each of these partners sends {rate_Bps} or more with others"},
    {StatementKind::program_holds_back, "program-holds-back",
     "in each case the program on {0} was the limit, not the link: its processors could not keep up"},
    {StatementKind::window_too_small, "window-too-small",
     "the window that {0} gives its senders was the limit: its TCP sockets receive into {buffer_bytes} at "
     "most (net.ipv4.tcp_rmem)"},
    {StatementKind::window_limited, "window-limited",
     "senders [to {text} ]were limited by the receive window {limited_percent} of the time"},
    {StatementKind::send_buffer_limited, "send-buffer-limited",
     "[{text} ]was limited by its send buffer {limited_percent} of the time (net.ipv4.tcp_wmem)"},
    {StatementKind::slowest_hop, "slowest-hop",
     "{0} -> {1} was the slowest hop of the ring: {rate_Bps}, typical {typical_Bps}"},
    {StatementKind::aggregator_received, "aggregator-received",
     "in an omnireduce aggregator {aggregator} on {0} received {rate_Bps}, typical {typical_Bps}"},
    {StatementKind::aggregator_sent, "aggregator-sent",
     "in an omnireduce aggregator {aggregator} on {0} sent {rate_Bps}, typical {typical_Bps}"},
    {StatementKind::other_causes, "other-causes",
     "another set of as few causes would explain the readings as well; more nodes would tell them apart"},
    {StatementKind::busy_processors, "busy-processors",
     "processors were more than 90 % busy in all of these experiments"},
    {StatementKind::resent, "resent",
     "retransmissions: {resent_percent} of segments {text} ({resent} of {segments}), elsewhere "
     "{elsewhere_percent}: packets are lost on the way"},
    {StatementKind::alone_sends, "alone-sends",
     "while both directions are in use it sends less, as acknowledgements queue behind the slow side's data; "
     "alone it sends {rate_Bps}: that side is fine"},
    {StatementKind::alone_receives, "alone-receives",
     "while both directions are in use it receives less, as acknowledgements queue behind the slow side's "
     "data; alone it receives {rate_Bps}: that side is fine"},
    {StatementKind::also_sends, "also-sends", "it sends {rate_Bps}: that side is fine"},
    {StatementKind::also_receives, "also-receives", "it receives {rate_Bps}: that side is fine"},
    {StatementKind::rdma_ports, "rdma-ports", "{0}'s data went through {text}"},
    {StatementKind::slow_rail, "slow-rail",
     "only its {text} is slow, the others carry what is usual; the rates are of all rails together, which "
     "wait for it"},
    {StatementKind::slow_rails, "slow-rails",
     "only its {text} are slow, the others carry what is usual; the rates are of all rails together, which "
     "wait for them"},
    {StatementKind::between_leaves, "between-leaves",
     "{#pairs} between leaves carry at most {rate_Bps} ({#readings} in {#experiments}); expected "
     "{expected_Bps}"},
    {StatementKind::leaf_slow_at_times, "leaf-slow-at-times",
     "what crosses between leaves {text}: {#pairs} then carry {rate_Bps}; expected "
     "{expected_Bps}"},
    {StatementKind::leaf_carries_less, "leaf-carries-less",
     "with all nodes sending to other leaves at once, {#pairs} of it carry {rate_Bps} each, those of other "
     "leaves {expected_Bps}; it {text}. Fewer uplinks look the same, and jobs of others on them"},
    {StatementKind::ends_do_better_below_leaf, "ends-do-better-below-leaf",
     "the ends of these pairs reach more with partners below their own leaf"},
    {StatementKind::one_pair, "one-pair", "one of them: {0} -> {1}"},
    {StatementKind::over_trunk, "over-trunk",
     "{#pairs} whose way goes over {text} carry at most {rate_Bps} ({#readings} in {#experiments}); expected "
     "{expected_Bps}"},
    {StatementKind::rest_of_way_is_fine, "rest-of-way-is-fine",
     "all else on these ways, their ends included, has carried more with others"},
    {StatementKind::trunks_of_switch, "trunks-of-switch", "{#trunks} of it are slow alike, each way counted"},
    {StatementKind::no_hop_tells_apart, "no-hop-tells-apart",
     "every way between these nodes that crosses one of them crosses the other: more switches or nodes would "
     "tell them apart"},
    {StatementKind::rail_rate, "rail-rate",
     "most nodes' shares on rail {rail} carry {rate_Bps}, those on other rails {usual_Bps}"},
    {StatementKind::others_went_on, "others-went-on", "the other nodes completed without it"},
    {StatementKind::last_took_part, "last-took-part",
     "{0} took part until then: the last run that it completed was of the stage {text}"},
    {StatementKind::round_trip, "round-trip",
     "smallest round trip {latency_s}, usual {usual_s}, in {#experiments}"},
    {StatementKind::late_with_all, "late-with-all", "with every node that it was measured with"},
    {StatementKind::late_together, "late-together", "both ends answer others as fast as is usual"},
    {StatementKind::above_declared, "above-declared",
     "most sides carry {rate_Bps}, above the declared link rate: it cannot be these links' rate, so the "
     "fleet's majority is used instead"},
    {StatementKind::fleet_rate, "fleet-rate",
     "most sides reach {rate_Bps}, {reached_share} of what is attainable at the link rate, and none reaches "
     "it"},
    {StatementKind::generation_rate, "generation-rate",
     "{#members:node sends and receives/nodes send and receive} up to {rate_Bps}, the others {fastest_Bps}: "
     "each is held to its own rate. The slower: {names}"},
    {StatementKind::slow_alike, "slow-alike",
     "{#members:node is/nodes are} slow alike, {low_Bps} to {high_Bps}"},
    {StatementKind::others_on_ports, "others-on-ports",
     "{0}'s ports [{?sends_Bps}sent {sends_Bps}][{?both} and ][{?receives_Bps}received {receives_Bps}] for "
     "somebody else meanwhile"},
    {StatementKind::lost_packets, "lost-packets",
     "{lost} of {packets} packets ({lost_percent}) {text}[; of all others, {others_lost} of {others_packets} "
     "packets ({others_percent})]"},
    {StatementKind::other_scope, "other-scope",
     "{text} would explain the counts nearly as well: too few packets went elsewhere"},
    {StatementKind::counter, "counter", "{0} {text}"},
    {StatementKind::confirmed_after, "confirmed-after", "proven after {runs} of {all_runs} runs"},
    {StatementKind::confirmed_last, "confirmed-last", "proven after {#runs}"},
    {StatementKind::since_when, "since-when",
     "{usual_Bps} until {until}, {#good:check}; since then {#low:check} low[, and it has fallen {falls} "
     "times in "
     "all]"},
    {StatementKind::never_good, "never-good",
     "low in all {#low:check} that are recorded of it, since {since}"},
    {StatementKind::gpu_carried, "gpu-carried",
     "{limit} carried {measured_Bps}, {reached_percent:.0f} % of the {expected_Bps} that {source} allows"},
    {StatementKind::alike_in_fleet, "alike-in-fleet",
     "all {#nodes} have it alike: they were built or set so"},
    {StatementKind::calls_vanish, "calls-vanish",
     "{from} -> {to}, TCP [port {port}][ports such as {example}]: no answer within {patience_seconds:.0f} s, "
     "and nothing was seen there: the packets vanish on their way"},
    {StatementKind::answers_vanish, "answers-vanish",
     "{from} -> {to}, TCP [port {port}][ports such as {example}]: calls arrive there, and the answers vanish "
     "on their way back"},
    {StatementKind::calls_rejected, "calls-rejected",
     "{from} -> {to}, TCP [port {port}][ports such as {example}]: rejected ({text}), although its program "
     "listens there"},
    {StatementKind::long_packets_vanish, "long-packets-vanish",
     "{from} -> {to}: packets of {packet} bytes vanish, short ones arrive"},
    {StatementKind::other_way_open, "other-way-open", "{from} -> {to}: connections are made"},
    {StatementKind::data_end, "data-end", "{0}'s data goes over {interface}, {address}, MTU {mtu}"},

    {StatementKind::repair, "repair", "fixing it: {from_Bps} -> {to_Bps} busbw"},
    {StatementKind::repair_first, "repair-first",
     "fixing it: {from_Bps} -> {alone_Bps} busbw; the other findings as well: {to_Bps}"},
    {StatementKind::repair_together, "repair-together",
     "fixing it together with the other findings: {from_Bps} -> {to_Bps} busbw"},
    {StatementKind::off_ring, "off-ring",
     "not on the ring in the order given (busbw {from_Bps}); traffic between these two is held to "
     "{rate_Bps}"},
    {StatementKind::behind_slower, "behind-slower",
     "what is slower holds the ring in the order given to {from_Bps} busbw; this holds traffic to "
     "{rate_Bps}"},
    {StatementKind::across_leaves, "across-leaves",
     "traffic between leaves that crosses it is held to {rate_Bps}"},
    {StatementKind::slowest_rail, "slowest-rail", "every hop waits for its slowest rail"},
    {StatementKind::no_collective, "no-collective", "no collective over all nodes can complete"},
    {StatementKind::late_steps, "late-steps",
     "short messages take that much longer; every step of a collective waits for them"},
    {StatementKind::sent_again, "sent-again",
     "what is lost is sent again, with all that followed: this link is slower than its rate says"},
    {StatementKind::repair_gpu, "repair-gpu", "fixing it: {measured_Bps} -> {expected_Bps}"},
    {StatementKind::other_order, "other-order",
     "not in the way here, where nodes that come earlier call later ones; with other hosts, or in another "
     "order, connections will be missing"},

    {StatementKind::look_at_program, "look-at-program",
     "on {0}, look at the load, the clocks and the cooling of its processors"},
    {StatementKind::look_at_buffers, "look-at-buffers",
     "on {0}, raise the last number of net.ipv4.tcp_rmem (usually 6 MiB; it has to hold rate x round trip), "
     "and look for programs or settings that bound receive buffers"},
    {StatementKind::look_at_route, "look-at-route",
     "look at the route between {0} and {1} (switch ports, trunks, hash collisions, rate limits)"},
    {StatementKind::look_at_sender, "look-at-sender",
     "on {0}, look at what it sends through: port speed, shaping, errors on its cable (ethtool, ethtool -S, "
     "tc qdisc); after the repair run ringtrue check again"},
    {StatementKind::look_at_receiver, "look-at-receiver",
     "on {0}, look at what it receives through: its switch port, ring drops, pause frames (ethtool, ethtool "
     "-S, tc qdisc); after the repair run ringtrue check again"},
    {StatementKind::look_at_port, "look-at-port",
     "on {0}, look at its port, cable and slot: speed, width, errors (ethtool, ethtool -S, tc qdisc); after "
     "the repair run ringtrue check again"},
    {StatementKind::look_at_part, "look-at-part",
     "look at {text} (speed and errors of its ports, cables), then run ringtrue check again"},
    {StatementKind::look_at_rail, "look-at-rail",
     "look at what the NICs of this rail have in common: switches, settings"},
    {StatementKind::look_at_way, "look-at-way",
     "look at the path to {0}: its port's negotiated mode, forward error correction, a longer route"},
    {StatementKind::look_at_cable, "look-at-cable",
     "look at the cable and the switch port of {text} (discards, FEC and symbol errors); then run ringtrue "
     "check again"},
    {StatementKind::look_at_rdma_cable, "look-at-rdma-cable",
     "look at the cable and the switch port of {text} (discards, FEC and symbol errors), and that PFC or ECN "
     "is set alike on both; then run ringtrue check again"},
    {StatementKind::look_at_node, "look-at-node", "see that the node is up"},
    {StatementKind::look_at_group, "look-at-group",
     "look for what they have in common (switch, rack, firmware, settings, cables, power); then on one of "
     "them, such as {text}, at its port: speed, shaping, errors (ethtool, ethtool -S, tc qdisc); after the "
     "repair run ringtrue check again"},
    {StatementKind::look_at_fleet, "look-at-fleet",
     "make sure that --link-rate is the links' nominal rate; then look at what all nodes have in common: "
     "switch, MTU, speed negotiation"},
    {StatementKind::give_link_rate, "give-link-rate", "give the links' true rate with --link-rate"},
    {StatementKind::look_at_generations, "look-at-generations",
     "if these nodes are to be as fast as the others, compare their NICs, ports and cables with the others' "
     "('ringtrue topo'); a collective over all of them runs at the slower rate"},
    {StatementKind::look_at_others, "look-at-others",
     "check again when those nodes are free: what a busy port can do is told less exactly"},
    {StatementKind::see_ideal, "see-ideal", "see ringtrue ideal, and give the links' rate with --link-rate"},
    {StatementKind::look_at_gpu_links, "look-at-gpu-links",
     "see ringtrue topo --view links for what is between the two, and nvidia-smi nvlink -s"},
    {StatementKind::look_at_gpu, "look-at-gpu",
     "see ringtrue check --inspect, and nvidia-smi -q -d PERFORMANCE,CLOCK for what slows it"},
    {StatementKind::look_at_firewall, "look-at-firewall",
     "let TCP pass from {0} to {1}'s data ports: see nft list ruleset or iptables-save on both, and what "
     "filters between them; or choose ports that are open by --data-ports, or another network by "
     "--data-interface"},
    {StatementKind::look_at_mtu, "look-at-mtu",
     "see on {0}: ping -M do -s {payload} {text}; raise the MTU of the switch port or tunnel between that is "
     "smaller, or set the same smaller MTU on all nodes (ip link set mtu)"},

    {StatementKind::unread_node, "unread-node", "what is in {0}\n{text}"},
    {StatementKind::no_wire, "no-wire", "the network\n{#members:node has/nodes have} no wire to measure"},
    {StatementKind::one_process, "one-process",
     "wires\n{#ranks:rank of one process has/ranks of one process have} none between them: each hop was held "
     "to {pace_Bps}[{?link_rate_named}, not to --link-rate], which shows how the check works and what "
     "--fault slows; use --hosts for a network"},
    {StatementKind::alike_directions, "alike-directions",
     "whether both directions are slow alike\nwith two nodes, only --link-rate tells what they should carry"},
    {StatementKind::seen_once, "seen-once",
     "{0} -> {1}\nit was the slowest hop of the ring ({rate_Bps}, typical {typical_Bps}), and the check "
     "ended before it could be repeated"},
    {StatementKind::port_seen_once, "port-seen-once",
     "{0}'s [{?receives}receiving][{!receives}sending] side\nin an omnireduce its port carried {rate_Bps} "
     "(typical {typical_Bps}), and the check ended before pairs could tell why"},
    {StatementKind::single_paths, "single-paths",
     "paths of single pairs\n{pairs_measured} of {pairs} ordered pairs were measured"},
    {StatementKind::no_data_moved, "no-data-moved",
     "every hop\nthe [{?ring}ring's ]trace holds no hop that moved anything"},
    {StatementKind::alone_as_fast, "alone-as-fast",
     "what {0} can do beyond {rate_Bps}\nno other node's ports are as fast"},
    {StatementKind::too_long_for_ports, "too-long-for-ports",
     "the aggregators' ports under an omnireduce\nthe slowest hop ({rate_Bps}) makes it too long for the "
     "time there is"},
    {StatementKind::last_share, "last-share",
     "the last {missing_share} of all links' rate\nmost sides reach {reached_share} of what is attainable at "
     "the link rate; so little may be lost in measuring"},
    {StatementKind::all_links, "all-links",
     "whether all links are slow\nmost sides reach {rate_Bps}, {reached_share} of what is attainable at the "
     "link rate, but [{?busy}processors were more than 90 % busy][{!busy}it was measured too seldom]"},
    {StatementKind::slower_part, "slower-part",
     "whether a part of the fleet is slow: {rate_Bps} of {expected_Bps}\nits readings are too short or too "
     "few; a longer --budget repeats them"},
    {StatementKind::unconfirmed, "unconfirmed", "{scope}: {rate_Bps} of {expected_Bps}\n{text}"},
    {StatementKind::unclear_paths, "unclear-paths",
     "{#paths} of nodes with a slow side\nacknowledgements queue there, and there was no time to measure one "
     "direction at a time; check again after the repair"},
    {StatementKind::low_by_chance, "low-by-chance",
     "{#paths} that read low\nso do others that can do better: it may be chance"},
    {StatementKind::shared_links, "shared-links",
     "{#pairs} that read low now and then, though their ends do well\nconnections seem to share links "
     "between "
     "switches, as they do where switches hash them: give --leaves, or see the counters of the switches"},
    {StatementKind::hidden_side, "hidden-side",
     "{0}'s [{?sends}sending][{!sends}receiving] side: {rate_Bps} of {expected_Bps}\nits other side is so "
     "slow that acknowledgements queue behind it; check again after the repair"},
    {StatementKind::held_back_side, "held-back-side",
     "{0}'s receiving side\nin all of {#readings} the program on {0} took the data too slowly to rate the "
     "wire; look at its processors"},
    {StatementKind::too_few_readings, "too-few-readings",
     "{0} -> {1}: {rate_Bps} of {expected_Bps}\ntoo few readings tell whether it can do better"},
    {StatementKind::slow_ring, "slow-ring",
     "the ring's busbw: {rate_Bps} of {expected_Bps}\nno slow link explains it; see the same with ringtrue "
     "run ring"},
    {StatementKind::fast_ring, "fast-ring",
     "what a hop is to carry: pairs read {expected_Bps}, and each hop of the ring carried {rate_Bps}\n"
     "something held the machines up while pairs were measured; check again, with a longer --budget"},
    {StatementKind::scattered_ring, "scattered-ring",
     "what holds the ring's busbw to {rate_Bps} of {expected_Bps}\nno side is slow each time, but single "
     "readings fall to {low_Bps}, and every step of a ring waits for its slowest hop: look for what comes "
     "and "
     "goes, such as busy processors, other jobs or trunks that flows share"},
    {StatementKind::unnamed_part, "unnamed-part",
     "{text}\n{#pairs} between leaves carry at most {rate_Bps} ({#readings} in {#experiments}); expected "
     "{expected_Bps}; that is too little to name it"},
    {StatementKind::trunks_open, "trunks-open",
     "{#trunks} that may be slow, among them {text}\nwhat crosses them read as low as {rate_Bps}, too seldom "
     "to name one"},
    {StatementKind::trunks_hidden, "trunks-hidden",
     "{#trunks} behind what is slower, among them {text}\nafter the repair run ringtrue check again"},
    {StatementKind::trunks_unmet, "trunks-unmet",
     "{#trunks} between switches\nno hop of this check crossed them; a larger --budget may"},
    {StatementKind::ways_changed, "ways-changed",
     "{#hops} whose ways changed during the check, among them {0} -> {1}\nwhat they read was left out; run "
     "ringtrue check again"},
    {StatementKind::port_unnamed, "port-unnamed",
     "{0}\nwhat goes through one of its ports reads {rate_Bps} of {expected_Bps}, too seldom to say which "
     "side is slow"},
    {StatementKind::answers_late, "answers-late",
     "{0}[ <-> {1}] answers late\nsmallest round trip {latency_s}, usual {usual_s}, in {#experiments}: too "
     "few"},
    {StatementKind::lossy_somewhere, "lossy-somewhere",
     "where RDMA loses packets\n{lost} of {packets} were lost on the way, and no node's part stands out"},
    {StatementKind::gpu_not_measured, "gpu-not-measured", "{limit}\n{text}"},
    {StatementKind::gpu_not_known, "gpu-not-known",
     "what {limit} of {0} can carry\nthe node's facts do not have it"},
    {StatementKind::gpu_links_not_known, "gpu-links-not-known",
     "{limit}\nthe facts do not tell what links it goes through, or how fast they are"},
    {StatementKind::gpu_memory_not_known, "gpu-memory-not-known",
     "{limit}\nno fact tells its memory's rate, and there are not three of its model to compare"},
    {StatementKind::gpu_host_not_known, "gpu-host-not-known",
     "{limit}\nno fact tells what the host carries both ways at once, and there are not three GPUs of its "
     "model "
     "and link to compare"},
    {StatementKind::missing_fact, "missing-fact",
     "{missing}[: {devices}][{!devices}: {of}][{?devices} of {of}][ and {more} more]\n{text}"},
    {StatementKind::left_out_blocked, "left-out-blocked",
     "{names:16}\nleft out of what was measured, since not all others can be reached from there (see the "
     "findings)"},
    {StatementKind::daemon_stopping, "daemon-stopping",
     "{0}\nits ringtrued is being stopped or upgraded, and the others went on without it: check it again "
     "once it "
     "runs"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(wordings); ++i)
    if (std::size_t(wordings[i].kind) != i) return false;
  return StatementKind(std::size(wordings)) == StatementKind::rule_evidence;
}
static_assert(in_order(), "a wording for each statement but those of rules, in their order");

std::string list_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), names_shown);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "),
                     names.size() > shown ? ", ..." : "");
}

}  // namespace

std::string_view name(const Statement& s) {
  return s.rule ? key_of(*s.rule) : wordings[std::size_t(s.kind)].name;
}

std::string sentence(const Statement& s) {
  return s.rule ? rule_sentences(s).at(0) : fill(s, wordings[std::size_t(s.kind)].sentence);
}

std::vector<std::string> sentences(const std::vector<Statement>& statements) {
  std::vector<std::string> out;
  for (const Statement& s : statements) {
    std::vector<std::string> said = s.rule ? rule_sentences(s) : std::vector{sentence(s)};
    out.insert(out.end(), std::move_iterator(said.begin()), std::move_iterator(said.end()));
  }
  return out;
}

NotCheckedText not_checked(const Statement& s) {
  const std::string_view words = wordings[std::size_t(s.kind)].sentence;
  const auto end = words.find('\n');
  return {fill(s, words.substr(0, end)), end == words.npos ? "" : fill(s, words.substr(end + 1))};
}

std::string sentence(const Plan& plan) {
  const std::string rates = fmt::format("{} -> {} busbw", to_text(plan.now), to_text(plan.then));
  if (plan.kind == Plan::Kind::reorder)
    return fmt::format("a ring in the order {}: {}", list_of(plan.order), rates);
  if (plan.kind == Plan::Kind::leave_out_rail)
    return fmt::format("leave out {} on every node: {}", plan.left_out.front(), rates);
  return fmt::format("leave out {}: {} over {} of {} nodes", list_of(plan.left_out), rates, plan.order.size(),
                     plan.order.size() + plan.left_out.size());
}

std::string nodes_text(const diagnosis::Diagnosis& d) {
  const std::string all = plural(d.nodes.size(), "node");
  return fmt::format("{}, {}", d.present() < d.nodes.size() ? fmt::format("{} of {}", d.present(), all) : all,
                     fold_hostlist(d.nodes));
}

}  // namespace ringtrue::report
