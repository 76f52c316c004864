// InfiniBand's forwarding tables, as its tools write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "topology/model.h"
#include "topology/routes.h"

namespace ringtrue::formats {

// What a switch says of each destination: a LID or, from max_lid on, a port of which only the GUID is known.
struct ForwardingTable {
  static constexpr std::uint8_t unknown = 254;  // no row: tools leave rows out, so that this is no news
  static constexpr std::uint8_t none = 255;     // it says that it has no route
  static constexpr int max_port = 252;          // of a switch
  std::string guid;                             // 16 hex digits
  std::string name;
  std::vector<std::uint8_t> out;  // port by destination, 0: the switch itself; shorter: unknown
};

struct Forwarding {
  struct Destination {
    std::string port_guid, name;  // empty: unknown
    std::string host_guid;        // of the adapter, whose port it is; empty: unknown
    int host_port = 0;
  };
  std::vector<ForwardingTable> switches;
  std::vector<Destination> destinations;
  std::vector<topology::FabricLink> links;  // that ibtracert went along
  std::vector<std::string> notes;           // what ringtrue-probe could not read of a live fabric
};

// Between the cables, as ibnetdiscover writes them, and the tables in what ringtrue-probe reads of a live
// fabric.
inline constexpr std::string_view live_tables = "\n# Forwarding tables\n";

// Reads, in pieces of any size and in any mixture: `ibroute`, `dump_fts` and `dump_lfts`; OpenSM's
// opensm-lfts.dump and opensm.fdbs (osm.fdbs); ibdiagnet2.fdbs; `ibtracert` with or without -n;
// ringtrue-probe's own. What comes later of the same switch holds. Errors: bad_input, with the line of the
// file.
class ForwardingReader {
 public:
  static constexpr std::size_t max_lid = 49152;        // unicast LIDs end before it
  static constexpr std::size_t max_bytes = 320 << 20;  // of all tables: 6,500 switches with all LIDs
  static constexpr std::size_t max_notes = 64;

  // Whether a file that begins like this is one of these.
  static bool knows(std::string_view beginning);

  Result<void> read(std::string_view piece);
  Result<void> end_of_file();
  Forwarding take() { return std::move(out_); }

 private:
  struct Hop {
    std::string guid;
    int in = 0, out = 0;  // ports; out: where it was left
    bool is_switch = false;
  };
  Result<void> line(std::string_view text);
  Result<void> row(std::string_view text);
  Result<void> heading(std::string_view text);
  Result<void> packed_row(std::string_view text);
  Result<void> owner(std::string_view text);
  Result<void> begin_table(std::string_view guid, std::string name);
  Result<void> trace_line(std::string_view text);
  Result<void> end_trace();
  Result<void> set(std::size_t table, std::size_t destination, std::uint8_t port);
  tl::unexpected<Error> bad(std::string what) const;

  Forwarding out_;
  std::unordered_map<std::string, std::size_t> tables_;        // by GUID
  std::unordered_map<std::string, std::size_t> destinations_;  // by port GUID
  std::string rest_;                                           // a line without its end
  std::size_t line_ = 0, bytes_ = 0;
  int table_ = -1;         // -1: none
  bool skipping_ = false;  // a multicast table
  std::vector<Hop> trace_;
  std::size_t trace_lid_ = 0;  // of its last line
};

// Tables over the cables of a fabric. Which LID is whose a live reading tells; else it follows from the
// tables: a switch sends what is for a host out of the port that the host hangs on; else from a row's port
// GUID. Errors: bad_input, where there is no table, no switch of the fabric has one, or nobody knows a cable.
Result<topology::Routes> routes_of(const topology::Fabric& fabric, const Forwarding& forwarding);

}  // namespace ringtrue::formats
