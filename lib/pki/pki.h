// The certificates of a cluster: who may ask its daemons for what.
//
//   DIR/ca.crt, ca.key                           the authority; ca.key never leaves this folder
//   DIR/operator/{ca.crt,operator.crt,operator.key}   made with it: role run
//   DIR/NODE/{ca.crt,node.crt,node.key}          one folder a node, to be copied there
//   DIR/NAME/{ca.crt,operator.crt,operator.key}  a person's or a program's, of role read or run
//   DIR/NAME/serials                             of all that were issued for it; stays with the authority
//   DIR/revoked                                  serials that count no more; a copy beside each node's ca.crt
//
// The role is the subject's OU: "role:run" may run, "role:read" may only ask what a node is, "role:node" is
// a daemon's own. Certificates are valid from two days back, so that a clock that is a day off does no harm.
// Keys have mode 0600, certificates 0644, folders 0700; each file is written aside and renamed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/result.h"

namespace ringtrue::pki {

enum class Role { none, read, run, node };

Result<Role> parse_role(std::string_view text);  // "read" or "run"
// The role that a certificate (PEM) or a subject's OU ("role:run") grants. None where there is no single one.
Role role_of(const std::string& pem_or_unit);

struct Issued {
  std::string name;
  std::string folder;
  std::string until;  // "2028-11-20 00:09 UTC"
};

// Makes an authority and the operator's certificate. Creates `dir` where it is missing.
// bad_input where there is an authority already: it is never overwritten.
Result<std::vector<Issued>> init_authority(const std::string& dir);

struct IssueOptions {
  // Empty: certificates for nodes. Otherwise for people or programs of these names, with this role.
  std::optional<Role> role;
  std::optional<int> days;  // from today; 825 where not given, never longer than the authority's own
};

// "node3:7465" is the host "node3"; addresses of IPv6 stay.
std::string without_port(const std::string& name);

// One certificate a name (see the folders above); replaces a former one of the same name. A port in a name
// ("node3:7465") is left away: certificates are for hosts.
Result<std::vector<Issued>> issue_certificates(const std::string& dir, const std::vector<std::string>& names,
                                               const IssueOptions& options);

// Adds all certificates that were issued for each name, or the serials that are given instead of names, to
// DIR/revoked.
Result<std::vector<Issued>> revoke_certificates(const std::string& dir,
                                                const std::vector<std::string>& names_or_serials);

using Serials = std::set<std::string>;
// Of the file `revoked` in `dir`; none where there is no such file. bad_input for a line that is no serial.
Result<Serials> load_revoked(const std::string& dir);

// Who shows a certificate.
struct Identity {
  Role role = Role::none;
  std::string name;
  std::int64_t until = 0;  // seconds since 1970
};
// Whether a certificate counts now: this authority's, valid, not revoked. A TLS handshake that was resumed,
// and a connection that stands, have not been asked since they began. Cause::refused says why not.
Result<Identity> identify(const std::string& certificate_pem, const std::string& authority_pem,
                          const Serials& revoked, std::int64_t now);

// What gRPC wants, as PEM.
struct PemBundle {
  std::string ca;
  std::string cert;
  std::string key;
  std::string folder{};  // that they are from
};

// From `dir`, or from `dir`/`node` where `dir` is the authority's. Checked: all three files can be read, the
// key fits, the authority signed the certificate, it is valid today, and it is for `node` (unless empty).
Result<PemBundle> load_node_credentials(const std::string& dir, const std::string& node);
// Where an operator's are looked for if no folder is named: ~/.config/ringtrue/pki, or, where that is not
// there, /etc/ringtrue/pki.
std::string usual_folder();
// From `dir`, or from `dir`/operator. Checked likewise.
Result<PemBundle> load_operator_credentials(const std::string& dir);

// True where a certificate with these names may speak for `host`.
bool certificate_is_for(const std::vector<std::string>& hosts, const std::string& host);

}  // namespace ringtrue::pki

namespace ringtrue {

template <>
inline constexpr const char* keys_of<pki::Role>[] = {"none", "read", "run", "node"};

}  // namespace ringtrue
