#include "operator/gather.h"

#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"

namespace ringtrue::cmd {
namespace {

int gather(Context& context, ops::GatherRequest request) {
  request.hosts = context.common.given("--hosts");
  auto fits = reject("gather", {common(context, {"--link-rate"}),
                                {{!request.redact && !request.salt.empty(), "--salt", "add --redact"}}});
  if (fits) fits = check_facts(context, request.facts, request.hosts);
  if (!fits) return failed(context, fits.error());
  request.setup = setup_of(context);
  const auto document = ops::gather(request, control({}));
  if (!document) return failed(context, document.error());
  return show(context, *document, document->error ? Exit::unknown : Exit::healthy);
}

}  // namespace

Command gather_command() {
  static ops::GatherRequest request;
  request.facts.window = Seconds(1);
  const Flags flags = {
      text("-o,--output", request.output, "PATH",
           "the file, or the folder where there are several nodes; ringtrue-NODE.rec.gz if not given"),
      toggle("--redact", request.redact, "replace names, addresses and serial numbers by pseudonyms"),
      text("--salt", request.salt, "TEXT",
           "of the pseudonyms: the same for the same salt; drawn at random if not given"),
  };
  return {"gather", "Writes all that the probes read to a file per node, for reports and --from",
          join({fact_flags(request.facts, "1s", false), flags}),
          "Without --hosts: this machine. Nothing is overwritten.\n"
          "Exit code 0 when all nodes were gathered, otherwise 3.\n"
          "Example: ringtrue gather --hosts node[01-16] --redact -o bundles/",
          [](Context& context) { return gather(context, request); }};
}

}  // namespace ringtrue::cmd
