#include <algorithm>

#include "diagnosis/findings/combine.h"
#include "operator/facts.h"
#include "operator/runner.h"
#include "operator/sweep.h"
#include "run/job.h"

namespace ringtrue::ops {
namespace {

// Too large for the caches of any GPU.
constexpr Bytes usual_size{256u << 20};

}  // namespace

Outcome<GpuSweepDocument> sweep_gpus(const GpuSweepRequest& request, const Control& control) {
  const Setup& setup = request.setup;
  const std::uint64_t bytes = request.size.value_or(usual_size).value / 4 * 4;
  if (bytes < 4096)
    return trouble({Cause::bad_input, "--size is less than 4K", {}, "give --size 256M or so"});
  auto runner = make_runner(setup, {}, control);
  if (!runner) return tl::unexpected(runner.error());
  GpuSweepDocument document;
  document.nodes = (*runner)->place().nodes;
  document.bytes = bytes;
  document.warning = setup.config.warning.value;
  document.critical = setup.config.critical.value;

  run::Job job = (*runner)->job();
  std::vector<run::Seat> one_each;
  for (const run::Seat& seat : job.seats)
    if (seat.local == 0) one_each.push_back(seat);
  job.seats = std::move(one_each);
  job.memory = run::Memory::device;
  job.gpu_limits = true;
  job.gpus = request.gpus.gpus;
  job.share_gpus = request.gpus.share;
  job.call.elements = bytes / size_of(job.call.type);
  job.iterations = request.repeats;
  control.tell(progress::Step{"sweep: measuring GPUs"});
  auto report = (*runner)->play(job);
  if (!report) {
    document.error = report.error();
  } else {
    document.notes = report->notes;
    // Who interrupts does not wait for a look at the nodes.
    const topology::Cluster cluster =
        control.stopped() ? topology::Cluster() : facts_of_nodes(setup, **runner, control, document.notes);
    document.limits =
        diagnosis::rate_gpus(std::move(report->gpu_limits), cluster, document.warning, document.critical);
  }
  runner->reset();  // releases the nodes before anything is printed
  document.interrupted = control.stopped();
  return document;
}

diagnosis::Verdict verdict_of(const GpuSweepDocument& document) {
  using diagnosis::Verdict;
  if (document.error) return Verdict::unknown;
  if (const auto verdict = diagnosis::verdict_of(document.limits.findings); verdict != Verdict::healthy)
    return verdict;
  const auto& rates = document.limits.rates;
  const bool left_out = std::any_of(rates.begin(), rates.end(), [](const diagnosis::GpuRate& rate) {
    return rate.limit.why_not.starts_with(run::left_out);
  });
  return document.interrupted || left_out ? Verdict::unknown : Verdict::healthy;
}

}  // namespace ringtrue::ops
