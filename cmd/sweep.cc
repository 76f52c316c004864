#include <fmt/format.h>

#include <algorithm>

#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/measurer.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "ideal/rates.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  MeasurerFlags measurer;
  Bytes size{16u << 20};
  int iterations = 2;
};

// What a healthy link is held against: what the declared one can carry, or the median of what was seen.
void expect(report::SweepDocument& document, const std::optional<BytesPerSecond>& link_rate) {
  if (link_rate) {
    const auto efficiency = ideal::ethernet_tcp();
    document.expected_Bps = link_rate->value * (efficiency ? efficiency->share : 1);
    document.expected_origin =
        fmt::format("declared {}, {}", to_text(*link_rate), efficiency ? efficiency->source : "");
    return;
  }
  std::vector<double> known;
  for (const auto& row : document.rate_Bps) {
    for (const report::Maybe& rate : row) {
      if (rate) known.push_back(*rate);
    }
  }
  if (known.size() < 3) return;
  std::nth_element(known.begin(), known.begin() + long(known.size() / 2), known.end());
  document.expected_Bps = known[known.size() / 2];
  document.expected_origin = "median of all pairs";
}

int run(Context& context, const Flags& flags) {
  if (flags.size.value < 4) {
    return failed(context,
                  {Error{Cause::bad_input, "a pair has to move something", "", "give --size 16M or so"}, {}});
  }
  auto measurer = make_measurer(context, flags.measurer);
  if (!measurer) return failed(context, measurer.error());
  report::SweepDocument document;
  const int n = (*measurer)->nodes();
  document.bytes = flags.size.value / 4 * 4;
  document.warning = context.config.warning.value;
  document.critical = context.config.critical.value;
  diagnosis::Experiment experiment;
  experiment.algorithm = "pairwise";
  experiment.bytes = Bytes(document.bytes);
  experiment.iterations = flags.iterations;
  for (int node = 0; node < n; ++node) {
    document.nodes.push_back((*measurer)->name(node));
    experiment.order.push_back(node);
  }
  document.rate_Bps.assign(std::size_t(n), std::vector<report::Maybe>(std::size_t(n)));
  document.latency_s = document.rate_Bps;
  for (int shift = 1; shift < n && !document.error; ++shift) {
    show_progress(fmt::format("sweep: shift {} of {}", shift, n - 1));
    experiment.shift = shift;
    auto observation = (*measurer)->measure(experiment);
    if (!observation) {
      document.error = report::Trouble{observation.error(), (*measurer)->failures()};
      break;
    }
    for (const diagnosis::HopReading& hop : observation->hops) {
      if (hop.source < 0 || hop.source >= n || hop.destination < 0 || hop.destination >= n) continue;
      const auto i = std::size_t(hop.source), j = std::size_t(hop.destination);
      if (hop.bytes.value > 0 && hop.busy.value > 0) document.rate_Bps[i][j] = (hop.bytes / hop.busy).value;
      if (hop.latency) document.latency_s[i][j] = hop.latency->value;
    }
  }
  document.transport = (*measurer)->transport();
  measurer->reset();  // releases the nodes before anything is printed
  expect(document, context.config.link_rate.value);
  if (document.error) complain(document.error->error);
  return print(context.common.json ? report::json(document) : report::text(document, context.style),
               document.error ? Exit::unknown : Exit::healthy);
}

}  // namespace

void add_sweep(Commands& commands) {
  CLI::App& app = commands.add("sweep", "Every pair, both directions: the matrix of rates and latencies");
  static Flags flags;
  add_parsed(app, "--size", flags.size, parse_size, "SIZE", "bytes that a pair moves at once");
  add_whole(app, "--iterations", flags.iterations, 1, 100000, "how often");
  add_parsed(app, "--pause", flags.measurer.player.pause, parse_pause, "PHASE=TIME",
             "wait before a phase (for tests)")
      ->group("");
  app.footer("All nodes send at once, each to one other: N - 1 shifts cover every pair.");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
