// Lists of hosts as operators write them.
//
//   node[01-16,20]     brackets hold numbers and ranges; zero padding is kept; several brackets are allowed
//   a,b,c              commas separate
//   node1:7464         with a port; [::1]:7464 is an IPv6 address
//   @group             a list that the configuration names
//   ^file              a list in a file: one or more a line, '#' starts a comment
//   unix:/run/x.sock   a local daemon's socket
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ringtrue {

using HostGroups = std::map<std::string, std::string, std::less<>>;  // name without '@' -> hostlist

inline constexpr std::size_t max_hosts = 100'000;

// The names in order, doubles included, never empty. Errors are Cause::bad_input and tell the position in the
// text (counted from 1), Cause::unavailable for a file that cannot be read.
Result<std::vector<std::string>> expand_hostlist(std::string_view text, const HostGroups* groups = nullptr);

// The short form, in the given order: {"node1","node2","node3"} gives "node[1-3]". expand_hostlist gives the
// same names again.
std::string fold_hostlist(const std::vector<std::string>& hosts);

}  // namespace ringtrue
