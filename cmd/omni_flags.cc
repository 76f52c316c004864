#include "cmd/omni_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/options.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/tune.h"
#include "ideal/omnireduce.h"

namespace ringtrue::cmd {
namespace {

constexpr std::uint32_t usual_block = 256, most_block = 1u << 22;
// Of an IP packet: the longest of its headers (IPv6, UDP) and our frame with its tag.
constexpr int around_packet = 48 + 40;

// Halved until a packet of at least one such block fits.
std::uint32_t shrunk(std::uint32_t block, std::uint32_t fusion, std::uint64_t element, std::uint64_t packet) {
  const auto bytes = [&] { return 16 + std::uint64_t(fusion) * (4 + block * element); };
  while (block > 1 && bytes() > packet) block /= 2;
  return block;
}

}  // namespace

std::string_view name(Placement placement) {
  return placement == Placement::dedicated ? "dedicated" : "colocated";
}

Result<Placement> parse_placement(std::string_view text) {
  for (const Placement p : {Placement::dedicated, Placement::colocated}) {
    if (text == name(p)) return p;
  }
  return fail(Cause::bad_input, fmt::format("unknown placement '{}'", text), {},
              "use dedicated (nodes of their own) or colocated (beside the workers)");
}

Result<double> parse_share(std::string_view text) {
  auto share = parse_share_up_to(1, text);
  if (!share) {
    return fail(Cause::bad_input, fmt::format("'{}' is no share", text.substr(0, 40)), {},
                "give 0 to 1, or a percentage such as 1%");
  }
  return share;
}

Result<void> OmniFlags::check(std::string_view algorithm) const {
  if (!input.empty() && generates()) {
    return fail(Cause::bad_input, "--input and --density, --value-density, --overlap exclude each other", {},
                "the file says what is zero");
  }
  if (algorithm == "omnireduce") {
    if (aggregator_hosts && placement == Placement::colocated) {
      return fail(Cause::bad_input, "--aggregator-hosts and --placement colocated exclude each other", {},
                  "give one of them");
    }
    return {};
  }
  const std::pair<bool, std::string_view> shapes[] = {{block.has_value(), "--block"},
                                                      {streams.has_value(), "--streams"},
                                                      {fusion.has_value(), "--fusion"},
                                                      {aggregators.has_value(), "--aggregators"},
                                                      {placement.has_value(), "--placement"},
                                                      {aggregator_hosts.has_value(), "--aggregator-hosts"},
                                                      {acked, "--acked"},
                                                      {mtu.has_value(), "--mtu"},
                                                      {no_ring, "--no-ring"}};
  for (const auto& [given, flag] : shapes) {
    if (!given) continue;
    return fail(Cause::bad_input, fmt::format("{} is of omnireduce, not of {}", flag, algorithm), {},
                fmt::format("leave it out, or take omnireduce"));
  }
  return {};
}

void add_omni_flags(Commands& commands, Command app, OmniFlags& flags) {
  const std::string shape = "omnireduce", data = "What the data holds";
  add_whole(app, "--block", flags.block, 1, most_block, "elements that are sent or left out together (256)")
      .group(shape);
  add_whole(app, "--streams", flags.streams, 1, collective::most_streams,
            "slots, over all aggregators (chosen from the link's rate)")
      .group(shape);
  add_whole(app, "--fusion", flags.fusion, 1, collective::most_fusion, "most blocks in a packet")
      .group(shape);
  add_whole(app, "--aggregators", flags.aggregators, 1, 4096, "aggregators (one a node)").group(shape);
  commands.choices(add_parsed(app, "--placement", flags.placement, parse_placement, "WHERE",
                              "dedicated (nodes of their own) or colocated (beside the workers)")
                       .group(shape),
                   {"dedicated", "colocated"});
  add_text(app, "--aggregator-hosts", flags.aggregator_hosts, "LIST", "nodes for aggregators alone")
      .group(shape);
  app.add_flag("--acked", flags.acked, "every worker answers every round, as where packets may be lost")
      .group(shape);
  add_whole(app, "--mtu", flags.mtu, 576, 65535, "bytes of an IP packet, for udp (1500)").group(shape);
  app.add_flag("--no-ring", flags.no_ring, "do not run the ring on the same data beside it").group(shape);
  add_parsed(app, "--density", flags.density, parse_share, "SHARE", "blocks that are not zero: 0.01, 1%")
      .group(data);
  add_parsed(app, "--value-density", flags.value_density, parse_share, "SHARE",
             "values in them that are not zero")
      .group(data);
  commands.choices(add_parsed(app, "--overlap", flags.overlap, collective::parse_overlap, "HOW",
                              "of the workers' blocks: same, random or disjoint")
                       .group(data),
                   {"same", "random", "disjoint"});
  add_text(app, "--input", flags.input, "FILE",
           "a .npy file for all workers or with a row for each; {rank}: one each")
      .group(data);
}

std::optional<double> OmniFlags::united_density(collective::Rank workers) const {
  if (value_density || !input.empty()) return std::nullopt;
  const double each = density.value_or(1);
  switch (overlap.value_or(collective::Overlap::same)) {
    case collective::Overlap::random:
      return ideal::union_of_random(each, workers);
    case collective::Overlap::disjoint:
      return std::min(1.0, each * workers);
    default:
      return each;
  }
}

Result<OmniChoice> omni_of(const OmniFlags& flags, const collective::Call& call, const OmniWorld& world) {
  collective::Tuning tuning;
  tuning.workers = world.workers;
  tuning.aggregators = world.aggregators;
  tuning.elements = call.elements;
  tuning.type = call.type;
  tuning.rate = world.link_rate;
  if (world.round_trip) tuning.round_trip = *world.round_trip;
  if (world.allowance) tuning.allowance = *world.allowance;
  tuning.acked = flags.acked || world.datagrams;
  tuning.density = world.density;
  tuning.block = flags.block;
  tuning.streams = flags.streams;
  tuning.fusion = flags.fusion;
  OmniChoice out;
  if (world.datagrams) {
    tuning.datagram = std::uint64_t(flags.mtu.value_or(world.mtu) - around_packet);
    if (flags.block) {
      tuning.block = shrunk(*flags.block, flags.fusion.value_or(1), size_of(call.type), tuning.datagram);
      if (*tuning.block < *flags.block)
        out.note = fmt::format("blocks of {} elements instead of {}, so that a packet fits an MTU of {}",
                               *tuning.block, *flags.block, flags.mtu.value_or(world.mtu));
    }
  }
  auto tuned = collective::tune(tuning);
  if (!tuned) return tl::unexpected(tuned.error());
  out.omni = tuned->omni;
  out.reasons = std::move(tuned->reasons);
  if (world.datagrams && out.note.empty() && out.omni.block != flags.block.value_or(usual_block))
    out.note = fmt::format("blocks of {} elements, {} in a packet, so that it fits an MTU of {}",
                           out.omni.block, out.omni.fusion, flags.mtu.value_or(world.mtu));
  return out;
}

collective::Sparsity sparsity_of(const OmniFlags& flags, std::uint32_t block) {
  collective::Sparsity out;
  out.density = flags.density.value_or(1);
  out.value_density = flags.value_density.value_or(1);
  out.overlap = flags.overlap.value_or(collective::Overlap::same);
  out.block = block;
  return out;
}

}  // namespace ringtrue::cmd
