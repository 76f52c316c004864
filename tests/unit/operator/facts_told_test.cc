// Holds the measurer of live nodes and the modelled one to one interface: what a diagnosis is told by the
// model it is told by live nodes, over the same transport and with the same flags.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "campaign/sim_measurer.h"
#include "operator/measurer.h"
#include "operator/reach.h"
#include "operator/routes.h"
#include "operator/structure.h"
#include "tests/unit/fleet/temporary.h"

namespace ringtrue::ops {
namespace {

using Facts = std::set<std::string>;

// By structured bindings, so that a new member does not compile until it has a line here and one in `table`.

void note(const diagnosis::Structure& of, Facts& facts) {
  const auto& [leaf, spines, oversubscription, guessed, all_alike, port_rates, routes, one_machine,
               leaf_names] = of;
  EXPECT_FALSE(guessed || all_alike) << "these are the check's own";
  if (!leaf.empty()) facts.insert("leaf");
  if (!leaf_names.empty()) facts.insert("leaf_names");
  if (spines != 0) facts.insert("spines");
  if (oversubscription != 1) facts.insert("oversubscription");
  if (!port_rates.empty()) facts.insert("port_rates");
  if (routes) facts.insert("routes");
  if (one_machine) facts.insert("one_machine");
}

void note(const diagnosis::HopReading& of, Facts& facts) {
  const auto& [source, destination, bytes, busy, receiver_limited, sender_limited, retransmits, latency,
               source_rank, destination_rank, rails] = of;
  if (source != destination) facts.insert({"hop.source", "hop.destination"});
  if (bytes.value > 0) facts.insert("hop.bytes");
  if (busy.value > 0) facts.insert("hop.busy");
  if (receiver_limited.value > 0) facts.insert("hop.receiver_limited");
  if (sender_limited.value > 0) facts.insert("hop.sender_limited");
  if (retransmits > 0) facts.insert("hop.retransmits");
  if (latency) facts.insert("hop.latency");
  if (source_rank >= 0 && destination_rank >= 0) facts.insert({"hop.source_rank", "hop.destination_rank"});
  if (!rails.empty()) facts.insert("hop.rails");
}

void note(const diagnosis::Observation& of, Facts& facts) {
  const auto& [experiment, time, hops, cpu_busy, counters, rails, times, others] = of;
  if (!experiment.order.empty()) facts.insert("experiment");
  if (time.value > 0) facts.insert("time");
  for (const diagnosis::HopReading& hop : hops) note(hop, facts);
  if (cpu_busy > 0) facts.insert("cpu_busy");
  if (!counters.empty()) facts.insert("counters");
  if (!rails.empty()) facts.insert("rails");
  if (!times.empty()) facts.insert("times");
  for (const auto& [node, traffic] : others) {
    const auto& [sends, receives, sends_by_rail, receives_by_rail] = traffic;
    if (sends > 0) facts.insert("others.sends");
    if (receives > 0) facts.insert("others.receives");
    if (!sends_by_rail.empty()) facts.insert("others.sends_by_rail");
    if (!receives_by_rail.empty()) facts.insert("others.receives_by_rail");
  }
}

// What there is to tell, who tells it over TCP and over RDMA, and why the model leaves it out.
struct Fact {
  const char* name;
  bool live_tcp, live_rdma, model_tcp, model_rdma;
  const char* why_not;
};
constexpr Fact table[] = {
    {"experiment", true, true, true, true, ""},
    {"time", true, true, true, true, ""},
    {"hop.source", true, true, true, true, ""},
    {"hop.destination", true, true, true, true, ""},
    {"hop.source_rank", true, true, true, true, ""},
    {"hop.destination_rank", true, true, true, true, ""},
    {"hop.bytes", true, true, true, true, ""},
    {"hop.busy", true, true, true, true, ""},
    {"hop.receiver_limited", true, true, true, true, ""},
    {"hop.sender_limited", true, true, false, false, "no program of the model holds data back"},
    {"hop.retransmits", true, true, true, true, ""},
    {"hop.latency", true, true, true, true, ""},
    {"hop.rails", false, true, false, true, ""},
    {"others.sends", true, true, true, true, ""},
    {"others.receives", true, true, true, true, ""},
    {"others.sends_by_rail", false, true, false, true, ""},
    {"others.receives_by_rail", false, true, false, true, ""},
    {"cpu_busy", true, true, false, false, "the model has no processors"},
    {"counters", true, true, false, false,
     "the model counts what others carry and what is sent again itself"},
    {"rails", false, true, false, false, "ports of the model have no names but their rails"},
    {"times", true, true, false, false, "for sweeps, which no campaign plays"},
};

Facts expected(bool Fact::*column) {
  Facts out;
  for (const Fact& fact : table)
    if (fact.*column) out.insert(fact.name);
  return out;
}

TEST(FactsTold, OfOneMachineAreThoseOfLoopback) {
  std::vector<run::Network> networks(2);
  networks[0].interface = networks[1].interface = "lo";
  EXPECT_TRUE(on_one_machine(networks));
  networks[1].interface = "eth0";
  EXPECT_FALSE(on_one_machine(networks));
  EXPECT_FALSE(on_one_machine({}));
}

TEST(FactsTold, ByTheModelAreToldByLiveNodesToo) {
  for (const Fact& fact : table) {
    EXPECT_TRUE(!fact.model_tcp || fact.live_tcp) << fact.name;
    EXPECT_TRUE(!fact.model_rdma || fact.live_rdma) << fact.name;
    const bool left_out = (fact.live_tcp && !fact.model_tcp) || (fact.live_rdma && !fact.model_rdma);
    EXPECT_EQ(left_out, *fact.why_not != 0) << fact.name;
  }
}

diagnosis::Experiment between(int nodes) {
  diagnosis::Experiment e;
  e.algorithm = collective::AlgorithmId::pairwise;
  for (int node = 0; node < nodes; ++node) e.order.push_back(node);
  e.bytes = Bytes(64 << 20);
  return e;
}

// Of a fleet in which everything occurs that a reading tells of.
TEST(FactsTold, AreThoseThatTheModelTells) {
  for (const bool rdma : {false, true}) {
    campaign::World world;
    world.fabric.nodes = 8;
    world.fabric.rails = rdma ? 4 : 1;
    world.fabric.reduce_rate = world.fabric.inter.rate * double(world.fabric.rails);
    world.fabric.faults = *sim::parse_fabric_faults(
        "slow-node@node1:share=50%;lossy@node2:share=1%;background@node3>node5:rate=4Gbit");
    world.noise = {0.05, 0.05};
    world.rdma = rdma;
    world.told = campaign::Told::nothing;
    campaign::SimMeasurer model(world);
    const auto seen = model.measure(between(8));
    ASSERT_TRUE(seen);
    Facts facts;
    note(*seen, facts);
    EXPECT_EQ(facts, expected(rdma ? &Fact::model_rdma : &Fact::model_tcp)) << rdma;
  }
}

// Answers every job with one report.
class OneReport final : public Runner {
 public:
  explicit OneReport(run::RunReport report)
      : Runner({.nodes = {"a", "b", "c"}, .worker_nodes = 3, .text = "here"}), report_(std::move(report)) {}

  run::Job job() const override { return {}; }
  void add_aggregators(run::Job&) const override {}
  Outcome<run::RunReport> play(const run::Job&, Deadline) override { return report_; }

 private:
  run::RunReport report_;
};

// What senders, kernels and ports say where everything occurs.
run::RunReport full_report(bool rdma) {
  run::RunReport report;
  report.cpu_s = 0.1;
  for (int rank = 0; rank < 3; ++rank) {
    report.ranks.push_back({rank, 1, {0.5}, 0, 0, {}});
    run::Hop hop;
    hop.source = rank, hop.destination = (rank + 1) % 3;
    hop.bytes = Bytes(64 << 20), hop.busy = Seconds(0.5);
    if (!rdma)
      hop.tcp = run::TcpHop{.busy = Seconds(0.5),
                            .rwnd_limited = Seconds(0.1),
                            .sndbuf_limited = Seconds(0.1),
                            .retransmits = 7,
                            .min_rtt = Seconds(1e-4),
                            .delivery_rate = {}};
    const std::string node(1, char('a' + rank));
    std::vector<std::string> devices{"eth0"};
    if (rdma) devices = {"mlx5_0/1", "mlx5_1/1"};
    if (rdma) {
      hop.rdma = run::RdmaHop{Seconds(0.5), Seconds(0.1), Seconds(0.1), 9};
      hop.rdma->min_rtt = Seconds(3e-6);
      hop.rdma->rails = {{{"mlx5_0", 1}, Bytes(32 << 20), Seconds(0.5)},
                         {{"mlx5_1", 1}, Bytes(32 << 20), Seconds(0.5)}};
      report.rdma.push_back({node, {{"mlx5_0", 1}, {"mlx5_1", 1}}, "", 0, "host"});
    }
    report.trace.hops.push_back(hop);
    run::CounterWindow& window = report.counters[node];
    window.seconds = 0.6;
    const char* const sent = rdma ? "port_xmit_data" : "tx_bytes";
    const char* const received = rdma ? "port_rcv_data" : "rx_bytes";
    for (const std::string& device : devices)
      for (const char* const counter : {sent, received})
        window.changes.push_back({device, counter, 0, 400'000'000, false, false});
    if (rdma) window.changes.push_back({devices[0], "packet_seq_err", 0, 5, false, false});
  }
  return report;
}

TEST(FactsTold, AreThoseThatLiveNodesTell) {
  for (const bool rdma : {false, true}) {
    Stop stop;
    RunMeasurer live(std::make_unique<OneReport>(full_report(rdma)),
                     {.transport = rdma ? run::Transport::verbs : run::Transport::tcp},
                     Control(stop, [](const progress::Event&) {}));
    const auto seen = live.measure(between(3));
    ASSERT_TRUE(seen) << seen.error().text();
    Facts facts;
    note(*seen, facts);
    EXPECT_EQ(facts, expected(rdma ? &Fact::live_rdma : &Fact::live_tcp)) << rdma;
  }
}

// ---- how the nodes hang together ----

Facts told_by_model(campaign::Told told) {
  campaign::World world;
  world.fabric.nodes = 8;
  world.fabric.leaf = 4;
  world.fabric.oversubscription = 2;
  world.fabric.hashing = sim::Hashing::destination;
  world.told = told;
  Facts facts;
  note(campaign::SimMeasurer(world).structure(), facts);
  return facts;
}

Facts told_live(const std::optional<std::string>& leaves, const std::vector<std::string>& routes,
                const std::vector<std::string>& nodes) {
  Result<diagnosis::Structure> structure = diagnosis::Structure{};
  if (leaves) structure = structure_by_leaves(*leaves, nodes);
  if (!routes.empty()) structure = structure_by_routes(read_routes(routes).value().routes, nodes);
  EXPECT_TRUE(structure) << structure.error().text();
  if (!structure) return {};
  topology::Cluster cluster;
  structure->port_rates = port_rates(cluster, nodes);
  Facts facts;
  note(*structure, facts);
  return facts;
}

constexpr const char* leaves_of_two = "leaf0: a\nleaf1: b\n";
constexpr const char* fabric_of_two = R"(
Switch	2 "S-0000000000200000"		# "leaf0" enhanced port 0 lid 3 lmc 0
[1]	"H-0000000000001000"[1](0000000000800000) 		# "a mlx5_0" lid 1 4xHDR
[2]	"S-0000000000200001"[2]		# "leaf1" lid 4 4xHDR

Switch	2 "S-0000000000200001"		# "leaf1" enhanced port 0 lid 4 lmc 0
[1]	"H-0000000000001001"[1](0000000000800001) 		# "b mlx5_0" lid 2 4xHDR
[2]	"S-0000000000200000"[2]		# "leaf0" lid 3 4xHDR
)";
constexpr const char* tables_of_two = R"(
Unicast lids [0-4] of switch Lid 3 guid 0x0000000000200000 ('leaf0'):
0x0001 001 # Channel Adapter portguid 0x0000000000800000: 'a mlx5_0'
0x0002 002 # Channel Adapter portguid 0x0000000000800001: 'b mlx5_0'
2 lids dumped

Unicast lids [0-4] of switch Lid 4 guid 0x0000000000200001 ('leaf1'):
0x0001 002 # Channel Adapter portguid 0x0000000000800000: 'a mlx5_0'
0x0002 001 # Channel Adapter portguid 0x0000000000800001: 'b mlx5_0'
2 lids dumped
)";

TEST(FactsTold, OfTheFabricAreThoseOfTheSameFlags) {
  const fleet::TemporaryFolder folder;
  const auto file = [&](const char* name, const char* text) {
    std::ofstream(folder.path(name)) << text;
    return folder.path(name);
  };
  const std::string leaves = file("leaves", leaves_of_two), fabric = file("fabric", fabric_of_two),
                    tables = file("tables", tables_of_two);
  const std::vector<std::string> nodes = {"a", "b"};
  EXPECT_EQ(told_by_model(campaign::Told::nothing), told_live({}, {}, nodes));
  EXPECT_EQ(told_by_model(campaign::Told::leaves), told_live(leaves, {}, nodes));
  EXPECT_EQ(told_by_model(campaign::Told::routes), told_live({}, {tables, fabric}, nodes));
  EXPECT_EQ(told_by_model(campaign::Told::nothing), Facts{"port_rates"});
  // No flag of live checks tells that.
  Facts more = told_by_model(campaign::Told::fabric);
  for (const auto& fact : told_by_model(campaign::Told::leaves)) more.erase(fact);
  EXPECT_EQ(more, (Facts{"spines", "oversubscription"}));
}

}  // namespace
}  // namespace ringtrue::ops
