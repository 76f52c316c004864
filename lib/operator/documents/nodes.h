// Which daemons answer; the settings in force; the certificates that were made.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "fleet/fleet.h"
#include "operator/documents/trouble.h"
#include "pki/deploy.h"
#include "pki/pki.h"

namespace ringtrue::ops {

struct NodesDocument {
  std::vector<fleet::NodeState> nodes;
  std::vector<std::string> notes{};
  std::optional<Trouble> error{};
};

struct ConfigDocument {
  std::vector<config::Given> settings;
  std::map<std::string, std::string, std::less<>> usual{};  // what holds here of keys that are not given
};

struct PkiDocument {
  std::vector<pki::Issued> certificates;
  std::string next{};  // what is left to do; may be empty
};

struct DeployDocument {
  std::vector<pki::Deployed> nodes;
};

}  // namespace ringtrue::ops
