#include "operator/gather.h"

#include "cmd/command.h"
#include "cmd/fact_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

int run(Context& context, ops::GatherRequest request) {
  request.hosts = context.common.hosts.has_value();
  auto status =
      reject_inapplicable("gather", {{context.common.link_rate.has_value(), "--link-rate"},
                                     {!request.redact && !request.salt.empty(), "--salt", "add --redact"}});
  if (status) status = check_facts(context, request.facts, request.hosts);
  if (!status) return failed(context, status.error());
  request.setup = setup_of(context);
  const auto document = ops::gather(request, control({}));
  if (!document) return failed(context, document.error());
  return show(context, *document, document->error ? Exit::unknown : Exit::healthy);
}

}  // namespace

void add_gather(Commands& commands) {
  const Command app =
      commands.add("gather", "Everything that the probes read, as a file a node, for reports and --from");
  static ops::GatherRequest flags;
  flags.facts.window = Seconds(1);
  add_fact_flags(app, flags.facts, false);
  add_text(app, "-o,--output", flags.output, "PATH",
           "the file, or the folder where there are several nodes; ringtrue-NODE.rec.gz if not given");
  app.add_flag("--redact", flags.redact, "stand-ins for names, addresses and serial numbers");
  add_text(app, "--salt", flags.salt, "TEXT",
           "of the stand-ins: the same for the same salt; drawn at random if not given");
  app.footer(
      "Without --hosts: this machine. Nothing is overwritten.\n"
      "Exit code 0 when all nodes were gathered, otherwise 3.\n"
      "Example: ringtrue gather --hosts node[01-16] --redact -o bundles/");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
