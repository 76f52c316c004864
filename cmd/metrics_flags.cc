#include "cmd/metrics_flags.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "metrics/textfile.h"
#include "report/metrics.h"

namespace ringtrue::cmd {

Flags metrics_flags(MetricsFlags& flags) {
  return {
      text("--metrics-file", flags.file, "FILE.prom",
           "write results for Prometheus there after each check, whole at any time (node_exporter's textfile "
           "collector reads it)"),
      toggle("--metrics-rails", flags.rails, "with it: series of each port that RDMA went through"),
      toggle(
          "--metrics-paths", flags.paths,
          fmt::format("with it: a series a path, of {} nodes at most", ops::most_nodes_with_path_metrics))};
}

Flags metrics_page_flags(MetricsFlags& flags) {
  return {
      text("--metrics", flags.address, "ADDRESS:PORT",
           "serve them as a page for Prometheus (port 9464 where none is given); on loopback by plain HTTP"),
      text("--metrics-pki", flags.pki, "DIR",
           "for other addresses: this host's ca.crt, node.crt and node.key, for TLS with certificates of "
           "both sides")};
}

Result<void> fits(const MetricsFlags& flags) {
  if (flags.pki && !flags.address)
    return fail(Cause::bad_input, "--metrics-pki does nothing without --metrics", {}, "give both");
  if ((flags.rails || flags.paths) && !flags.file && !flags.address)
    return fail(
        Cause::bad_input,
        fmt::format("--metrics-{} does nothing without --metrics-file", flags.rails ? "rails" : "paths"), {},
        "give both");
  if (flags.file) return metrics::fits_textfile(*flags.file);
  return {};
}

Result<void> write_metrics(const MetricsFlags& flags, ops::MetricsRequest request,
                           const ops::CheckDocument* document, MetricsPage* page) {
  if (!flags.file && !page) return {};
  if (flags.paths && document && document->diagnosis.nodes.size() > ops::most_nodes_with_path_metrics)
    return fail(Cause::bad_input,
                fmt::format("no metrics of paths of {} nodes: {} have a series each",
                            document->diagnosis.nodes.size(),
                            document->diagnosis.nodes.size() * (document->diagnosis.nodes.size() - 1)),
                {}, "leave --metrics-paths out");
  request.rails = flags.rails;
  request.paths = flags.paths;
  request.version = RINGTRUE_VERSION;
  const std::string text = report::metrics(ops::metrics_of(request, document, wall_clock_us()));
  if (page) page->show(text);
  return flags.file ? metrics::write_textfile(*flags.file, text) : Result<void>();
}

}  // namespace ringtrue::cmd
