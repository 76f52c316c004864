#include "operator/simulate.h"

#include <fmt/format.h>

#include "base/plural.h"
#include "operator/input_file.h"

namespace ringtrue::ops {

Result<void> check(const SimulateRequest& flags) {
  const bool barrier = flags.call.algorithm == collective::AlgorithmId::barrier;
  const bool omnireduce = flags.call.algorithm == collective::AlgorithmId::omnireduce;
  const AlgorithmRequest other = flags.compare.value_or(AlgorithmRequest());
  if (flags.compare && (!other || other == collective::AlgorithmId::omnireduce || omnireduce))
    return fail(Cause::bad_input, "--compare compares two dense collectives, by name", {},
                "like --compare ring");
  if (auto fits = flags.call.check_shift(other); !fits) return fits;
  if (barrier) {
    const CallRequest& call = flags.call;
    const bool sized = call.size || call.from || call.to || call.factor;
    if (sized)
      return fail(Cause::bad_input, "a size does nothing in simulate barrier", {},
                  "leave it out: no data moves");
    if (call.type_given)
      return fail(Cause::bad_input, "--type does nothing in simulate barrier", {}, "leave it out");
  }
  if (flags.fix && flags.faults.fabric.empty() && flags.fabric.random_faults == 0) {
    return fail(Cause::bad_input, fmt::format("no fault is at {}", sim::to_text(*flags.fix)), "--fix",
                "give a fault there, like --fault 'slow-link@node3>:share=50%'");
  }
  if (auto fits = flags.omni.check(flags.call.algorithm); !fits) return fits;
  if (!omnireduce && flags.omni.generates()) {
    return fail(Cause::bad_input,
                fmt::format("--density, --value-density and --overlap do nothing in simulate {}",
                            name(flags.call.algorithm)),
                {}, "leave them out, or take omnireduce: all others move zeros, too");
  }
  const bool file = !flags.bitmaps.empty() || !flags.omni.input.empty();
  if (flags.omni.aggregator_hosts) {
    return fail(Cause::bad_input, "--aggregator-hosts names hosts, and a model has none", {},
                "use --aggregators and --placement");
  }
  if (!flags.bitmaps.empty() && !omnireduce) {
    return fail(Cause::bad_input,
                fmt::format("--bitmaps is for omnireduce, not for {}", name(flags.call.algorithm)), {},
                "leave it out, or take omnireduce");
  }
  if (flags.even && (!omnireduce || file || flags.omni.overlap || flags.omni.value_density)) {
    return fail(Cause::bad_input, "--even distributes omnireduce's blocks of a --density", {},
                "leave out files, --overlap and --value-density");
  }
  if (!flags.bitmaps.empty() && (flags.omni.generates() || !flags.omni.input.empty())) {
    return fail(Cause::bad_input, "--bitmaps says where the data is zero", {},
                "leave out densities and --input");
  }
  if (file && (flags.call.size || flags.call.from || flags.call.to)) {
    return fail(Cause::bad_input, "a file of data and --size, --from, --to exclude each other", {},
                "the file says how much there is");
  }
  return {};
}

Result<SimulateTask> task_of(const SimulateRequest& flags, int workers) {
  if (auto fits = check(flags); !fits) return tl::unexpected(fits.error());
  SimulateTask out;
  if (!flags.bitmaps.empty()) {
    auto bitmaps = read_bitmaps(flags.bitmaps);
    if (!bitmaps) return tl::unexpected(bitmaps.error());
    out.bitmaps = std::make_shared<const Bitmaps>(std::move(*bitmaps));
    out.sizes = {0};
  } else if (!flags.omni.input.empty()) {
    auto input = input_of(flags.omni.input, workers, flags.call.type_given);
    if (!input) return tl::unexpected(input.error());
    const std::size_t rows = input->input->rows.size();
    if (rows != 1 && int(rows) != workers) {
      return fail(Cause::bad_input, fmt::format("{} has {} for {}", flags.omni.input, plural(rows, "row"),
                                                plural(workers, "worker")));
    }
    out.input = std::move(input->input);
    out.note = std::move(input->note);
    out.sizes = {out.input->elements * size_of(out.input->type)};
  } else {
    auto sizes = flags.call.sizes();
    if (!sizes) return tl::unexpected(sizes.error());
    out.sizes = std::move(*sizes);
  }
  return out;
}

}  // namespace ringtrue::ops
