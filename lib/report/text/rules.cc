// What rules of inspection say, a row a rule. template.h tells what stands for what.
#include <algorithm>
#include <array>
#include <iterator>

#include "report/text/template.h"
#include "report/text/wording.h"

namespace ringtrue::report {
namespace {

using diagnosis::FindingKind;
using diagnosis::Statement;
using diagnosis::StatementKind;

struct RuleWording {
  FindingKind rule;
  std::array<std::string_view, 5> evidence;  // those that apply
  std::string_view impact, next;
};

constexpr std::string_view
    // Evidence.
    risen =
        "{device:words}: [{?saturated}at least ]{rise} {counter:words}[{?saturated} (the counter stands at "
        "its end)] within {window_s:time} ({before} -> {after})",
    risen_any = "{counter} rose by {rise_per_s:.3g}/s; any at all is a fault",
    risen_often =
        "{counter} rose by {rise_per_s:.3g}/s; warning above {warning_per_s:g}/s[, critical above "
        "{critical_per_hour:g} an hour]",
    runs_at = "the link runs at {link} ({origin})",
    below_can =
        "{below} ({below_address}) can do {below_max} ({below_origin})|"
        "{below} ({below_address}) can do an unknown speed",
    above_can =
        "{above} ({above_address}) can do {above_max} ({above_origin})|"
        "{above} ({above_address}) can do an unknown speed",
    cable_runs_at = "{device} runs at {link} ({origin})",
    port_state = "{device} is {state} ({origin})[, its wire \"{wire_state}\"]",
    unlike = "{thing} of {0}[ ({devices})]: {value}", most_have = "{alike} of {of_nodes} nodes have {usual}",
    // Impact.
    repeats = "damaged packets are sent again: this rail is slower than its rate says",
    behaves_unlike = "this node may behave, fail and perform unlike the others",
    // What to do.
    bad_wire =
        "clean or swap the cable and transceiver, then the port; see whether the errors move with the cable",
    bad_cable = "reseat or swap the cable; see ibportstate and mlxlink at both ends";

constexpr RuleWording wordings[] = {
    // PCIe.
    {FindingKind::pcie_link_degraded,
     {runs_at, below_can, above_can,
      "{?one_end}only one end tells what it can do: the other may be the limit",
      "{?speed_not_counted}the low speed may be power saving and is not counted; the lost lanes are not"},
     "{!parts}no GPU and no NIC is below it: collectives do not use it|"
     "{?too_slow}this rail ({parts}) carries {measured_Bps} of {needed_Bps}|"
     "none yet: {parts} needs {needed_Bps}, the link still carries {measured_Bps} of {expected_Bps}|"
     "{?single}{parts}'s path to host memory and to other devices: {measured_Bps} of {expected_Bps}|"
     "{parts} share {measured_Bps} of {expected_Bps} to what is above|"
     "{parts} may be slower to reach than could be",
     "{?narrow}reseat the card or cable; look for dirt, a bent riser or a slot that shares its lanes; then "
     "try another slot|"
     "look at the slot's speed in the firmware set-up and for PCIe errors (pcie-errors); reseat the card"},
    {FindingKind::pcie_link_limited,
     {runs_at, below_can, above_can},
     "{?card_more}the slot cannot give all that the card could take|none: the device below can do no more",
     "{?card_more}where that rate is needed, move the card to a larger slot|nothing"},
    {FindingKind::pcie_uplink_slower,
     {"{device_kind} {device} runs at {link} ({origin}), and what it can do is unknown",
      "{fastest} below it runs at {fastest_link} ({fastest_origin})",
      "{faster}, a port like it, runs at {faster_link}|"
      "no port like it (of {alike}) is faster: switches and hypervisors show such rates of their own",
      "peer traffic below the switch does not cross this port and is not affected"},
     "{parts} share {measured_Bps} to the processors and to all that is beyond, where {fastest} alone could "
     "use {expected_Bps}; peer traffic under the switch is not affected",
     "compare with lspci -vv (LnkCap, LnkSta) as root on the machine; a port below its own maximum wants the "
     "switch or riser reseated"},
    {FindingKind::nic_pcie_bound,
     {"the ports of {parts} run at {expected_Bps} in all",
      "its narrowest PCIe link, at {narrowest}, carries {measured_Bps} ({link})"},
     "this rail carries {measured_Bps} of {expected_Bps}",
     "move the card to a slot with more lanes or a later generation"},
    // NVLink.
    {FindingKind::nvlink_down,
     {"{links_down} of {links} NVLinks are down: {down:18} ({origin})",
      "{?wired}this board's links are wired: none is up|"
      "boards of this model may have {full_board} NVLinks; all GPUs here are alike|"
      "{linked} of {of_gpus} GPUs of this model have links up|it has no sister to compare with"},
     "{device} carries {rate_Bps} of {could_Bps} by NVLink; collectives go at its pace|"
     "{device} carries {#links_up:link} of {#links} by NVLink; collectives go at its pace",
     "{?links_up}see nvidia-smi nvlink -s and -e, and dmesg for Xid 74; reset the GPU, and if it stays, have "
     "the board repaired|"
     "see nvidia-smi nvlink -s; on machines with NVSwitches look whether the fabric manager runs, then reset "
     "the GPUs"},
    {FindingKind::nvlink_fewer_than_sisters,
     {"{device} has {links} NVLinks", "{alike} of the {of_gpus} GPUs of this model here have {usual}"},
     "{device} carries {links} of {usual} of its sisters' NVLink rate",
     "see nvidia-smi nvlink -s on this GPU and a sister; reset it, and if it stays, have the board repaired"},
    {FindingKind::nvlink_errors,
     {risen,
      "{rise_per_s:.0f}/s; from {critical_per_s:g}/s a link is failing|"
      "a healthy NVLink repeats nothing and recovers from nothing"},
     "every repetition stops the link; traffic through it stutters",
     "see nvidia-smi nvlink -e, and dmesg for Xid 74; reset the GPU, and if the counters rise again, have "
     "the board repaired"},
    // GPUs.
    {FindingKind::gpu_lost,
     {"the driver answers for {asked}: {answer} (nvml)|"
      "PCI shows {device} at {address} (sysfs), and the driver does not name it among its GPUs (nvml)"},
     "this GPU takes no part in anything; jobs on this node fail",
     "see dmesg for Xid 79 and 48; drain the node, reset the GPU (nvidia-smi -r) or restart the node, and if "
     "it comes again, have the GPU replaced"},
    {FindingKind::gpu_throttled,
     {"{device}: {reasons} (bits {bits:hex}, {origin})", "{temperature_C} degrees Celsius"},
     "its clocks are lowered[: {sm_clock_MHz} of {max_sm_clock_MHz} MHz][{?fault}; all GPUs of a job wait "
     "for it]",
     "{!fault}nothing: a GPU under load runs at its limit|"
     "{?thermal}look at fans, air flow, inlet temperature and the heat sink's seat|"
     "look at the power supplies and cables"},
    {FindingKind::ecc_errors,
     {"{errors} uncorrected memory errors since the driver was loaded ({origin})"},
     "jobs on this GPU die, or compute with what is left of its memory",
     "reset the GPU, then run dcgmi diag -r 3; if it comes again, have it replaced"},
    {FindingKind::ecc_retirement_pending,
     {"memory pages or rows wait to be retired at the next reset ({origin})"},
     "until then bad memory stays in use",
     "drain the node and reset the GPU (nvidia-smi -r)"},
    {FindingKind::ecc_off,
     {"ECC is off ({origin})", "{alike} of {of_gpus} GPUs of this model have it on"},
     "memory errors of this GPU pass unseen, into results",
     "nvidia-smi -i {address} -e 1, then reset the GPU"},
    {FindingKind::mig_enabled,
     {"MIG is on ({origin})"},
     "its slices use no NVLink and no peer-to-peer: collectives go through host memory",
     "for collectives over whole GPUs turn it off: nvidia-smi -mig 0"},
    {FindingKind::gpu_link_unlike_sisters,
     {"the link of {device} ({address}) is {link} ({origin})",
      "{alike} of its {sisters} sisters have x{usual_lanes}|"
      "{alike} of its {sisters} sisters run at {usual_GTps:g} GT/s"},
     "{device} is slower to reach than its sisters: every collective waits for it where it goes by PCIe",
     "compare its slot with those of its sisters; reseat the card"},
    // Ports.
    {FindingKind::port_down,
     {port_state,
      "on {active} of {of_nodes} nodes the same port is active|"
      "{active} of the {of_ports} ports like it on this node are active|"
      "no port of this kind is up on this node"},
     "this rail carries 0 of {expected_Bps}|this rail carries nothing",
     "{?disabled}it was switched off: enable it (ip link set up, or mlxlink / ibportstate)|"
     "look at cable, transceiver and the switch's port; swap the cable with a good rail's and see whether "
     "the fault moves"},
    {FindingKind::port_not_active,
     {port_state},
     "the wire is there and carries no data yet: this rail carries nothing",
     "{?infiniband}see whether a subnet manager runs (sminfo) and reaches this port|"
     "see ip link and dmesg for this interface"},
    {FindingKind::port_rate_degraded,
     {"{device} runs at {measured_Bps}[, {speed}][ {lanes_used}x] ({origin})|"
      "{device} runs at an unknown rate[, {speed}][ {lanes_used}x] ({origin})",
      "it can do {expected_Bps} ({max_origin})", "{lanes_used} of {lanes} lanes are in use ({lanes_origin})",
      "all {alike} active ports of this kind run at this rate: the other ends may do no more"},
     "{?rail}this rail carries {measured_Bps} of {expected_Bps}|this port carries {measured_Bps} of "
     "{expected_Bps}|"
     "{?rail}this rail carries {carried_percent:.3g} % of what it can|"
     "this port carries {carried_percent:.3g} % of what it can",
     "{?alike}where the switches can do more, look at their ports' settings|"
     "reseat or swap the cable; see mlxlink or ethtool for lanes, speeds and forced settings on both ends"},
    {FindingKind::rail_unlike_sisters,
     {"{compared} of {device}: {measured_Bps}",
      "{?fleet}{alike} of the {rails} NICs of this kind in the fleet have {expected_Bps}|"
      "{alike} of the {rails} NICs of this kind here have {expected_Bps}",
      "{device} is {mode}, [{?fleet}{sister_node}'s ]{sister} is {sister_mode}"},
     "{?fleet}in a collective over these nodes, all go at its pace: {all_rails_Bps} instead of "
     "{all_rails_expected_Bps}|"
     "striped over {rails} rails, all go at its pace: {all_rails_Bps} instead of {all_rails_expected_Bps}",
     "compare its cable, slot and settings with a sister's"},
    // Counters.
    {FindingKind::symbol_errors, {risen, risen_often}, repeats, bad_wire},
    {FindingKind::link_error_recovery,
     {risen, "{counter} rose by {rise_per_s:.3g}/s; warning above {warning_per_min:g} a minute"},
     "each recovery stops the link",
     bad_wire},
    {FindingKind::port_receive_errors, {risen, risen_often}, repeats, bad_wire},
    {FindingKind::port_discards,
     {risen, risen_often},
     "discarded packets are sent again",
     "look for congestion and for a receiver that is slow or gone"},
    {FindingKind::port_fatal_errors, {risen, risen_any}, "jobs that use this rail stall or die", bad_wire},
    {FindingKind::carrier_changes,
     {risen, "{counter} rose by {rise_per_s:.3g}/s; warning above {warning_per_window:g} in a window"},
     "the link goes up and down: connections stall",
     bad_wire},
    {FindingKind::roce_retransmissions,
     {risen, "{counter} rose by {rise_per_s:.3g}/s; a lossless network repeats nothing"},
     "packets were lost or came late and are sent again, with all that followed",
     "see that PFC or ECN is set alike on NICs and switches, and look for discards on the switches"},
    {FindingKind::roce_congestion,
     {risen},
     "something along the way is shared: senders were slowed down",
     "{?pause}look for who sends the pauses: a slow receiver or PCIe link behind it|"
     "nothing, where traffic meets; elsewhere look at the switches' queues"},
    {FindingKind::pcie_errors,
     {risen, "warning above {warning_per_s:g}/s|PCIe could not mend them"},
     "{!parts}no GPU and no NIC is below it|{?correctable}each is repeated on the link to {parts}|"
     "transfers of {parts} failed",
     "see dmesg for AER; reseat the card or riser; errors often come before a link loses lanes or speed"},
    {FindingKind::counter_saturated,
     {"{counter} stands at {after}, as high as it goes: it may hide any number"},
     "new errors of this kind are not seen",
     "reset it (perfquery -R on InfiniBand) and look again"},
    // Where GPUs and NICs sit.
    {FindingKind::gpu_far_nic,
     {"{device} is on socket {socket}",
      "the NICs that carry data are elsewhere: {far_nics} on socket {far_socket}"},
     "what {device} sends to other nodes crosses the link between sockets, which all of them share: SYS "
     "instead of PIX, PXB or NODE",
     "{?slow}nothing: so slow a NIC is not held back by it|"
     "{?inevitable}nothing: there are fewer NICs than sockets with GPUs|move a NIC to a slot of socket "
     "{socket}"},
    {FindingKind::gpudirect_impossible,
     {"the module nvidia_peermem is not loaded ({peermem_origin})",
      "kernel and driver cannot share GPU memory by dma-buf ({dmabuf_origin})",
      "NVIDIA's closed kernel modules are loaded: dma-buf needs the open ones ({closed_modules_origin})",
      "the kernel is {kernel}", "no GPUDirect RDMA for {without_gdr}"},
     "GPU memory goes through host memory on its way to the wire: twice over PCIe, often half the rate",
     "modprobe nvidia_peermem, or use NVIDIA's open kernel modules with a kernel from 5.12 on"},
    // The system.
    {FindingKind::acs_redirect,
     {"ACS sends peer traffic up to the root at {ports} ({origin})"},
     "traffic between {parts} goes through the root port instead of the switch: slower, and shared by all",
     "outside of virtual machines turn it off: in the firmware set-up, or setpci -s ADDRESS "
     "ECAP_ACS+6.w=0000 after each start"},
    {FindingKind::iommu_translated,
     {"the IOMMU translates the addresses of all devices ({origin})"},
     "each access to memory by a device is looked up first; peer traffic goes through the root",
     "start the kernel with iommu=pt, or turn the IOMMU off in the firmware set-up"},
    {FindingKind::memlock_low,
     {"the soft limit on locked memory is {limit_bytes} ({origin})",
      "RDMA locks what it registers; below {needed_bytes} that fails"},
     "jobs cannot register their buffers: they fail, or fall back to TCP",
     "set memlock to unlimited in /etc/security/limits.d and LimitMEMLOCK=infinity in the services that "
     "start jobs"},
    {FindingKind::governor_not_performance,
     {"the processors' frequency governor is {governor} ({origin})"},
     "small messages may take longer while processors wake up",
     "cpupower frequency-set -g performance"},
    // The fleet.
    {FindingKind::mtu_mismatch,
     {unlike, most_have},
     "large packets are cut, refused or dropped between this node and the others",
     "set the MTU as on the other nodes: ip link set DEVICE mtu, and on the switch's port"},
    {FindingKind::firmware_mismatch,
     {unlike, most_have},
     behaves_unlike,
     "bring the firmware to the fleet's: mlxfwmanager or flint, then a cold start"},
    {FindingKind::driver_mismatch,
     {unlike, most_have},
     behaves_unlike,
     "install the driver that the other nodes have"},
    {FindingKind::kernel_mismatch,
     {unlike, most_have},
     behaves_unlike,
     "start the kernel that the other nodes run"},
    {FindingKind::gpu_model_mismatch,
     {unlike, most_have},
     "jobs over this node and others go at the pace of the lesser GPU",
     "keep nodes of different GPUs in different partitions"},
    {FindingKind::gpu_count_mismatch,
     {unlike, most_have},
     "jobs that count on the others' number do not start here",
     "look for GPUs that fell off the bus: dmesg (Xid 79), lspci"},
    {FindingKind::nic_count_mismatch,
     {unlike, most_have},
     "this node has fewer or more rails than the others",
     "look for cards that are missing or switched off: lspci, dmesg"},
    {FindingKind::nvlink_count_mismatch,
     {unlike, most_have},
     "GPUs of this node talk at another rate than those of others",
     "see nvidia-smi nvlink -s"},
    {FindingKind::memory_mismatch,
     {"{0} has {memory_bytes:GiB} of memory", "{alike} of {of_nodes} nodes have {usual_bytes:GiB}"},
     "jobs sized for the others may not fit, and memory channels may be missing",
     "look for memory modules that failed: dmidecode -t memory, the firmware's log"},
    // The fabric.
    {FindingKind::fabric_link_degraded,
     {cable_runs_at,
      "both ends can do {expected_Bps} ({max_origin})|"
      "{alike} of the {cables} cables like it at {switch} have {usual_lanes} lanes"},
     "this cable carries {measured_Bps} of {expected_Bps}|this cable carries a part of what it could",
     bad_cable},
    {FindingKind::fabric_trunk_slower,
     {cable_runs_at, "of the {cables} cables between these two switches the best runs at {expected_Bps}"},
     "flows that are routed over it get {measured_Bps} of {expected_Bps}",
     bad_cable},
    {FindingKind::fabric_trunks_fewer,
     {"{?cables}{device} has {#cables} to {spine}|{device} has no cable to {spine}|"
      "{device} has {#cables} to the switches above or below it",
      "{?by_total}{alike} of {leaves} switches of its level have more in all|"
      "{alike} of {leaves} switches like it have {usual}"},
     "it reaches {spine} with {cables} of {usual} cables|it has {cables} of {usual} cables",
     "look for a cable that is unplugged or a port that is disabled on either side"},
    {FindingKind::fabric_switch_isolated,
     {"{device} has no cable to another switch", "{trunked} of {switches} switches have"},
     "its hosts reach those of no other switch",
     "look at its uplinks"},
};

}  // namespace

std::vector<std::string> rule_sentences(const Statement& s) {
  const auto* const at = std::ranges::find(wordings, *s.rule, &RuleWording::rule);
  if (at == std::end(wordings)) return {""};
  if (s.kind == StatementKind::rule_impact) return {fill_first(s, at->impact)};
  if (s.kind == StatementKind::rule_next) return {fill_first(s, at->next)};
  std::vector<std::string> out;
  for (const std::string_view line : at->evidence)
    if (std::string words = fill_first(s, line); !words.empty()) out.push_back(std::move(words));
  return out;
}

}  // namespace ringtrue::report
