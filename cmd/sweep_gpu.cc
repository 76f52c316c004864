#include "cmd/sweep_gpu.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/gpu_facts.h"
#include "cmd/interrupt.h"
#include "cmd/output.h"
#include "cmd/player.h"
#include "cmd/progress.h"
#include "cmd/unheeded.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

// Too large for the caches of any GPU.
constexpr Bytes usual_size{256u << 20};

int exit_of(const report::GpuSweepDocument& document) {
  if (document.error) return Exit::unknown;
  int code = Exit::healthy;
  for (const diagnosis::Finding& f : document.limits.findings)
    code = std::max<int>(code, f.severity == diagnosis::Severity::critical ? Exit::faulty : Exit::degraded);
  const auto left_out = [](const diagnosis::GpuRate& rate) {
    return rate.limit.why_not.starts_with(trace::left_out);
  };
  const auto& rates = document.limits.rates;
  const bool whole = !interrupted() && std::none_of(rates.begin(), rates.end(), left_out);
  return code == Exit::healthy && !whole ? Exit::unknown : code;
}

}  // namespace

Result<void> refuse_wires(const Context& context, const VerbsFlags& verbs, bool per_port) {
  const auto words = words_of(verbs);
  const Common& common = context.common;
  return refuse("sweep --gpu", {{per_port, "--per-port"},
                                {!words.empty(), words.empty() ? "" : words.front()},
                                {common.memory == "host", "--memory host"},
                                {common.link_rate.has_value(), "--link-rate"},
                                {common.ranks_per_node != 1, "--ranks-per-node"},
                                {common.data_interface.has_value(), "--data-interface"},
                                {common.data_ports.has_value(), "--data-ports"},
                                {common.transport.has_value(), "--transport"}});
}

int sweep_gpus(Context& context, const GpuSweep& what) {
  const std::uint64_t bytes = what.size.value_or(usual_size).value / 4 * 4;
  if (bytes < 4096)
    return failed(context,
                  Error{Cause::bad_input, "a copy has to move something", {}, "give --size 256M or so"});
  auto player = make_player(context, {});
  if (!player) return failed(context, player.error());
  report::GpuSweepDocument document;
  document.nodes = (*player)->nodes();
  document.bytes = bytes;
  document.warning = context.config.warning.value;
  document.critical = context.config.critical.value;

  engine::Job job = (*player)->job();
  std::vector<engine::Seat> one_each;
  for (const engine::Seat& seat : job.seats)
    if (seat.local == 0) one_each.push_back(seat);
  job.seats = std::move(one_each);
  job.memory = engine::Memory::device;
  job.gpu_limits = true;
  job.gpus = what.gpus.gpus;
  job.share_gpus = what.gpus.share;
  job.call.elements = bytes / size_of(job.call.type);
  job.iterations = what.repeats;
  show_progress("sweep: measuring GPUs");
  auto report = (*player)->play(job);
  if (!report) {
    document.error = report.error();
  } else {
    document.notes = report->notes;
    // Who interrupts does not wait for a look at the nodes.
    const topology::Cluster cluster =
        interrupted() ? topology::Cluster() : facts_of_nodes(context, **player, document.notes);
    document.limits =
        diagnosis::judge_gpus(std::move(report->gpu_limits), cluster, document.warning, document.critical);
  }
  player->reset();  // releases the nodes before anything is printed
  clear_progress();
  if (document.error) complain(document.error->error);
  if (!document.error && interrupted()) complain(Error{Cause::cancelled, "interrupted", {}, {}});
  return print(context.common.json ? report::json(document) : report::text(document, context.style),
               exit_of(document));
}

}  // namespace ringtrue::cmd
