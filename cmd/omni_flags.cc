#include "cmd/omni_flags.h"

#include <fmt/format.h>

#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/tune.h"

namespace ringtrue::cmd {
namespace {

using ops::Placement;

constexpr std::uint32_t most_block = 1u << 22;

Result<Placement> parse_placement(std::string_view text) {
  for (const Placement p : {Placement::dedicated, Placement::colocated}) {
    if (text == name(p)) return p;
  }
  return fail(Cause::bad_input, fmt::format("unknown placement '{}'", text), {},
              "use dedicated (nodes of their own) or colocated (beside the workers)");
}

// "0.01", "1%": a share, 0 to 1.
Result<double> parse_share(std::string_view text) {
  auto share = parse_share_up_to(1, text);
  if (!share) {
    return fail(Cause::bad_input, fmt::format("'{}' is no share", text.substr(0, 40)), {},
                "give 0 to 1, or a percentage such as 1%");
  }
  return share;
}

}  // namespace

void add_omni_flags(Commands& commands, Command app, ops::OmniRequest& flags) {
  const std::string shape = "omnireduce", data = "What the data holds";
  add_whole(app, "--block", flags.block, 1, most_block, "elements that are sent or left out together (256)")
      .group(shape);
  add_whole(app, "--streams", flags.streams, 1, collective::max_streams,
            "slots, over all aggregators (chosen from the link's rate)")
      .group(shape);
  add_whole(app, "--fusion", flags.fusion, 1, collective::max_fusion, "most blocks in a packet").group(shape);
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

}  // namespace ringtrue::cmd
