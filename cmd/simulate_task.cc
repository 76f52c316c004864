#include "cmd/simulate_task.h"

#include <fmt/format.h>

#include "base/plural.h"
#include "cmd/input_file.h"
#include "cmd/unheeded.h"

namespace ringtrue::cmd {

Result<void> check(const SimulateFlags& flags) {
  const bool barrier = flags.call.algorithm == "barrier";
  if (auto known = flags.call.check_algorithm(); !known && !barrier) return known;
  if (!flags.compare.empty()) {
    CallFlags other;
    other.algorithm = flags.compare;
    if (auto known = other.check_algorithm(); !known) return known;
    if (flags.compare == "auto" || flags.compare == "omnireduce" || flags.call.algorithm == "omnireduce") {
      return fail(Cause::bad_input, "--compare is of two dense collectives, by name", {},
                  "like --compare ring");
    }
  }
  if (auto fits = flags.call.check_shift(flags.compare); !fits) return fits;
  if (barrier) {
    const CallFlags& call = flags.call;
    const bool sized = call.size || call.from || call.to || call.factor;
    auto heeded = refuse("simulate barrier", {{sized, "a size", "leave it out: no data moves"},
                                              {call.type_given.has_value(), "--type"}});
    if (!heeded) return heeded;
  }
  if (flags.fix && flags.faults.fabric.empty() && flags.fabric.random_faults == 0) {
    return fail(Cause::bad_input, fmt::format("no fault is at {}", sim::to_text(*flags.fix)), "--fix",
                "give a fault there, like --fault 'slow-link@node3>:share=50%'");
  }
  if (auto fits = flags.omni.check(flags.call.algorithm); !fits) return fits;
  if (flags.call.algorithm != "omnireduce" && flags.omni.generates()) {
    return fail(Cause::bad_input,
                fmt::format("--density, --value-density and --overlap do nothing in simulate {}",
                            flags.call.algorithm),
                {}, "leave them out, or take omnireduce: all others move zeros, too");
  }
  const bool file = !flags.bitmaps.empty() || !flags.omni.input.empty();
  if (flags.omni.aggregator_hosts) {
    return fail(Cause::bad_input, "--aggregator-hosts names hosts, and a model has none", {},
                "use --aggregators and --placement");
  }
  if (!flags.bitmaps.empty() && flags.call.algorithm != "omnireduce") {
    return fail(Cause::bad_input, fmt::format("--bitmaps is of omnireduce, not of {}", flags.call.algorithm),
                {}, "leave it out, or take omnireduce");
  }
  if (flags.even &&
      (flags.call.algorithm != "omnireduce" || file || flags.omni.overlap || flags.omni.value_density)) {
    return fail(Cause::bad_input, "--even deals out omnireduce's blocks of a --density", {},
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

Result<void> check_common(const Context& context, const SimulateFlags& flags) {
  if (auto heeded = refuse_playing(context, "simulate", "use --nodes and --gpus-per-node"); !heeded)
    return heeded;
  constexpr std::string_view next = "leave one out";
  const bool rate = context.common.link_rate.has_value();
  const bool draws = flags.noise > 0 || flags.run_noise > 0 || flags.faulty() || flags.grid ||
                     flags.fabric.random_faults > 0 || flags.call.algorithm == "omnireduce";
  auto heeded =
      refuse("simulate",
             {{flags.call.events && !context.common.json, "--events", "add --json, which they are shown in"},
              {flags.seed && !draws, "--seed", "leave it out: nothing is drawn"},
              {rate && flags.fabric.has("inter"), "--link-rate beside --inter", next},
              {rate && flags.fabric.has("nic"), "--link-rate beside --nic", next},
              {rate && flags.fabric.has("preset"), "--link-rate beside --preset", next}});
  if (!heeded) return heeded;
  const auto& topology = flags.fabric.topology;
  if (topology.size() == 1 && topology[0] == "probe") return {};
  return refuse_hosts(context, "simulate", "add --topology probe, or leave it out");
}

Result<SimulateTask> task_of(const SimulateFlags& flags, int workers) {
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

}  // namespace ringtrue::cmd
