#include "formats/forwarding.h"

#include <gtest/gtest.h>

#include "formats/format.h"
#include "formats/packed_ports.h"
#include "tests/support/infiniband.h"

namespace ringtrue::formats {
namespace {

using infiniband::Fabric;
using topology::Routes;
using Spelling = Fabric::Spelling;
constexpr Spelling spellings[] = {Spelling::ibroute, Spelling::dump_fts, Spelling::lfts, Spelling::fdbs};

Forwarding read(std::string_view text, std::size_t piece = 1000) {
  ForwardingReader reader;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    const auto done = reader.read(text.substr(at, piece));
    EXPECT_TRUE(done) << (done ? "" : done.error().what);
  }
  EXPECT_TRUE(reader.end_of_file());
  return reader.take();
}

std::string refusal(std::string_view text) {
  ForwardingReader reader;
  if (auto done = reader.read(text); !done) return done.error().what;
  if (auto done = reader.end_of_file(); !done) return done.error().what;
  return "";
}

Routes join(const Fabric& fabric, const Forwarding& forwarding) {
  const auto cables = read_ibnetdiscover(fabric.ibnetdiscover());
  EXPECT_TRUE(cables) << (cables ? "" : cables.error().what);
  auto routes = routes_of(*cables, forwarding);
  EXPECT_TRUE(routes) << (routes ? "" : routes.error().what);
  return routes ? std::move(*routes) : Routes();
}

// The way as the fabric has it: switch and port, one after the other.
std::string way_of(const Fabric& f, int from, int to) {
  std::string out;
  for (infiniband::Port at = f.host_at[std::size_t(from)]; at.node >= f.hosts;) {
    const auto& s = f.switches[std::size_t(at.node - f.hosts)];
    const int port = s.next[std::size_t(to)];
    at = s.at[std::size_t(port)];
    if (at.node >= f.hosts)
      out += fmt::format("{} port {} -> {} port {}; ", s.name, port,
                         f.switches[std::size_t(at.node - f.hosts)].name, at.port);
  }
  return out;
}

std::string way_of(const Routes& routes, const std::string& from, const std::string& to) {
  const auto a = routes.ports_of(from), b = routes.ports_of(to);
  if (a.size() != 1 || b.size() != 1) return "no such port";
  std::vector<int> trunks;
  const auto way = routes.way(a[0], b[0], trunks);
  if (way != Routes::Way::known) return way == Routes::Way::none ? "none" : "unknown";
  std::string out;
  for (const int t : trunks) out += routes.text(routes.trunks()[std::size_t(t)]) + "; ";
  return out;
}

void expect_all_ways(const Fabric& fabric, const Routes& routes) {
  for (int a = 0; a < fabric.hosts; ++a)
    for (int b = 0; b < fabric.hosts; ++b)
      if (a != b) {
        ASSERT_EQ(way_of(routes, fmt::format("node{}", a), fmt::format("node{}", b)), way_of(fabric, a, b))
            << a << " to " << b;
      }
}

TEST(Forwarding, IsReadInFourSpellings) {
  for (const Fabric& fabric : {infiniband::two_levels(4, 3, 2), infiniband::three_levels(2, 2, 2),
                               infiniband::irregular(7, 12, 9, 5)})
    for (const Spelling how : spellings) expect_all_ways(fabric, join(fabric, read(fabric.tables(how))));
}

TEST(Forwarding, IsTheSameInPiecesOfAnySize) {
  const Fabric fabric = infiniband::two_levels(3, 2, 2);
  const std::string text = fabric.tables(Spelling::lfts);
  for (const std::size_t piece : {1, 7, 64, 100000}) expect_all_ways(fabric, join(fabric, read(text, piece)));
  // Without an end of the last line.
  expect_all_ways(fabric, join(fabric, read(text.substr(0, text.find_last_not_of("\n") + 1))));
}

TEST(Forwarding, TakesSpellingsTogether) {
  const Fabric fabric = infiniband::irregular(6, 9, 6, 9);
  std::string text = "# from several tools\n";
  for (int at = 0; at < 6; ++at) text += fabric.table(at, spellings[at % 4]) + "\n";
  expect_all_ways(fabric, join(fabric, read(text)));
}

TEST(Forwarding, KnowsRowsOfAllKinds) {
  const auto read_rows = read(
      "Unicast lids [0x0-0x9] of switch Lid 4 guid 0x0000000000000007 (a (left) leaf):\n"
      "  Lid  Out   Destination\n"
      "       Port     Info \n"
      "0x0001 061 : (Channel Adapter portguid 0x00000000000000aa: 'B11 mlx5_0')\n"
      "0x0002 000 : (Switch portguid 0x0000000000000007: 'a (left) leaf')\n"
      "0x0003 255 : (illegal port)\n"
      "0x0004 002 : (unknown node and type)\n"
      "0x0005 003 : (node info not available fabric scan)\n"
      "0x0006 004 : (path #2 out of 4: portguid 0x00000000000000aa)\n"
      "6 valid lids dumped \n"
      "Multicast mlids [0xc000-0xc3ff] of switch Lid 4 guid 0x0000000000000007 (a):\n"
      "0xc000 : 1 2 3\n"
      "osm_ucast_mgr_dump_ucast_routes: Switch 0x0000000000000008\n"
      "LID    : Port : Hops : Optimal\n"
      "0x0001 : 002  : 00   : yes\n"
      "0x0002 : UNREACHABLE\n"
      "0x0003 : 004  : HOPS UNKNOWN\n"
      "0x0004 : 007  : 03   : No 2 hop path possible via port 009!\n");
  ASSERT_EQ(read_rows.switches.size(), 2u);
  const auto& first = read_rows.switches[0];
  EXPECT_EQ(first.name, "a (left) leaf");
  EXPECT_EQ(first.out[1], 61);
  EXPECT_EQ(first.out[0], ForwardingTable::unknown);
  EXPECT_EQ(first.out[3], ForwardingTable::none);
  EXPECT_EQ(first.out[6], 4);
  EXPECT_EQ(read_rows.destinations[1].name, "B11 mlx5_0");
  EXPECT_EQ(read_rows.destinations[6].port_guid, "00000000000000aa");
  const auto& second = read_rows.switches[1];
  EXPECT_EQ(second.guid, "0000000000000008");
  EXPECT_EQ(second.out[2], ForwardingTable::none);
  EXPECT_EQ(second.out[3], 4);
  EXPECT_EQ(second.out[4], 7);
}

// dump_fts leaves out the highest LID where it is a multiple of 64: that is no word of the switch.
TEST(Forwarding, HoldsALidThatIsMissingForUnknown) {
  const Fabric fabric = infiniband::two_levels(4, 3, 2);
  std::string text;
  for (int at = 0; at < int(fabric.switches.size()); ++at) {
    std::string table = fabric.table(at, Spelling::dump_fts);
    const auto row = table.find("0x000c ");  // of the last host, node11
    table.erase(row, table.find('\n', row) + 1 - row);
    text += table;
  }
  const Routes routes = join(fabric, read(text));
  EXPECT_EQ(way_of(routes, "node0", "node11"), "unknown");
  EXPECT_EQ(way_of(routes, "node0", "node10"), way_of(fabric, 0, 10));
  EXPECT_EQ(way_of(routes, "node10", "node11"), "");  // on one switch
  // And a switch that says that it has none.
  Fabric cut = fabric;
  for (auto& s : cut.switches) s.next[11] = s.name == "leaf03" ? s.next[11] : 0;
  EXPECT_EQ(way_of(join(cut, read(cut.tables(Spelling::fdbs))), "node0", "node11"), "none");
}

TEST(Forwarding, IsReadFromTraces) {
  const Fabric fabric = infiniband::three_levels(2, 2, 2);
  for (const bool plain : {false, true}) {
    std::string text;
    for (int a = 0; a < fabric.hosts; ++a)
      for (int b = 0; b < fabric.hosts; ++b)
        if (a != b) text += fabric.trace(a, b, plain);
    expect_all_ways(fabric, join(fabric, read(text)));
    // The cables are in them as well.
    const auto alone = routes_of({}, read(text));
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->ports().size(), std::size_t(fabric.hosts));
    std::vector<int> trunks;
    EXPECT_EQ(alone->way(0, 1, trunks), Routes::Way::known);
  }
}

// As ringtrue-probe writes a fabric that it reads.
std::string live(const Fabric& fabric, const std::string& without_table = {}) {
  std::string out;
  for (int host = 0; host < fabric.hosts; ++host)
    out += fmt::format("lid 0x{:04x} of 0x{}[1]\n", host + 1, fabric.guid(host));
  for (std::size_t i = 0; i < fabric.switches.size(); ++i) {
    const auto& s = fabric.switches[i];
    if (s.name == without_table) continue;
    std::vector<std::uint8_t> ports(1, ForwardingTable::unknown);
    for (const int port : s.next) ports.push_back(port == 0 ? ForwardingTable::none : std::uint8_t(port));
    out += fmt::format("Unicast lids [0x0-{:#x}] of switch Lid {} guid 0x{} ({}):\n", fabric.max_lid(),
                       fabric.hosts + int(i) + 1, fabric.guid(fabric.hosts + int(i)), s.name);
    out += pack_ports(ports);
  }
  return out;
}

TEST(Forwarding, IsReadFromALiveFabric) {
  for (const Fabric& fabric : {infiniband::two_levels(4, 3, 2), infiniband::three_levels(2, 2, 2)})
    for (const std::size_t piece : {7u, 100000u})
      expect_all_ways(fabric, join(fabric, read(live(fabric), piece)));
}

TEST(Forwarding, AnUnreadSwitchCostsItselfAlone) {
  const Fabric fabric = infiniband::two_levels(4, 3, 2);
  const Forwarding forwarding = read(live(fabric, "leaf01") + "note leaf01: no answer\x1b\n");
  EXPECT_EQ(forwarding.notes, std::vector<std::string>{"leaf01: no answer"});
  const Routes routes = join(fabric, forwarding);
  // node3 to node5 hang there: what is sent to them is known, because their ports say which LID they have.
  EXPECT_EQ(way_of(routes, "node0", "node4"), way_of(fabric, 0, 4));
  EXPECT_EQ(way_of(routes, "node4", "node0"), "unknown");
  EXPECT_EQ(way_of(routes, "node0", "node11"), way_of(fabric, 0, 11));
}

// A switch may still send an old LID to a port that has another one now.
TEST(Forwarding, BelievesAPortAboutItsLid) {
  const Fabric fabric = infiniband::two_levels(2, 2, 2);
  std::string text = live(fabric);
  const auto row = text.find("lid 0x0001");
  text.replace(row, 10, "lid 0x0009");  // node0's: no table has a row for it
  const Routes routes = join(fabric, read(text));
  EXPECT_EQ(way_of(routes, "node2", "node0"), "unknown");
  EXPECT_EQ(way_of(routes, "node0", "node2"), way_of(fabric, 0, 2));
}

TEST(Forwarding, ReadsNotesWithinBounds) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "note " + std::string(3000, 'x') + "\n";
  const Forwarding forwarding = read(text);
  ASSERT_EQ(forwarding.notes.size(), ForwardingReader::max_notes);
  EXPECT_LE(forwarding.notes[0].size(), 256u);
}

TEST(Forwarding, RefusesDamagedLiveRows) {
  const std::string table = "Unicast lids [0x0-0x9] of switch Lid 1 guid 0x0000000000000001 (a):\n";
  const std::string good = pack_ports({254, 1, 2});
  EXPECT_EQ(refusal(table + good), "");
  EXPECT_EQ(refusal(good), "line 1: a row of no table");
  const std::string digits = good.substr(14, good.size() - 15);
  for (const std::string& bad :
       {"packed 0x0000", "packed 0x0000 ", "packed 0x0000 zz", "packed 0x0000 789", "packed 0xc000 "})
    EXPECT_EQ(refusal(table + bad + (std::string(bad).ends_with("c000 ") ? digits : "") + "\n"),
              "line 2: damaged packed ports")
        << bad;
  EXPECT_EQ(refusal(table + "packed 0xbfff " + digits + "\n"), "line 2: damaged packed ports");
  EXPECT_EQ(refusal(table + "packed 0x0000 " + digits + "00\n"), "line 2: damaged packed ports");
  EXPECT_EQ(refusal(table + pack_ports({253, 1})), "line 2: port 253 is none of a switch");
  for (const char* bad : {"lid 0x0000 of 0x1[1]", "lid 0xc000 of 0x1[1]", "lid 0x0001 of 0x0[1]",
                          "lid 0x0001 of 0x1", "lid 0x0001 of 0x1[]", "lid 0x0001 of 0x1[300]"})
    EXPECT_EQ(refusal(std::string(bad) + "\n"), "line 1: a LID without its port") << bad;
}

TEST(PackedPorts, ComeBackAsTheyWere) {
  std::vector<std::uint8_t> ports(5000, ForwardingTable::unknown);
  for (std::size_t lid = 1; lid < ports.size(); ++lid)
    if (lid < 1024 || lid >= 3072) ports[lid] = std::uint8_t(lid * 7919 % 250);
  const std::string rows = pack_ports(ports);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 3);  // nothing is known of two thousand
  const std::string table = "Unicast lids [0x0-0x9] of switch Lid 1 guid 0x0000000000000001 (a):\n";
  auto again = read(table + rows).switches[0].out;
  again.resize(ports.size());
  EXPECT_EQ(again, ports);
  // Ports that look like noise are the longest, and a line of them is not too long to be read.
  for (std::size_t at = 0; at < rows.size(); at = rows.find('\n', at) + 1)
    EXPECT_LT(rows.find('\n', at) - at, 2500u);
}

TEST(Forwarding, SaysWhichLineIsWrong) {
  const std::string table = "Unicast lids [0-9] of switch Lid 1 guid 0x0000000000000001 ('a'):\n";
  EXPECT_EQ(refusal(table + "0x0001 900 # x\n"), "line 2: port 900 is none of a switch");
  EXPECT_EQ(refusal(table + "0xd001 001 # x\n"), "line 2: a row without a LID");
  EXPECT_EQ(refusal(table + "0x0001 : somewhere\n"), "line 2: a row without a port");
  EXPECT_EQ(refusal("\n0x0001 001 # x\n"), "line 2: a row of no table");
  EXPECT_EQ(refusal("Unicast lids [0-9] of switch Lid 1 guid 0 ('a'):\n"),
            "line 1: a table of a switch without GUID");
  EXPECT_EQ(refusal(table + "what is this\n"),
            "line 2: neither a row nor the beginning of a table: \"what is this\"");
  EXPECT_EQ(refusal("[1] -> switch port {0x1}[2] lid 1-1 \"a\"\n"), "line 1: a hop of no path");
  EXPECT_EQ(refusal("From ca {0x1} portnum 1 lid 1-1 \"a\"\n"), "line 1: a path without its end");
  EXPECT_EQ(refusal(std::string(5000, 'x')), "line 1: longer than 4096 bytes");
}

TEST(Forwarding, NeedsCables) {
  const Fabric fabric = infiniband::two_levels(2, 2, 2);
  const auto tables = read(fabric.tables(Spelling::lfts));
  const auto without = routes_of({}, tables);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().next, "give the output of ibnetdiscover as well");
  EXPECT_FALSE(routes_of(*read_ibnetdiscover(fabric.ibnetdiscover()), Forwarding{}));
}

TEST(Forwarding, IsKnownByItsBeginning) {
  const Fabric fabric = infiniband::two_levels(2, 2, 2);
  for (const Spelling how : spellings) EXPECT_TRUE(ForwardingReader::knows(fabric.tables(how)));
  EXPECT_TRUE(ForwardingReader::knows(fabric.trace(0, 3, true)));
  EXPECT_FALSE(ForwardingReader::knows(fabric.ibnetdiscover()));
  EXPECT_FALSE(ForwardingReader::knows(""));
}

// A fabric of 64 switches with all LIDs, at the pace that 1,500 of them need: see docs/routes.md.
TEST(Forwarding, ReadsLargeTablesFast) {
  constexpr int lids = 49151, switches = 12;
  ForwardingReader reader;
  std::string text;
  for (int s = 1; s <= switches; ++s) {
    text = fmt::format("Unicast lids [0-{}] of switch Lid {} guid 0x{:016x} ('s{}'):\n", lids, s, s, s);
    for (int lid = 1; lid <= lids; ++lid)
      text += fmt::format("0x{:04x} {:03} # Channel Adapter portguid 0x{:016x}: 'node{} mlx5_0'\n", lid,
                          1 + lid % 40, 0x100000 + lid, lid);
    ASSERT_TRUE(reader.read(text));
  }
  const Forwarding all = reader.take();
  ASSERT_EQ(all.switches.size(), std::size_t(switches));
  EXPECT_EQ(all.switches.back().out[49151], 1 + 49151 % 40);
  EXPECT_EQ(all.destinations[49151].name, "node49151 mlx5_0");
}

}  // namespace
}  // namespace ringtrue::formats
