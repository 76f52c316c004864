#include "operator/omni_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/tune.h"
#include "ideal/omnireduce.h"

namespace ringtrue::ops {
namespace {

constexpr std::uint32_t usual_block = 256;
// Of an IP packet: the longest of its headers (IPv6, UDP) and our frame with its tag.
constexpr int around_packet = 48 + 40;

// Halved until a packet of at least one such block fits.
std::uint32_t shrunk(std::uint32_t block, std::uint32_t fusion, std::uint64_t element, std::uint64_t packet) {
  const auto bytes = [&] { return 16 + std::uint64_t(fusion) * (4 + block * element); };
  while (block > 1 && bytes() > packet) block /= 2;
  return block;
}

}  // namespace

Result<void> OmniRequest::check(AlgorithmRequest algorithm) const {
  if (!input.empty() && generates()) {
    return fail(Cause::bad_input, "--input and --density, --value-density, --overlap exclude each other", {},
                "the file says what is zero");
  }
  if (algorithm == collective::AlgorithmId::omnireduce) {
    if (aggregator_hosts && placement == Placement::colocated) {
      return fail(Cause::bad_input, "--aggregator-hosts and --placement colocated exclude each other", {},
                  "give one of them");
    }
    if (key_bytes && format.value_or(FormatRequest::block) == FormatRequest::block) {
      return fail(Cause::bad_input, "--key-bytes is about pairs, and these are blocks", {},
                  "add --format pairs, or leave it out");
    }
    if (fusion && format == FormatRequest::pairs) {
      return fail(Cause::bad_input, "--fusion is about blocks, and these are pairs", {}, "leave it out");
    }
    return {};
  }
  const std::pair<bool, std::string_view> shapes[] = {{block.has_value(), "--block"},
                                                      {streams.has_value(), "--streams"},
                                                      {fusion.has_value(), "--fusion"},
                                                      {aggregators.has_value(), "--aggregators"},
                                                      {placement.has_value(), "--placement"},
                                                      {aggregator_hosts.has_value(), "--aggregator-hosts"},
                                                      {format.has_value(), "--format"},
                                                      {key_bytes.has_value(), "--key-bytes"},
                                                      {acked, "--acked"},
                                                      {mtu.has_value(), "--mtu"},
                                                      {no_ring, "--no-ring"}};
  for (const auto& [given, flag] : shapes) {
    if (!given) continue;
    return fail(Cause::bad_input, fmt::format("{} is for omnireduce, not for {}", flag, name(algorithm)), {},
                fmt::format("leave it out, or take omnireduce"));
  }
  return {};
}

std::optional<double> OmniRequest::united_density(collective::Rank workers) const {
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

Result<OmniChoice> omni_of(const OmniRequest& flags, const collective::Call& call, const OmniWorld& world) {
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
  tuning.key_bytes = world.key_bytes;
  OmniChoice out;
  if (world.datagrams) {
    tuning.datagram = std::uint64_t(flags.mtu.value_or(world.mtu) - around_packet);
    if (flags.block && world.key_bytes == 0) {
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
  if (world.datagrams && out.note.empty() && out.omni.pairs == 0 &&
      out.omni.block != flags.block.value_or(usual_block))
    out.note = fmt::format("blocks of {} elements, {} in a packet, so that it fits an MTU of {}",
                           out.omni.block, out.omni.fusion, flags.mtu.value_or(world.mtu));
  return out;
}

collective::Sparsity sparsity_of(const OmniRequest& flags, std::uint32_t block) {
  collective::Sparsity out;
  out.density = flags.density.value_or(1);
  out.value_density = flags.value_density.value_or(1);
  out.overlap = flags.overlap.value_or(collective::Overlap::same);
  out.block = block;
  return out;
}

}  // namespace ringtrue::ops
