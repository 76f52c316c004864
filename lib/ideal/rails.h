// The rails of a node, and what facts.cc shares with them. Not for others: include facts.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ideal/facts.h"

namespace ringtrue::ideal {

using MaybeRate = std::optional<BytesPerSecond>;

// Fills in rails, inter, sum and what belongs to them. `names`: only these NICs; empty: chosen.
void find_inter(const topology::Node& node, const std::vector<std::string>& names, NodeFacts& facts);

std::string gb(BytesPerSecond rate);  // "12.5 GB/s"
}  // namespace ringtrue::ideal
