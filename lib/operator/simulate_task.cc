#include "operator/simulate.h"

#include <fmt/format.h>

#include "base/plural.h"
#include "operator/input_file.h"

namespace ringtrue::ops {

Result<void> check(const SimulateRequest& flags) {
  const CallRequest& call = flags.call;
  const bool barrier = call.algorithm == collective::AlgorithmId::barrier;
  const bool omnireduce = call.algorithm == collective::AlgorithmId::omnireduce;
  const AlgorithmRequest other = flags.compare.value_or(AlgorithmRequest());
  const bool bitmaps = !flags.bitmaps.empty(), file = bitmaps || !flags.omni.input.empty();
  const bool sized = call.size || call.from || call.to;
  const std::string_view algorithm = name(call.algorithm);
  if (auto fits = call.check_shift(other); !fits) return fits;
  if (auto fits = flags.omni.check(call.algorithm); !fits) return fits;
  struct Mistake {
    bool made;
    std::string what, next;
  };
  const Mistake mistakes[] = {
      {flags.grid && !omnireduce, "--grid is for omnireduce", "take omnireduce"},
      {flags.search_threads && !flags.grid, "--search-threads is for --grid", "leave it out, or add --grid"},
      {flags.compare && (!other || other == collective::AlgorithmId::omnireduce || omnireduce),
       "--compare compares two dense collectives, by name", "like --compare ring"},
      {barrier && (sized || call.factor), "a size does nothing in simulate barrier",
       "leave it out: no data moves"},
      {barrier && call.type_given, "--type does nothing in simulate barrier", "leave it out"},
      {flags.fix && flags.faults.fabric.empty() && flags.fabric.random_faults == 0,
       fmt::format("--fix: no fault is at {}", flags.fix ? sim::to_text(*flags.fix) : ""),
       "give a fault there, like --fault 'slow-link@node3>:share=50%'"},
      {!omnireduce && flags.omni.generates(),
       fmt::format("--density, --value-density and --overlap do nothing in simulate {}", algorithm),
       "leave them out, or take omnireduce: all others move zeros, too"},
      {flags.omni.aggregator_hosts.has_value(), "--aggregator-hosts names hosts, and a model has none",
       "use --aggregators and --placement"},
      {bitmaps && !omnireduce, fmt::format("--bitmaps is for omnireduce, not for {}", algorithm),
       "leave it out, or take omnireduce"},
      {flags.even && (!omnireduce || file || flags.omni.overlap || flags.omni.value_density),
       "--even distributes omnireduce's blocks of a --density",
       "leave out files, --overlap and --value-density"},
      {bitmaps && (flags.omni.generates() || !flags.omni.input.empty()),
       "--bitmaps says where the data is zero", "leave out densities and --input"},
      {file && sized, "a file of data and --size, --from, --to exclude each other",
       "the file says how much there is"},
  };
  for (const Mistake& mistake : mistakes)
    if (mistake.made) return fail(Cause::bad_input, mistake.what, {}, mistake.next);
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
