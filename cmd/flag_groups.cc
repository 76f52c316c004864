#include "cmd/flag_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/inapplicable.h"
#include "collective/algorithm.h"
#include "collective/fault.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/tune.h"
#include "sim/settings.h"

namespace ringtrue::cmd {
namespace {

constexpr std::uint32_t max_block = 1u << 22;

Result<Bytes> parse_slice(std::string_view text) {
  auto size = parse_size(text);
  if (size && (size->value < 64 || size->value > (1u << 30) || size->value % 8 != 0))
    return fail(Cause::bad_input, "a slice is 64 bytes to 1G, a multiple of 8");
  return size;
}

// "0.01", "1%": a share, 0 to 1.
Result<double> parse_density(std::string_view text) {
  auto share = parse_share_up_to(1, text);
  if (!share)
    return fail(Cause::bad_input, fmt::format("'{}' is not a share", text.substr(0, 40)), {},
                "give 0 to 1, or a percentage such as 1%");
  return share;
}

Result<int> parse_key_bytes(std::string_view text) {
  if (text == "4") return 4;
  if (text == "8") return 8;
  return fail(Cause::bad_input, fmt::format("keys of '{}' bytes", text.substr(0, 40)), {}, "give 4 or 8");
}

Result<Seconds> parse_window(std::string_view text) {
  auto window = parse_duration(text);
  if (window && window->value > 60)
    return fail(Cause::bad_input, fmt::format("a window of {}", to_text(*window)), "", "take at most 60s");
  return window;
}

std::vector<std::string> names_of(const auto& values) {
  std::vector<std::string> out;
  for (const auto value : values) out.emplace_back(key_of(value));
  return out;
}

}  // namespace

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const auto& algorithm : collective::algorithms()) names.emplace_back(algorithm.name);
  return names;
}

Flags call_flags(ops::CallRequest& call, bool barrier) {
  std::vector<std::string> names = algorithm_names();
  names.insert(names.begin(), "auto");
  const auto types = names_of(collective::all_types), operations = names_of(collective::all_operations);
  const auto parse_algorithm = [barrier](std::string_view text) -> Result<ops::AlgorithmRequest> {
    using collective::AlgorithmId;
    if (barrier && text == key_of(AlgorithmId::barrier)) return ops::AlgorithmRequest(AlgorithmId::barrier);
    return ops::parse_algorithm(text);
  };
  const auto parse_type = [&call](std::string_view text) {
    auto type = collective::parse_type(text);
    if (type) call.type_given = *type;
    return type;
  };
  return {
      required(parsed("ALGORITHM", call.algorithm, parse_algorithm, "",
                      fmt::format("{}", fmt::join(names, ", ")), names)),
      parsed("--size", call.size, parse_size, "SIZE", "bytes, binary: 64M is 64 * 2^20 (64M)"),
      parsed("-b,--from", call.from, parse_size, "SIZE", "first of several sizes (1K)"),
      parsed("-e,--to", call.to, parse_size, "SIZE", "last of several sizes (64M)"),
      whole("-f,--factor", call.factor, 2, 1 << 20, "from one size to the next (2)"),
      parsed("--type", call.call.type, parse_type, "TYPE",
             fmt::format("{} (float32)", fmt::join(types, ", ")), types),
      parsed("--op", call.call.operation, collective::parse_operation, "OP",
             fmt::format("{} (sum)", fmt::join(operations, ", ")), operations),
      parsed(
          "--slice", call.slice, parse_slice, "SIZE",
          fmt::format("bytes of a message; larger ones are cut ({})", to_text(Bytes(call.call.slice_bytes)))),
      whole("--lanes", call.call.lanes, 1, 64, "connections per peer (1)"),
      whole("--shift", call.shift, 1, 1 << 20, "pairwise: rank r sends to r + N (1)"),
      toggle("--events", call.events, "every message of the last size, in JSON"),
  };
}

Flag fault_flag(std::string& fault, const std::string& help) {
  const auto parse = [](std::string_view text) -> Result<std::string> {
    auto known = collective::parse_faults(text);
    if (!known) return tl::unexpected(known.error());
    return std::string(text);
  };
  return parsed("--fault", fault, parse, "SPEC", help);
}

Flags omni_flags(ops::OmniRequest& omni) {
  using ops::Placement;
  const Flags shape = {
      whole("--block", omni.block, 1, max_block, "elements that are sent or left out together (256)"),
      choice<ops::FormatRequest>(
          "--format", omni.format,
          {{"block", ops::FormatRequest::block},
           {"pairs", ops::FormatRequest::pairs},
           {"auto", ops::FormatRequest::automatic}},
          "WHAT",
          "block, pairs of a key and a value for each value that is not zero, or auto: what "
          "takes fewer bytes (block)"),
      parsed("--key-bytes", omni.key_bytes, parse_key_bytes, "N",
             "of a key of pairs: 4 or 8 (what is needed)", {"4", "8"}),
      whole("--streams", omni.streams, 1, collective::max_streams,
            "slots, over all aggregators (chosen from the link's rate)"),
      whole("--fusion", omni.fusion, 1, collective::max_fusion,
            "maximum number of blocks in a packet (chosen from the link's rate)"),
      whole("--aggregators", omni.aggregators, 1, 4096, "aggregators (one a node)"),
      choice<Placement>("--placement", omni.placement,
                        {{"dedicated", Placement::dedicated}, {"colocated", Placement::colocated}}, "WHERE",
                        "dedicated (nodes of their own) or colocated (beside the workers) (dedicated with "
                        "--aggregator-hosts)"),
      text("--aggregator-hosts", omni.aggregator_hosts, "LIST", "nodes that only aggregate"),
      toggle("--acked", omni.acked, "every worker answers every round, as where packets may be lost"),
      whole("--mtu", omni.mtu, 576, 65535, "bytes of an IP packet, for udp (1500)"),
      toggle("--no-ring", omni.no_ring, "do not run the ring on the same data beside it"),
  };
  const Flags data = {
      parsed("--density", omni.density, parse_density, "SHARE", "blocks that are not zero: 0.01, 1% (100%)"),
      parsed("--value-density", omni.value_density, parse_density, "SHARE",
             "values in these blocks that are not zero (100%)"),
      parsed("--overlap", omni.overlap, collective::parse_overlap, "HOW",
             "of the workers' blocks: same, random or disjoint", {"same", "random", "disjoint"}),
      text("--input", omni.input, "FILE",
           "a .npy file for all workers or with a row for each; {rank}: one each"),
  };
  return join({in_group("omnireduce", shape), in_group("What the data holds", data)});
}

Result<std::vector<int>> parse_gpus(std::string_view text) {
  constexpr long max_gpu = 1023;
  std::vector<int> gpus;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto range = parse_range(part, 0, max_gpu);
    if (!range) return tl::unexpected(range.error());
    for (long gpu = range->first; gpu <= range->second; ++gpu) {
      if (std::find(gpus.begin(), gpus.end(), int(gpu)) != gpus.end())
        return fail(Cause::bad_input, fmt::format("GPU {} is there twice", gpu), {}, "give each once");
      gpus.push_back(int(gpu));
    }
    if (comma == text.npos) return gpus;
    text.remove_prefix(comma + 1);
  }
}

Flags gpu_flags(ops::GpuRequest& gpus) {
  return in_group("GPUs (--memory device)",
                  {parsed("--gpus", gpus.gpus, parse_gpus, "LIST",
                          "GPUs of each node, distributed over its ranks: 0,2 or 4-7 (all)"),
                   toggle("--share-gpus", gpus.share, "use GPUs that other processes use, too")});
}

Flags fabric_flags(ops::FabricRequest& fabric) {
  Flags flags;
  for (const sim::Setting& setting : sim::settings()) {
    const std::string name(setting.name);
    const auto read = [&fabric, name](std::string_view text) -> Result<void> {
      sim::Description scratch;
      if (auto fits = sim::set(scratch, name, std::string(text)); !fits) return fits;
      fabric.given[name] = text;
      return {};
    };
    std::vector<std::string> words;
    if (name == "inside") words = {"nvlink", "pcie"};
    if (name == "preset")
      for (const sim::Preset& preset : sim::presets()) words.emplace_back(preset.name);
    flags.push_back(
        {"--" + name, std::string(setting.type), std::string(setting.help), read, nullptr, words});
  }
  flags.push_back(text("--fabric", fabric.file, "FILE",
                       "TOML, settings named as these flags: nodes = 128, nic = \"400Gbit\""));
  flags.push_back(texts("--topology", fabric.topology, "FILE...",
                        "recordings and other files as of topo --from: nodes, GPUs, rails and their rates; "
                        "'probe': of --hosts, or of this machine"));
  flags.push_back(whole("--random-faults", fabric.random_faults, 0, 100,
                        "number of faults of the fabric that are drawn from the seed and printed"));
  return in_group("fabric", std::move(flags));
}

Flags fact_flags(ops::FactRequest& facts, const std::string& window, bool files) {
  Flags flags = {
      parsed(
          "--window", facts.window, parse_window, "TIME",
          fmt::format("read the counters twice, with this time between, at most 60s; 0: once ({})", window)),
      toggle("--wake-gpus", facts.wake_gpus, "ask NVML even where that wakes sleeping GPUs"),
      hidden(text("--root", facts.root, "DIR",
                  "a tree of /sys and /proc instead of this machine's (for tests)")),
  };
  if (files)
    flags.insert(flags.begin(), texts("--from", facts.from, "FILE",
                                      "files instead: hwloc XML, NCCL's topology XML, ibnetdiscover's "
                                      "output, bundles of gather, topo --json"));
  return flags;
}

Result<void> check_facts(const Context& context, const ops::FactRequest& facts, bool hosts) {
  const std::string& command = context.command;
  const bool files = !facts.from.empty();
  if (auto fits = reject(command, {running(context, "leave it out: nothing is run")}); !fits) return fits;
  if (files && context.common.given("--hosts")) return both("--from", "--hosts");
  if (files || !hosts) {
    const std::string where = command + (files ? " --from" : " without --hosts");
    if (auto fits = reject(where, {cmd::hosts(context, "leave it out")}); !fits) return fits;
  }
  if (!files) return {};
  return reject(command + " --from",
                {{{facts.window.has_value(), "--window"}, {facts.wake_gpus, "--wake-gpus"}}});
}

}  // namespace ringtrue::cmd
