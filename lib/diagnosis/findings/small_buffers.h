// Receivers whose sockets are too small: to a sender they look like programs that take in data slowly.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "diagnosis/findings/report.h"

namespace ringtrue::diagnosis {

// No kernel bounds receive buffers by less unless it was told to; what fits into it is sent at once and then
// waited for.
inline constexpr std::uint64_t small_buffer = 64 << 10;

// `largest`: bytes that sockets of a node receive into at most, by name; 0: unknown. Findings that a program
// of such a node is slow ("slow-compute") become "small-receive-buffer", those that its receiving side is
// slow say so.
void name_small_buffers(const std::map<std::string, std::uint64_t>& largest, Diagnosis& diagnosis);

}  // namespace ringtrue::diagnosis
