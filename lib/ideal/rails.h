// The rails of a node, and what facts.cc shares with them. Not for others: include facts.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ideal/facts.h"

namespace ringtrue::ideal {

using MaybeRate = std::optional<BytesPerSecond>;

// Fills in rails, inter, sum and what belongs to them. `names`: only these NICs; empty: chosen.
void find_inter(const topology::Node& node, const std::vector<std::string>& names, NodeFacts& facts);

std::string gb(BytesPerSecond rate);                        // "12.5 GB/s"
std::string listed(const std::vector<std::string>& names);  // the first eight
// The figure of rates.h for a link's payload; nullopt where none is known.
std::optional<Efficiency> seen(LinkFamily family, const std::string& generation);

}  // namespace ringtrue::ideal
