#include "cmd/facts.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/unheeded.h"
#include "fleet/inspect.h"
#include "topology/format/format.h"
#include "topology/merge.h"
#include "topology/probe/live.h"
#include "topology/probe/probe.h"

namespace ringtrue::cmd {
namespace {

std::string name_here(const Context& context) {
  if (!context.config.daemon.node.value.empty()) return context.config.daemon.node.value;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return *host ? host : "localhost";
}

// This machine as a cluster of one.
Result<topology::Cluster> cluster_here(const Context& context, const FactFlags& flags) {
  const auto recording = record_here(context, flags);
  if (!recording) return tl::unexpected(recording.error());
  topology::Cluster here;
  here.nodes.push_back(topology::probe(*recording));
  topology::RecordedSource source(*recording);
  here.fabric = topology::probe_fabric(source, here.nodes.front());
  return topology::merge({std::move(here)});  // ports meet the fabric
}

}  // namespace

void add_fact_flags(Command app, FactFlags& flags, bool files) {
  if (files) {
    app.add_texts("--from", flags.from, "FILE",
                  "files instead: hwloc XML, NCCL's topology XML, ibnetdiscover's output, bundles of gather, "
                  "topo --json");
  }
  add_parsed(
      app, "--window", flags.window,
      [](std::string_view text) -> Result<Seconds> {
        auto window = parse_duration(text);
        if (window && window->value > 60)
          return fail(Cause::bad_input, fmt::format("a window of {}", to_text(*window)), "",
                      "take at most 60s");
        return window;
      },
      "TIME", "read the counters twice, so far apart; 0: once");
  app.add_flag("--wake-gpus", flags.wake_gpus, "ask NVML even where that wakes sleeping GPUs");
  add_text(app, "--root", flags.root, "DIR", "a tree of /sys and /proc instead of this machine's (for tests)")
      .group("");
}

Result<topology::Recording> record_here(const Context& context, const FactFlags& flags) {
  topology::LiveOptions options;
  options.root = flags.root;
  options.wake_gpus = flags.wake_gpus;
  return topology::read_this_machine(options, name_here(context), flags.window.value_or(Seconds(0)));
}

Seconds long_patience(const FactFlags& flags) {
  topology::LiveOptions options;
  options.wake_gpus = flags.wake_gpus;
  return topology::longest_reading(options) + Seconds(2);  // its daemon says why before that
}

Facts ask_facts(const std::vector<fleet::Target>& targets, const fleet::Options& options,
                const FactFlags& flags, Seconds patience) {
  const std::int64_t began = now_ns();
  Facts facts;
  fleet::InspectOptions what;
  what.window = flags.window.value_or(Seconds(0));
  what.wake_gpus = flags.wake_gpus;
  what.deadline = patience;
  std::vector<topology::Cluster> parts;
  for (fleet::NodeInspection& node : fleet::inspect(targets, options, what)) {
    facts.nodes.push_back(node.node);
    if (node.facts)
      parts.push_back(std::move(*node.facts));
    else
      facts.failures.push_back({node.node, "inspect", node.facts.error(), true});
  }
  clear_progress();
  facts.cluster = topology::merge(std::move(parts));
  facts.seconds = seconds_since(began).value;
  return facts;
}

Facts facts_beside(const Context& context, const PlayerOptions& options) {
  Facts facts;
  if (context.common.local) {
    auto here = cluster_here(context, {});
    if (here)
      facts.cluster = std::move(*here);
    else
      facts.failures.push_back({"this machine", "inspect", here.error(), true});
    return facts;
  }
  const auto nodes = nodes_of(context, options);
  if (!nodes) return facts;  // they were there for the measurement
  return ask_facts(nodes->targets, fleet_options(context, {}, *nodes), {}, long_patience({}));
}

Result<void> check_facts(const Context& context, const FactFlags& flags, bool hosts) {
  const std::string& command = context.command;
  const bool files = !flags.from.empty();
  if (auto heeded = refuse_playing(context, command, "leave it out: nothing is played"); !heeded)
    return heeded;
  if (files && context.common.hosts)
    return fail(Cause::bad_input, "--from and --hosts exclude each other", "", "leave one out");
  if (files || !hosts) {
    const std::string where = command + (files ? " --from" : " without --hosts");
    if (auto heeded = refuse_hosts(context, where, "leave it out"); !heeded) return heeded;
  }
  if (!files) return {};
  return refuse(command + " --from",
                {{flags.window.has_value(), "--window"}, {flags.wake_gpus, "--wake-gpus"}});
}

Played<Facts> read_facts(const Context& context, const FactFlags& flags, bool hosts) {
  const auto fault = [](Error error) { return tl::unexpected(report::Trouble{std::move(error), {}}); };
  const std::int64_t began = now_ns();
  Facts facts;
  if (auto heeded = check_facts(context, flags, hosts); !heeded) return fault(heeded.error());
  if (!flags.from.empty()) {
    auto cluster = topology::load(flags.from);
    if (!cluster) return fault(cluster.error());
    facts.cluster = std::move(*cluster);
  } else if (hosts) {
    auto targets = targets_of(context);
    if (!targets) return fault(targets.error());
    facts = ask_facts(*targets, fleet_options(context, {}, {}), flags, long_patience(flags));
    if (facts.failures.size() == facts.nodes.size()) return tl::unexpected(*trouble_of(facts));
    return facts;
  } else {
    auto here = cluster_here(context, flags);
    if (!here) return fault(here.error());
    facts.cluster = std::move(*here);
  }
  for (const topology::Node& node : facts.cluster.nodes) facts.nodes.push_back(node.name);
  facts.seconds = seconds_since(began).value;
  return facts;
}

Result<diagnosis::Inspection> inspect(const Context& context, const Facts& facts) {
  diagnosis::InspectThresholds thresholds;
  for (const auto& [name, setting] : context.config.inspect) {
    if (auto known = diagnosis::set(thresholds, name, setting.value); !known) {
      Error error = known.error();
      error.where = setting.origin;
      return tl::unexpected(std::move(error));
    }
  }
  diagnosis::Inspection inspection = diagnosis::inspect(facts.cluster, thresholds);
  for (const report::Failure& f : facts.failures)
    inspection.not_checked.push_back({fmt::format("what is in {}", f.node), f.error.what});
  return inspection;
}

std::optional<report::Trouble> trouble_of(const Facts& facts) {
  if (facts.failures.empty()) return std::nullopt;
  const report::Failure& first = facts.failures.front();
  Error error = first.error;
  error.where = first.node;
  if (facts.failures.size() > 1)
    error.what += fmt::format(" (and {})", plural(facts.failures.size() - 1, "more node"));
  return report::Trouble{std::move(error), facts.failures};
}

}  // namespace ringtrue::cmd
