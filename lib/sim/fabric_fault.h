// What is wrong with a fabric, by script: KIND@PLACE[:key=value[,key=value...]], several separated by ';'.
//
// KIND        slow-link    the link carries share=50% of its rate
//             narrow       a NIC at a share of its width (share=50% unless said), both ways
//             lossy        share=0.1% of the packets are lost; a message that is hit waits for time=1ms
//             late         time=20us more latency
//             flapping     down for the last share=10% of every period=1ms
//             slow-node    adds up at share=50% of what others do, or of a NIC's rate where adding is free
//             dead         neither sends nor receives
//             mtu          NICs at mtu=1500 bytes
//             background   somebody else's traffic, at most rate=10Gbit (of paths)
//
// PLACE       node3        its NICs, both ways           node3>node6      a directed pair of nodes
//             node3>       out of it                     leaf0>spine1     a trunk, one way; spine1>leaf0
//             >node3       into it                       leaf0<>spine1    the same, both ways
//             node3.nic1   one of its NICs; also node3.nic1> and >node3.nic1
//             node3.gpu1   the ports of one of its ranks, inside the node; also with '>'
//             spine2>core4, core4>spine2, spine2<>core4  a trunk to a core
//             leaf0<>spine1.cable2                       one cable of a trunk; also with '>'
//             leaf0        all of its trunks, both ways; spine1, core4; also with '>'
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"
#include "base/units.h"

namespace ringtrue::sim {

struct Place {
  enum class What : std::uint8_t { node, nic, gpu, path, trunk, core_trunk, leaf, spine, core };
  enum class Side : std::uint8_t { both, out, in };
  What what = What::node;
  Side side = Side::both;  // of a trunk: out is up
  int node = 0;            // or the lower end of a trunk: leaf or spine
  int part = 0;            // NIC, GPU, the node at the path's end, or a trunk's upper end: spine or core
  int cable = -1;          // of a trunk; -1: all

  bool of_switches() const { return what >= What::trunk; }

  bool operator==(const Place&) const = default;
};

// Whether `place` is `part`, or `part` is in it: a node has its NICs and GPUs, a switch its trunks, a trunk
// its cables, both ways at once each of them.
bool contains(const Place& place, const Place& part);

struct FabricFault {
  enum class Kind : std::uint8_t {
    slow_link,
    narrow,
    lossy,
    late,
    flapping,
    slow_node,
    dead,
    mtu,
    background,
  };
  Kind kind = Kind::slow_link;
  Place place;
  double share = 0;     // 0 to 1
  Seconds time;         // lossy, late; flapping: until what was lost is sent again, 0: as soon as it is up
  Seconds period;       // flapping
  BytesPerSecond rate;  // background
  int rail = -1;        // background: the only one that it uses; -1: all alike
  int mtu = 0;

  bool operator==(const FabricFault&) const = default;
};

// A script of fabric faults; "" gives none. Errors: bad_input.
Result<std::vector<FabricFault>> parse_fabric_faults(std::string_view text);
Result<Place> parse_place(std::string_view text);
// Whether a fault's text begins with one of the kinds above.
bool is_fabric_fault(std::string_view text);
std::string to_text(const Place& place);
std::string to_text(const FabricFault& fault);  // reads back as the same fault

struct Fabric;
// `count` faults of any kind but dead, each in another place that the fabric has, shares of 20 to 80 %.
std::vector<FabricFault> draw_faults(const Fabric& fabric, std::uint64_t seed, int count);

}  // namespace ringtrue::sim

namespace ringtrue {

template <>
inline constexpr const char* keys_of<sim::FabricFault::Kind>[] = {
    "slow-link", "narrow", "lossy", "late", "flapping", "slow-node", "dead", "mtu", "background"};

}  // namespace ringtrue
