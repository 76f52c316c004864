// The certificates of a cluster: who may ask its daemons for what.
//
//   DIR/ca.crt, ca.key                           the authority; ca.key never leaves this folder
//   DIR/operator/{ca.crt,operator.crt,operator.key}   made with it: role run
//   DIR/NODE/{ca.crt,node.crt,node.key}          one folder a node, to be copied there
//   DIR/NAME/{ca.crt,operator.crt,operator.key}  a person's or a program's, of role read or run
//
// The role is the subject's OU: "role:run" may run, "role:read" may only ask what a node is, "role:node" is
// a daemon's own. Certificates are valid from two days back, so that a clock that is a day off does no harm.
// Keys have mode 0600, certificates 0644; each file is written aside and renamed.
#pragma once

#include <optional>
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

// One certificate a name (see the folders above); replaces a former one of the same name. A port in a name
// ("node3:7465") is left away: certificates are for hosts.
Result<std::vector<Issued>> issue_certificates(const std::string& dir, const std::vector<std::string>& names,
                                               const IssueOptions& options);

// What gRPC wants, as PEM.
struct PemBundle {
  std::string ca;
  std::string cert;
  std::string key;
};

// From `dir`, or from `dir`/`node` where `dir` is the authority's. Checked: all three files can be read, the
// key fits, the authority signed the certificate, it is valid today, and it is for `node` (unless empty).
Result<PemBundle> load_node_credentials(const std::string& dir, const std::string& node);
// From `dir`, or from `dir`/operator. Checked likewise.
Result<PemBundle> load_operator_credentials(const std::string& dir);

// True where a certificate with these names may speak for `host`.
bool certificate_is_for(const std::vector<std::string>& hosts, const std::string& host);

}  // namespace ringtrue::pki

namespace ringtrue {

template <>
inline constexpr const char* keys_of<pki::Role>[] = {"none", "read", "run", "node"};

}  // namespace ringtrue
