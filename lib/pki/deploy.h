// A fleet's certificates to where its daemons look for them, over ssh.
#pragma once

#include <string>
#include <vector>

#include "base/hostlist.h"
#include "base/keys.h"
#include "base/result.h"
#include "base/units.h"

namespace ringtrue::pki {

enum class DeployState { unchanged, deployed, failed };

struct Deployed {
  std::string node;
  DeployState state = DeployState::failed;
  std::string detail;  // "was reissued, daemon reloaded"; of one that failed, why
};

struct DeployOptions {
  std::string to = "/etc/ringtrue/pki";  // on the nodes
  // Runs its last argument as a shell on the host that is the one before: words, cut at spaces.
  std::string ssh = "ssh -o BatchMode=yes -o ConnectTimeout=10";
  bool sudo = false;      // on the nodes, without a password
  bool start = false;     // enable and start the daemon's unit there, where it does not run
  int renew_before = 30;  // days: certificates that end earlier are issued anew
  int at_once = 16;       // nodes
  Seconds patience{60};   // for a node
};

// To each host, its folder DIR/HOST, which is made (issue_certificates) where there is none or its
// certificate ends soon, was revoked or is another authority's, and DIR/revoked. What is there already stays,
// and a running daemon is told to read what is new. A key goes over ssh's standard input into a file that
// only the daemon's user may read. Errors: bad_input for `dir`; what concerns a node is in its row.
Result<std::vector<Deployed>> deploy(const std::string& dir, const std::vector<std::string>& hosts,
                                     const DeployOptions& options);

// What runs on a node: the files are in it. For tests.
std::string deploy_script(const std::string& folder, const std::string& revoked,
                          const DeployOptions& options);

}  // namespace ringtrue::pki

namespace ringtrue {

template <>
inline constexpr const char* keys_of<pki::DeployState>[] = {"unchanged", "deployed", "failed"};

}  // namespace ringtrue
