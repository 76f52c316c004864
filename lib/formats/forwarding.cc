// Tables begin with a line that names their switch,
//
//   Unicast lids [0x0-0x440] of switch Lid 4 guid 0x0002c90200000004 (leaf00):                 ibroute
//   Unicast lids [0x0-0x440] of switch DR path slid 0; dlid 0; 0,33,32 guid 0x... (leaf31):    dump_fts
//   Unicast lids [0-1088] of switch Lid 1 guid 0x... ('leaf00'): opensm-lfts.dump dump_ucast_routes: Switch
//   0x...                                          opensm.fdbs, ibdiagnet2.fdbs
//
// and go on with a row for each LID; what stands behind the port differs:
//
//   0x0001 061 : (Channel Adapter portguid 0x...: 'node3 mlx5_0')     0x0001 061 # Channel Adapter portguid
//   ... 0x0001 : 061  : 01   : yes                                        0x0002 : UNREACHABLE
//
// ibtracert writes a line for each hop; its first number is a port of the line before:
//
//   From ca {0x...} portnum 1 lid 18-18 "node3 mlx5_0"                From {0x...}[1]
//   [1] -> switch port {0x...}[31] lid 64-64 "leaf00"                 [1] -> {0x...}[31]
//   To ca {0x...} portnum 1 lid 19-19 "node4 mlx5_0"                  To {0x...}[1]
//
// ringtrue-probe begins tables as OpenSM does, and goes on with packed rows (packed_ports.h); beside them it
// tells whose the LIDs are, and what it could not read:
//
//   packed 0x0000 78da63...          lid 0x0001 of 0x0002c90300000010[1]          note leaf00: no answer ...
#include "formats/forwarding.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "formats/format.h"
#include "formats/packed_ports.h"
#include "formats/text.h"

namespace ringtrue::formats {
namespace {

constexpr std::size_t max_line = 4096;     // bytes
constexpr std::size_t max_traced = 65536;  // ports without a LID
constexpr std::string_view lfts = "Unicast lids [", mfts = "Multicast mlids [",
                           fdbs = "dump_ucast_routes: Switch ", packed = "packed 0x", owners = "lid 0x",
                           remark = "note ";

std::string_view take_digits(std::string_view& text, std::string_view of) {
  const std::size_t end = std::min(text.find_first_not_of(of), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

// "0x0002c90200000004" at the beginning, as 16 digits.
std::optional<std::string> take_guid(std::string_view& text) {
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  const auto digits = take_digits(text, "0123456789abcdefABCDEF");
  const auto value = hexadecimal(digits);
  return value && digits.size() <= 16 && *value != 0 ? std::optional(hex64(*value)) : std::nullopt;
}

// Behind the first `mark`.
std::string_view behind(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  return at == text.npos ? std::string_view() : text.substr(at + mark.size());
}

// Between the first and the last of these.
std::string between(std::string_view text, char open, char close) {
  const auto first = text.find(open), last = text.rfind(close);
  if (first == text.npos || last == text.npos || last <= first) return {};
  return clean(text.substr(first + 1, last - first - 1));
}

std::optional<int> port_in(std::string_view text) {
  const auto value = decimal(text);
  return value && *value <= 255 ? std::optional(int(*value)) : std::nullopt;
}

}  // namespace

tl::unexpected<Error> ForwardingReader::bad(std::string what) const {
  return fail(Cause::bad_input, fmt::format("line {}: {}", line_, std::move(what)));
}

bool ForwardingReader::knows(std::string_view beginning) {
  for (std::size_t at = 0; at < beginning.size();) {
    const std::size_t end = std::min(beginning.find('\n', at), beginning.size());
    const std::string_view line = trim(beginning.substr(at, end - at));
    at = end + 1;
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with(lfts) || line.starts_with(mfts) || line.find(fdbs) != line.npos) return true;
    if (line.starts_with("From ") && line.find('{') != line.npos) return true;
    if (!line.starts_with("ibwarn:") && !line.starts_with("src/")) return false;
  }
  return false;
}

Result<void> ForwardingReader::read(std::string_view piece) {
  while (!piece.empty()) {
    const auto end = piece.find('\n');
    if (end == piece.npos || !rest_.empty()) {
      rest_ += piece.substr(0, end);
      if (end == piece.npos)
        return rest_.size() <= max_line ? Result<void>() : line(std::exchange(rest_, {}));
      const std::string whole = std::move(rest_);
      rest_.clear();
      if (auto done = line(whole); !done) return done;
    } else if (auto done = line(piece.substr(0, end)); !done) {
      return done;
    }
    piece.remove_prefix(end + 1);
  }
  return {};
}

Result<void> ForwardingReader::end_of_file() {
  if (!rest_.empty())
    if (auto done = line(std::exchange(rest_, {})); !done) return done;
  if (!trace_.empty()) return bad("a path without its end");
  line_ = 0, table_ = -1, skipping_ = false;
  return {};
}

Result<void> ForwardingReader::line(std::string_view text) {
  ++line_;
  if (text.size() > max_line) return bad(fmt::format("longer than {} bytes", max_line));
  if (text.size() > 2 && text[0] == '0' && text[1] == 'x' && (table_ >= 0 || skipping_))
    return skipping_ ? Result<void>() : row(text);
  text = trim(text);
  if (text.empty() || text[0] == '#') return {};
  if (text.starts_with("0x"))
    return table_ >= 0 ? row(text) : skipping_ ? Result<void>() : bad("a row of no table");
  if (text[0] == '[' || text.starts_with("From ") || text.starts_with("To ")) return trace_line(text);
  return heading(text);
}

Result<void> ForwardingReader::heading(std::string_view text) {
  if (!trace_.empty()) return bad("a path without its end");
  if (text.starts_with(lfts)) {
    std::string_view rest = behind(text, " guid ");
    const auto guid = take_guid(rest);
    if (!guid) return bad("a table of a switch without GUID");
    std::string name = between(rest, '(', ')');
    if (name.size() >= 2 && name.front() == '\'' && name.back() == '\'')
      name = name.substr(1, name.size() - 2);
    return begin_table(*guid, std::move(name));
  }
  if (const auto at = text.find(fdbs); at != text.npos) {
    std::string_view rest = text.substr(at + fdbs.size());
    const auto guid = take_guid(rest);
    return guid ? begin_table(*guid, {}) : bad("a table of a switch without GUID");
  }
  if (text.starts_with(mfts)) {
    table_ = -1, skipping_ = true;
    return {};
  }
  if (text.starts_with(packed)) return packed_row(text.substr(packed.size()));
  if (text.starts_with(owners)) return owner(text.substr(owners.size()));
  if (text.starts_with(remark)) {
    if (out_.notes.size() < max_notes) out_.notes.push_back(clean(text.substr(remark.size())));
    return {};
  }
  // Headings of columns, counts at the end, and warnings that have come into the same file.
  for (const char* known : {"Lid ", "LID ", "Port ", "ibwarn:", "src/", "ibroute:"})
    if (text.starts_with(known)) return {};
  if (text.ends_with("lids dumped")) return {};
  return bad(fmt::format("neither a row nor the beginning of a table: {:?}", clean(text.substr(0, 60))));
}

Result<void> ForwardingReader::begin_table(std::string_view guid, std::string name) {
  skipping_ = false;
  const auto [known, fresh] = tables_.try_emplace(std::string(guid), out_.switches.size());
  if (fresh) {
    if (out_.switches.size() >= std::size_t(max_devices))
      return bad(fmt::format("more than {} switches", max_devices));
    out_.switches.push_back({std::string(guid), {}, {}});
  }
  table_ = int(known->second);
  if (!name.empty()) out_.switches[known->second].name = std::move(name);
  return {};
}

Result<void> ForwardingReader::set(std::size_t table, std::size_t destination, std::uint8_t port) {
  auto& out = out_.switches[table].out;
  if (out.size() <= destination) {
    const std::size_t wanted = std::max(destination + 1, std::min(max_lid, 2 * out.size()));
    bytes_ += wanted - out.size();
    if (bytes_ > max_bytes) return bad(fmt::format("more than {} MiB of tables", max_bytes >> 20));
    out.reserve(wanted);
    out.resize(wanted, ForwardingTable::unknown);
  }
  out[destination] = port;
  return {};
}

// Files have tens of millions of these.
Result<void> ForwardingReader::row(std::string_view text) {
  text.remove_prefix(2);
  std::size_t lid = 0, digits = 0;
  for (; digits < text.size() && digits < 5; ++digits) {
    const char c = text[digits];
    const int value = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (value < 0) break;
    lid = lid * 16 + std::size_t(value);
  }
  if (digits == 0 || digits > 4 || lid >= max_lid) return bad("a row without a LID");
  std::size_t at = digits;
  while (at < text.size() && (text[at] == ' ' || text[at] == ':' || text[at] == '\t')) ++at;
  int port = 0;
  const std::size_t first = at;
  for (; at < text.size() && at < first + 4 && text[at] >= '0' && text[at] <= '9'; ++at)
    port = port * 10 + (text[at] - '0');
  if (at == first) {
    if (trim(text.substr(first)) != "UNREACHABLE") return bad("a row without a port");
    return set(std::size_t(table_), lid, ForwardingTable::none);
  }
  if (port > 255 || (port > ForwardingTable::max_port && port != ForwardingTable::none))
    return bad(fmt::format("port {} is none of a switch", port));
  if (auto done = set(std::size_t(table_), lid, std::uint8_t(port)); !done) return done;

  if (lid < out_.destinations.size() && !out_.destinations[lid].port_guid.empty()) return {};
  constexpr std::string_view mark = "portguid ";
  const auto guid_at = text.find(mark, at);
  if (guid_at == text.npos) return {};
  std::string_view rest = text.substr(guid_at + mark.size());
  const auto guid = take_guid(rest);
  if (!guid) return {};
  if (out_.destinations.size() <= lid) out_.destinations.resize(lid + 1);
  out_.destinations[lid].port_guid = *guid;
  out_.destinations[lid].name = between(rest, '\'', '\'');
  destinations_.try_emplace(*guid, lid);
  return {};
}

// "0400 78da63...", of the table that has begun.
Result<void> ForwardingReader::packed_row(std::string_view text) {
  if (table_ < 0) return bad("a row of no table");
  const auto space = text.find(' ');
  const auto first = hexadecimal(text.substr(0, space));
  const auto ports = space == text.npos ? std::nullopt : unpack_ports(text.substr(space + 1));
  if (!first || !ports || *first >= max_lid || *first + ports->size() > max_lid)
    return bad("damaged packed ports");
  for (std::size_t i = 0; i < ports->size(); ++i) {
    const std::uint8_t port = (*ports)[i];
    if (port == ForwardingTable::unknown) continue;
    if (port > ForwardingTable::max_port && port != ForwardingTable::none)
      return bad(fmt::format("port {} is none of a switch", port));
    if (auto done = set(std::size_t(table_), *first + i, port); !done) return done;
  }
  return {};
}

// "0001 of 0x0002c90300000010[1]"
Result<void> ForwardingReader::owner(std::string_view text) {
  const auto lid = hexadecimal(text.substr(0, text.find(' ')));
  std::string_view rest = behind(text, " of ");
  const auto guid = take_guid(rest);
  const auto port = guid && rest.size() > 2 && rest.front() == '[' && rest.back() == ']'
                        ? port_in(rest.substr(1, rest.size() - 2))
                        : std::nullopt;
  if (!lid || *lid == 0 || *lid >= max_lid || !port) return bad("a LID without its port");
  if (out_.destinations.size() <= *lid) out_.destinations.resize(*lid + 1);
  out_.destinations[*lid].host_guid = *guid;
  out_.destinations[*lid].host_port = *port;
  return {};
}

Result<void> ForwardingReader::trace_line(std::string_view text) {
  table_ = -1, skipping_ = false;
  const bool from = text.starts_with("From "), to = text.starts_with("To ");
  if (from != trace_.empty()) return bad(from ? "a path without its end" : "a hop of no path");
  if (to) return end_trace();
  Hop hop;
  int left_by = 0;
  if (!from) {
    text.remove_prefix(1);
    const auto port = port_in(take_digits(text, "0123456789"));
    if (!port || !text.starts_with("] -> ")) return bad("a hop without a port");
    left_by = *port;
  }
  const auto brace = text.find('{');
  if (brace == text.npos) return bad("a hop without a GUID");
  const std::string_view type = text.substr(0, brace);
  text.remove_prefix(brace + 1);
  const auto guid = take_guid(text);
  if (!guid || !text.starts_with('}')) return bad("a hop without a GUID");
  hop.guid = *guid;
  hop.is_switch = type.find("switch") != type.npos;
  if (!from) {
    text.remove_prefix(1);
    const auto port = text.starts_with('[') ? port_in(text.substr(1, text.find(']') - 1)) : std::nullopt;
    if (!port || *port > ForwardingTable::max_port) return bad("a hop without a port");
    hop.in = *port;
    // With -n nothing says what it is: what is left again is a switch.
    trace_.back().out = left_by;
    if (left_by > ForwardingTable::max_port) return bad("a hop without a port");
    if (trace_.size() > 1) trace_.back().is_switch = true;
    if (trace_.size() >= 64) return bad("a path of more than 64 hops");
  }
  trace_lid_ = 0;
  if (std::string_view lid = behind(text, " lid "); !lid.empty())
    if (const auto value = decimal(take_digits(lid, "0123456789")); value && *value < max_lid)
      trace_lid_ = *value;
  trace_.push_back(std::move(hop));
  return {};
}

Result<void> ForwardingReader::end_trace() {
  const std::vector<Hop> hops = std::move(trace_);
  trace_.clear();
  const Hop& end = hops.back();
  std::size_t destination = trace_lid_;
  if (destination == 0) {
    const auto known = destinations_.find(end.guid);
    destination = known != destinations_.end() ? known->second : std::max(max_lid, out_.destinations.size());
    if (destination >= max_lid + max_traced)
      return bad(fmt::format("more than {} ports without a LID", max_traced));
  }
  if (out_.destinations.size() <= destination) out_.destinations.resize(destination + 1);
  if (out_.destinations[destination].port_guid.empty()) {
    out_.destinations[destination].port_guid = end.guid;
    destinations_.try_emplace(end.guid, destination);
  }
  for (std::size_t i = 0; i + 1 < hops.size(); ++i) {
    const Hop &here = hops[i], &next = hops[i + 1];
    if (here.is_switch) {
      if (auto done = begin_table(here.guid, {}); !done) return done;
      if (auto done = set(std::size_t(table_), destination, std::uint8_t(here.out)); !done) return done;
    }
    if (!here.is_switch && !next.is_switch) continue;
    topology::FabricPort a{here.guid, here.out}, b{next.guid, next.in};
    if (!here.is_switch) std::swap(a, b);
    if (out_.links.size() >= 1'000'000) return bad("more than 1000000 cables");
    out_.links.push_back({std::move(a), std::move(b), {}, {}, {}, {}});
  }
  table_ = -1;
  return {};
}

}  // namespace ringtrue::formats
