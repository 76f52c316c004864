#include "pki/pki.h"

#include "base/hostlist.h"
#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  std::string dir;
  std::string names;
  pki::IssueOptions issue;
};

// Certificates are made here, whatever nodes there are.
Result<void> check(const Context& context) {
  if (context.common.pki)
    return fail(Cause::bad_input, "--pki does nothing in pki", {}, "use --dir for the authority's folder");
  if (auto status = reject_playing(context, "pki", "leave it out"); !status) return status;
  if (auto status = reject_hosts(context, "pki", "name them: ringtrue pki issue HOSTLIST"); !status)
    return status;
  return reject_inapplicable("pki", {{context.common.link_rate.has_value(), "--link-rate"}});
}

int show(Context& context, const Result<std::vector<pki::Issued>>& issued) {
  if (!issued) return failed(context, issued.error());
  report::PkiDocument document;
  for (const pki::Issued& i : *issued) document.certificates.push_back({i.name, i.folder, i.until});
  return print(context.common.json ? report::json(document) : report::text(document, context.style),
               Exit::healthy);
}

}  // namespace

void add_pki(Commands& commands) {
  static Flags flags;
  const Command app = commands.add("pki", "The cluster's certificates");

  const Command init = commands.add("init", "An authority, and the operator's certificate", app);
  add_text(init, "--dir", flags.dir, "DIR", "folder of the authority; made where it is missing").required();
  commands.on(init, [](Context& context) {
    if (auto status = check(context); !status) return failed(context, status.error());
    return show(context, pki::init_authority(flags.dir));
  });

  const Command issue =
      commands.add("issue", "One certificate a node, or one for a person or a program", app);
  add_text(issue, "--dir", flags.dir, "DIR", "folder of the authority").required();
  add_text(issue, "HOSTLIST", flags.names, "", "node[01-16], or names of people and programs with --role")
      .required();
  commands.choices(add_parsed(issue, "--role", flags.issue.role, pki::parse_role, "ROLE",
                              "read or run: a certificate that asks daemons, instead of a node's"),
                   {"read", "run"});
  add_whole(issue, "--days", flags.issue.days, 1, 36500, "valid for so long");
  commands.on(issue, [](Context& context) {
    if (auto status = check(context); !status) return failed(context, status.error());
    const HostGroups groups = context.config.host_groups();
    auto names = expand_hostlist(flags.names, &groups);
    if (!names) return failed(context, names.error());
    return show(context, pki::issue_certificates(flags.dir, *names, flags.issue));
  });
}

}  // namespace ringtrue::cmd
