// A switch's ports by LID as ringtrue-probe writes them: short enough for a fabric with all its LIDs to fit
// an answer, in lines that each stand alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringtrue::formats {

inline constexpr std::size_t packed_lids = 1024;  // a line

// "packed 0x0400 78da63...": a line for each 1,024 LIDs of which anything is known.
std::string pack_ports(const std::vector<std::uint8_t>& by_lid);

// The ports behind the LID; nullopt: damaged, or more than a line's.
std::optional<std::vector<std::uint8_t>> unpack_ports(std::string_view digits);

}  // namespace ringtrue::formats
