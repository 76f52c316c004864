#include "engine/packets/datagram.h"

#include <fmt/format.h>

#include "collective/omnireduce/omnireduce.h"

namespace ringtrue::engine {

namespace {

namespace udp = transport::udp;

// The largest block, at most `max`, with which packets fit into `room` bytes; 0: none does.
std::uint32_t largest_block(collective::Call call, std::uint64_t room, std::uint32_t max) {
  std::uint32_t fits = 0, too_large = max + 1;
  while (too_large - fits > 1) {
    call.omni.block = fits + (too_large - fits) / 2;
    (collective::max_packet(call) <= room ? fits : too_large) = call.omni.block;
  }
  return fits;
}

}  // namespace

Result<void> check_datagrams(const run::Job& job, const collective::Algorithm& algorithm) {
  if (!algorithm.uses_packets())
    return fail(Cause::bad_input, "udp may lose packets; only omnireduce recovers", {},
                "use --transport tcp");
  if (!job.call.omni.acked)
    return fail(Cause::bad_input, "omnireduce over udp without acknowledgements would hang at the first loss",
                {}, "add --acked");
  constexpr std::uint64_t framing = udp::framing_bytes + udp::ipv4_bytes;
  if (job.mtu < 576 || job.mtu > 65'535)
    return fail(Cause::bad_input, fmt::format("no network has packets of {} bytes", job.mtu), {},
                "use an --mtu from 576 to 65535");
  const std::uint64_t room = std::uint64_t(job.mtu) - framing;
  const std::uint64_t max_bytes = collective::max_packet(job.call);
  if (max_bytes <= room) return {};
  if (job.call.omni.pairs > 0)
    return fail(Cause::bad_input,
                fmt::format("packets of {} pairs do not fit an MTU of {}", job.call.omni.pairs, job.mtu), {},
                "use fewer pairs in a packet");
  const std::uint32_t block = largest_block(job.call, room, job.call.omni.block);
  return fail(Cause::bad_input,
              fmt::format("packets of {} bytes do not fit an MTU of {}", max_bytes + framing, job.mtu), {},
              block > 0 ? fmt::format("use --block {} or less, or a smaller --fusion", block)
                        : "use a smaller --fusion");
}

}  // namespace ringtrue::engine
