// The cables of the fabric behind this machine's first active port, and its switches' linear forwarding
// tables, read live: SubnGet through umad alone. The text is for formats::ForwardingReader.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/plural.h"
#include "formats/forwarding.h"
#include "formats/packed_ports.h"
#include "probe/library/fabric_walk.h"
#include "probe/library/library.h"
#include "probe/library/umad_wire.h"

namespace ringtrue::probe {
namespace {

using namespace tables;

// An answer is handed on in messages and documents of 64 MiB.
constexpr std::size_t max_cables_bytes = 32u << 20, max_routes_bytes = 48u << 20;
constexpr std::size_t most_named = 8;

struct Walked {
  std::vector<ibnd_node_t*> switches;
  std::map<int, std::pair<std::uint64_t, int>> owners;  // base LIDs of hosts' ports
};

void collect(ibnd_node_t* node, void* to) {
  Walked& walked = *static_cast<Walked*>(to);
  if (node->type == IB_NODE_SWITCH) {
    walked.switches.push_back(node);
    return;
  }
  for (int number = 1; number <= node->numports; ++number)
    if (const ibnd_port_t* port = node->ports[number];
        port && port->remoteport && port->base_lid > 0 && port->base_lid < max_lid)
      walked.owners.emplace(port->base_lid, std::pair(node->guid, number));
}

// A line each for the first ones of a kind, one for the rest.
class Notes {
 public:
  void unread(const std::string& name, const Table& table) {
    if (++count_ <= most_named)
      text_ +=
          fmt::format("note {}: {} of {} of its forwarding table not read: {}; ways over it may be unknown\n",
                      name, table.missing, plural(table.blocks.size(), "block"), table.why);
  }
  void add(const std::string& what) { text_ += "note " + what + "\n"; }
  std::string text() const {
    return count_ <= most_named
               ? text_
               : text_ + fmt::format("note {} more whose forwarding tables were not read in full\n",
                                     plural(count_ - most_named, "switch", "switches"));
  }

 private:
  std::size_t count_ = 0;
  std::string text_;
};

std::string heading(ibnd_node_t* node, int top) {
  return fmt::format("Unicast lids [0x0-0x{:x}] of switch Lid {} guid 0x{:016x} ({}):\n", top, node->smalid,
                     node->guid, walk::description(node));
}

Result<std::string> read_routes(const walk::LocalPort& from, ibnd_fabric_t* fabric) {
  std::string text;
  Notes notes;
  const std::size_t left_out = walk::write_fabric(from, fabric, max_cables_bytes, text);
  if (left_out > 0)
    notes.add(fmt::format("the fabric takes more than {} MiB: {} left out", max_cables_bytes >> 20,
                          plural(left_out, "node")));
  Walked walked;
  for (const int type : {IB_NODE_SWITCH, IB_NODE_CA, IB_NODE_ROUTER})
    ibnd_iter_nodes_type(fabric, collect, type, &walked);

  std::vector<int> lids;
  text += formats::live_tables;
  for (const auto& [lid, owner] : walked.owners) {
    lids.push_back(lid);
    text += fmt::format("lid 0x{:04x} of 0x{:016x}[{}]\n", lid, owner.first, owner.second);
  }
  std::vector<Table> read(walked.switches.size());
  std::vector<ib_portid_t> paths;
  for (std::size_t i = 0; i < read.size(); ++i) {
    ibnd_node_t* node = walked.switches[i];
    paths.push_back(node->path_portid);
    read[i].top = int(mad_get_field(node->switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F));
    if (mad_get_field(node->switchinfo, 0, IB_SW_LINEAR_FDB_CAP_F) > 0)
      read[i].blocks = blocks_of(lids, read[i].top);
    else
      notes.add(walk::description(node) + ": it has no linear forwarding table; ways over it are unknown");
  }
  auto wire = UmadWire::open(from.device, from.number, std::move(paths));
  if (!wire) return tl::unexpected(wire.error());
  read_tables(*wire, read, Limits());

  std::size_t too_long = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    ibnd_node_t* node = walked.switches[i];
    if (read[i].missing > 0) notes.unread(walk::description(node), read[i]);
    if (mad_get_field(node->switchinfo, 0, IB_SW_LINEAR_FDB_CAP_F) == 0) continue;
    keep_only(lids, read[i]);
    const std::string rows = heading(node, read[i].top) + formats::pack_ports(read[i].out);
    std::vector<std::uint8_t>().swap(read[i].out);
    if (text.size() + rows.size() > max_routes_bytes)
      ++too_long;
    else
      text += rows;
  }
  if (too_long > 0)
    notes.add(fmt::format("the tables take more than {} MiB: those of {} left out", max_routes_bytes >> 20,
                          plural(too_long, "switch", "switches")));
  return text + notes.text();
}

}  // namespace

Result<std::string> ask_routes(const Asking& asking) {
  std::optional<Result<std::string>> answer;
  std::string others;
  const auto walked = walk::each_fabric(asking.root, [&](const walk::LocalPort& from, ibnd_fabric_t* fabric) {
    // LIDs are a subnet's own: those of two cannot stand side by side.
    if (answer && *answer)
      others += fmt::format("note the fabric behind {} port {} is another subnet and was not read\n",
                            from.device, from.number);
    else
      answer = read_routes(from, fabric);
  });
  if (!walked) return tl::unexpected(walked.error());
  return answer->map([&](const std::string& text) { return text + others; });
}

}  // namespace ringtrue::probe
