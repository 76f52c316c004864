#include "pki/pki.h"

#include <algorithm>

#include "base/hostlist.h"
#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "pki/deploy.h"

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

Result<std::vector<std::string>> expand(const Context& context, const std::string& list) {
  const HostGroups groups = context.config.host_groups();
  return expand_hostlist(list, &groups);
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
  auto expanded = expand(context, names);
  if (!expanded) return failed(context, expanded.error());
  return show_issued(context, pki::issue_certificates(dir, *expanded, options));
}

int revoke(Context& context) {
  if (auto fits = check(context); !fits) return failed(context, fits.error());
  auto expanded = expand(context, names);
  if (!expanded) return failed(context, expanded.error());
  return show_issued(context, pki::revoke_certificates(dir, *expanded),
                     "copy " + dir + "/revoked beside each node's ca.crt and reload its daemon (SIGHUP)");
}

pki::DeployOptions deployment;

// Here --hosts names nodes to ssh to, whatever daemons there are.
int deploy(Context& context) {
  const auto fits =
      reject("pki deploy", {common(context, {"--pki"}, "use --dir for the authority's folder"),
                            running(context, "leave it out"), common(context, {"--link-rate"})});
  if (!fits) return failed(context, fits.error());
  const std::string& hosts = context.config.hosts.value;
  if (hosts.empty())
    return failed(context, Error{Cause::bad_input, "no hosts", "--hosts", "name them: --hosts node[01-16]"});
  auto expanded = expand(context, hosts);
  if (!expanded) return failed(context, expanded.error());
  auto deployed = pki::deploy(dir, *expanded, deployment);
  if (!deployed) return failed(context, deployed.error());
  const bool all = std::ranges::none_of(
      *deployed, [](const pki::Deployed& node) { return node.state == pki::DeployState::failed; });
  return show(context, ops::DeployDocument{std::move(*deployed)}, all ? Exit::healthy : Exit::unknown);
}

}  // namespace

Command pki_command() {
  const Flags init_flags = {required(text("--dir", dir, "DIR", "folder of the authority; made if missing"))};
  const Flags issue_flags = {
      required(text("--dir", dir, "DIR", "folder of the authority")),
      required(text("HOSTLIST", names, "", "node[01-16], or names of people and programs with --role")),
      parsed("--role", options.role, pki::parse_role, "ROLE",
             "read or run: a certificate of a client of the daemons, instead of a node's", {"read", "run"}),
      whole("--days", options.days, 1, 36500,
            "days that it is valid, at most as long as the authority (825)"),
  };
  const Flags revoke_flags = {
      required(text("--dir", dir, "DIR", "folder of the authority")),
      required(text("HOSTLIST", names, "", "names that certificates were issued for, or serials")),
  };
  const Flags deploy_flags = {
      required(text("--dir", dir, "DIR", "folder of the authority")),
      text("--to", deployment.to, "DIR", "folder on the nodes (/etc/ringtrue/pki)"),
      text("--ssh", deployment.ssh, "COMMAND",
           "what runs a command on a host (ssh -o BatchMode=yes -o ConnectTimeout=10)"),
      toggle("--sudo", deployment.sudo, "use sudo on the nodes, which must not ask for a password"),
      toggle("--start", deployment.start, "enable and start the daemon's service where it does not run"),
      whole("--renew-before", deployment.renew_before, 0, 36500,
            "days: certificates that end earlier are issued anew (30)"),
  };
  return {
      "pki",
      "Makes the cluster's certificates",
      {},
      {},
      {},
      {{"init", "Makes an authority, and the operator's certificate", init_flags, {}, init},
       {"issue", "Makes a certificate per node, or one for a person or a program", issue_flags, {}, issue},
       {"revoke", "Makes a list of certificates that daemons no longer accept", revoke_flags, {}, revoke},
       {"deploy", "Brings each node its certificate, and the list of those that count no more, over ssh",
        deploy_flags,
        "What a node has already stays; what is missing or ends soon is issued. Exit code 3 where a node "
        "failed.\n"
        "Example: ringtrue pki deploy --dir pki --hosts node[01-16] --start",
        deploy}}};
}

}  // namespace ringtrue::cmd
