#include "cmd/metrics_flags.h"

#include <fmt/format.h>

#include "history/time.h"
#include "metrics/textfile.h"
#include "report/metrics.h"

namespace ringtrue::cmd {

Flags metrics_flags(MetricsFlags& flags) {
  return {
      text("--metrics-file", flags.file, "FILE.prom",
           "write results for Prometheus there after each check, whole at any time (node_exporter's textfile "
           "collector reads it)"),
      toggle(
          "--metrics-paths", flags.paths,
          fmt::format("with it: a series a path, of {} nodes at most", ops::most_nodes_with_path_metrics))};
}

Result<void> fits(const MetricsFlags& flags) {
  if (flags.file) return metrics::fits_textfile(*flags.file);
  if (flags.paths)
    return fail(Cause::bad_input, "--metrics-paths does nothing without --metrics-file", {}, "give both");
  return {};
}

Result<void> write_metrics(const MetricsFlags& flags, ops::MetricsRequest request,
                           const ops::CheckDocument* document) {
  if (!flags.file) return {};
  if (flags.paths && document && document->diagnosis.nodes.size() > ops::most_nodes_with_path_metrics)
    return fail(Cause::bad_input,
                fmt::format("no metrics of paths of {} nodes: {} have a series each",
                            document->diagnosis.nodes.size(),
                            document->diagnosis.nodes.size() * (document->diagnosis.nodes.size() - 1)),
                {}, "leave --metrics-paths out");
  request.paths = flags.paths;
  request.version = RINGTRUE_VERSION;
  return metrics::write_textfile(
      *flags.file, report::metrics(ops::metrics_of(request, document, history::wall_clock_us())));
}

}  // namespace ringtrue::cmd
