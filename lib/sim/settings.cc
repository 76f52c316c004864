#include "sim/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "base/suggest.h"
#include "sim/network.h"

namespace ringtrue::sim {

namespace {

Result<void> whole(std::string_view text, int low, int high, int& into) {
  const auto value = parse_number<int>(text);
  if (!value || *value < low || *value > high)
    return fail(Cause::bad_input,
                fmt::format("'{}' is not a whole number from {} to {}", text.substr(0, 40), low, high));
  into = *value;
  return {};
}

Result<void> ratio(std::string_view text, double& into) {
  const auto value = parse_number<double>(text, std::chars_format::fixed);
  if (!value || !(*value > 0 && *value <= 1000))
    return fail(Cause::bad_input,
                fmt::format("'{}' is not a ratio above 0 and up to 1000", text.substr(0, 40)));
  into = *value;
  return {};
}

template <class T>
Result<void> keep(Result<T> value, T& into) {
  if (!value) return tl::unexpected(value.error());
  into = *value;
  return {};
}

// ---- known machines ----

void dgx(Fabric& fabric, double nvlink, double nic, int leaf) {
  fabric.ranks_per_node = fabric.rails = 8;
  fabric.intra = {Seconds(2e-6), BytesPerSecond(nvlink), Seconds(0)};
  fabric.inter = {Seconds(5e-6), BytesPerSecond(nic), Seconds(0)};
  fabric.leaf = leaf;
  fabric.mtu = 4096;
}

// Latencies are round figures for one hop: NVLink with a copying kernel, InfiniBand with its verbs.
constexpr Preset machines[] = {
    // NVIDIA DGX SuperPOD Reference Architecture, DGX H100 (RA-11333-001): 8 GPUs with 900 GB/s of NVLink
    // both ways, 8 ConnectX-7 at 400 Gbit/s, rail-optimised, 32 nodes a scalable unit, no oversubscription;
    // PCIe Gen5 x16 to each GPU.
    {"dgx-h100", "8 H100, NVLink 450 GB/s, 8 NICs of 400 Gbit/s, 32 nodes below a leaf",
     [](Fabric& f) { dgx(f, 450e9, 50e9, 32); }, BytesPerSecond(63e9)},
    // NVIDIA DGX SuperPOD Reference Architecture, DGX A100 (RA-10331): 600 GB/s of NVLink both ways, 8 HDR
    // ports for computing, 20 nodes a scalable unit; PCIe Gen4 x16.
    {"dgx-a100", "8 A100, NVLink 300 GB/s, 8 NICs of 200 Gbit/s, 20 nodes below a leaf",
     [](Fabric& f) { dgx(f, 300e9, 25e9, 20); }, BytesPerSecond(31.5e9)},
    // Summit (Vazhkudai et al., SC18): 6 V100 a node, 50 GB/s of NVLink one way between GPUs, two EDR ports,
    // 18 nodes a rack, a fat tree without oversubscription. Latencies are NCCL's for a hop of a ring by its
    // protocol LL, over NVLink and over a network, of which what switches add is a part
    // (src/graph/tuning.cc).
    {"summit", "6 V100, NVLink 50 GB/s, 2 NICs of 100 Gbit/s, 18 nodes below a leaf",
     [](Fabric& f) {
       f.ranks_per_node = 6;
       f.rails = 2;
       f.intra = {Seconds(0.6e-6), BytesPerSecond(50e9), Seconds(0)};
       f.inter = {Seconds(2.7e-6), BytesPerSecond(12.5e9), Seconds(0)};
       f.spine_latency = Seconds(0);
       f.leaf = 18;
       f.mtu = 4096;
     }},
    // A server with PCIe Gen4 x16 cards and one port of 100 Gbit/s Ethernet.
    {"pcie-gen4", "4 GPUs on PCIe Gen4 x16, one NIC of 100 Gbit/s",
     [](Fabric& f) {
       f.ranks_per_node = 4;
       f.pcie = true;
       f.intra = {Seconds(5e-6), BytesPerSecond(31.5e9), Seconds(0)};
       f.inter = {Seconds(10e-6), BytesPerSecond(12.5e9), Seconds(0)};
     }},
};

Result<void> set_preset(Description& d, std::string_view text) {
  std::string names;
  for (const Preset& machine : machines) {
    names.append(names.empty() ? "" : ", ").append(machine.name);
    if (machine.name != text) continue;
    d.per_node.reset();
    machine.describe(d.fabric);
    d.few_gpus = machine.few_gpus;
    return {};
  }
  return fail(Cause::bad_input, fmt::format("unknown preset '{}'", text.substr(0, 40)), {},
              "use one of " + names);
}

constexpr Setting table[] = {
    {"preset", "WORD", "a known machine: dgx-h100, dgx-a100, summit, pcie-gen4; what else is said changes it",
     set_preset},
    {"nodes", "N", "nodes; dedicated aggregators are on further ones (8)",
     [](Description& d, std::string_view t) { return whole(t, 1, 1 << 20, d.fabric.nodes); }},
    {"gpus-per-node", "N", "ranks on each node (1)",
     [](Description& d, std::string_view t) { return whole(t, 1, 4096, d.fabric.ranks_per_node); }},
    {"inter", "RATE", "one way, per node, between nodes, all rails together (100Gbit)",
     [](Description& d, std::string_view t) -> Result<void> {
       BytesPerSecond rate;
       auto done = keep(parse_rate(t), rate);
       if (done) d.per_node = rate;
       return done;
     }},
    {"nic", "RATE", "one way, per NIC",
     [](Description& d, std::string_view t) {
       d.per_node.reset();
       return keep(parse_rate(t), d.fabric.inter.rate);
     }},
    {"rails", "N", "NICs of a node, each on a rail of its own; messages are dealt to them in turn (1)",
     [](Description& d, std::string_view t) { return whole(t, 1, 64, d.fabric.rails); }},
    {"intra", "RATE", "one way, per rank, inside a node (10GB/s)",
     [](Description& d, std::string_view t) { return keep(parse_rate(t), d.fabric.intra.rate); }},
    {"inside", "WORD",
     "nvlink: every rank has its ports; pcie: they are also what leads to the NICs (nvlink)",
     [](Description& d, std::string_view t) -> Result<void> {
       if (t != "nvlink" && t != "pcie")
         return fail(Cause::bad_input, fmt::format("'{}' is neither nvlink nor pcie", t.substr(0, 40)));
       d.fabric.pcie = t == "pcie";
       return {};
     }},
    {"gpu-pcie", "RATE",
     "one way, of a GPU to the NICs, which belong to the GPUs of a node in order: over another's NIC it is "
     "NVLink first; without it, any rate, but on DGX with fewer GPUs than NICs",
     [](Description& d, std::string_view t) { return keep(parse_rate(t), d.fabric.gpu_pcie); }},
    {"latency", "TIME", "of a hop between nodes (20us)",
     [](Description& d, std::string_view t) { return keep(parse_delay(t), d.fabric.inter.latency); }},
    {"intra-latency", "TIME", "of a hop inside a node (2us)",
     [](Description& d, std::string_view t) { return keep(parse_delay(t), d.fabric.intra.latency); }},
    {"overhead", "TIME", "of each message between nodes, at its sender",
     [](Description& d, std::string_view t) { return keep(parse_delay(t), d.fabric.inter.overhead); }},
    {"receive-overhead", "TIME", "of each message between nodes, at its receiver",
     [](Description& d, std::string_view t) { return keep(parse_delay(t), d.fabric.receive_overhead); }},
    {"reduce-rate", "RATE", "at which a rank adds up what arrives; at once without it",
     [](Description& d, std::string_view t) { return keep(parse_rate(t), d.fabric.reduce_rate); }},
    {"leaf", "N", "nodes below a leaf switch, of which each rail has its own; without it, one switch for all",
     [](Description& d, std::string_view t) { return whole(t, 1, 1 << 20, d.fabric.leaf); }},
    {"spines", "N", "spine switches, of each pod; as many as a leaf has NICs' worth of uplinks without it",
     [](Description& d, std::string_view t) { return whole(t, 1, 4096, d.fabric.spines); }},
    {"spine-oversubscription", "RATIO", "of a leaf's downlinks over its uplinks (1)",
     [](Description& d, std::string_view t) { return ratio(t, d.fabric.oversubscription); }},
    {"pod", "N",
     "leaves, of each rail, below spines of their own; without it, all below the same and no cores",
     [](Description& d, std::string_view t) { return whole(t, 1, 1 << 20, d.fabric.pod); }},
    {"cores", "N", "core switches above each spine; as many as it has NICs' worth of uplinks without it",
     [](Description& d, std::string_view t) { return whole(t, 1, 4096, d.fabric.cores); }},
    {"core-oversubscription", "RATIO", "of a spine's downlinks over its uplinks (1)",
     [](Description& d, std::string_view t) { return ratio(t, d.fabric.core_oversubscription); }},
    {"cables", "N", "parallel cables between two switches, of which a connection takes one (1)",
     [](Description& d, std::string_view t) { return whole(t, 1, 64, d.fabric.cables); }},
    {"hashing", "WORD",
     "what chooses a connection's spine, core and cable: addresses (the same in every run), connections "
     "(another one in every run), destination (in turn), adaptive (each message the best) (addresses)",
     [](Description& d, std::string_view t) {
       return keep(parse_one_of<Hashing>(t, "hashing"), d.fabric.hashing);
     }},
    {"spine-latency", "TIME", "more, where a hop crosses a spine (1us)",
     [](Description& d, std::string_view t) { return keep(parse_delay(t), d.fabric.spine_latency); }},
    {"core-latency", "TIME", "more again, where it crosses a core (2us)",
     [](Description& d, std::string_view t) { return keep(parse_delay(t), d.fabric.core_latency); }},
    {"bucket", "SIZE",
     "of a NIC that a shaper holds to its rate: what it left unused, up to this, passes at ten times the "
     "rate",
     [](Description& d, std::string_view t) { return keep(parse_size(t), d.fabric.bucket); }},
    {"fabric-mtu", "N", "bytes of a packet (9000)",
     [](Description& d, std::string_view t) { return whole(t, 256, 65536, d.fabric.mtu); }},
};

}  // namespace

std::span<const Setting> settings() {
  return table;
}

Result<void> set(Description& description, std::string_view name, std::string_view text) {
  std::vector<std::string> names;
  for (const Setting& setting : table) {
    if (setting.name == name) return setting.set(description, text);
    names.emplace_back(setting.name);
  }
  const auto meant = closest(name, names);
  return fail(
      Cause::bad_input, fmt::format("unknown setting '{}'", name.substr(0, 60)), {},
      meant ? fmt::format("did you mean {}?", *meant) : fmt::format("use {}", fmt::join(names, ", ")));
}

std::span<const Preset> presets() {
  return machines;
}

Result<Fabric> Description::finished() const {
  Fabric out = fabric;
  if (per_node) out.inter.rate = *per_node / double(out.rails);
  if (out.gpu_pcie.value <= 0 && out.ranks_per_node < out.rails) out.gpu_pcie = few_gpus;
  if (auto fits = check(out); !fits) return tl::unexpected(fits.error());
  return out;
}

}  // namespace ringtrue::sim
