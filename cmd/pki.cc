#include "pki/pki.h"

#include "base/hostlist.h"
#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"

namespace ringtrue::cmd {
namespace {

std::string dir, names;
pki::IssueOptions options;

// Certificates are made here, whatever nodes there are.
Result<void> check(const Context& context) {
  return reject(
      "pki",
      {common(context, {"--pki"}, "use --dir for the authority's folder"), running(context, "leave it out"),
       hosts(context, "name them: ringtrue pki issue HOSTLIST"), common(context, {"--link-rate"})});
}

int show_issued(Context& context, const Result<std::vector<pki::Issued>>& issued, std::string next = {}) {
  if (!issued) return failed(context, issued.error());
  return show(context, ops::PkiDocument{*issued, std::move(next)}, Exit::healthy);
}

int init(Context& context) {
  if (auto fits = check(context); !fits) return failed(context, fits.error());
  return show_issued(context, pki::init_authority(dir));
}

int issue(Context& context) {
  if (auto fits = check(context); !fits) return failed(context, fits.error());
  const HostGroups groups = context.config.host_groups();
  auto expanded = expand_hostlist(names, &groups);
  if (!expanded) return failed(context, expanded.error());
  return show_issued(context, pki::issue_certificates(dir, *expanded, options));
}

int revoke(Context& context) {
  if (auto fits = check(context); !fits) return failed(context, fits.error());
  const HostGroups groups = context.config.host_groups();
  auto expanded = expand_hostlist(names, &groups);
  if (!expanded) return failed(context, expanded.error());
  return show_issued(context, pki::revoke_certificates(dir, *expanded),
                     "copy " + dir + "/revoked beside each node's ca.crt and reload its daemon (SIGHUP)");
}

}  // namespace

Command pki_command() {
  const Flags init_flags = {required(text("--dir", dir, "DIR", "folder of the authority; made if missing"))};
  const Flags issue_flags = {
      required(text("--dir", dir, "DIR", "folder of the authority")),
      required(text("HOSTLIST", names, "", "node[01-16], or names of people and programs with --role")),
      parsed("--role", options.role, pki::parse_role, "ROLE",
             "read or run: a certificate of a client of the daemons, instead of a node's", {"read", "run"}),
      whole("--days", options.days, 1, 36500, "days that it is valid"),
  };
  const Flags revoke_flags = {
      required(text("--dir", dir, "DIR", "folder of the authority")),
      required(text("HOSTLIST", names, "", "names that certificates were issued for, or serials")),
  };
  return {
      "pki",
      "Makes the cluster's certificates",
      {},
      {},
      {},
      {{"init", "Makes an authority, and the operator's certificate", init_flags, {}, init},
       {"issue", "Makes a certificate per node, or one for a person or a program", issue_flags, {}, issue},
       {"revoke", "Makes a list of certificates that daemons no longer accept", revoke_flags, {}, revoke}}};
}

}  // namespace ringtrue::cmd
