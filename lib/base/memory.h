#pragma once

#include <cstdint>
#include <optional>

namespace ringtrue {

// Bytes that could be had without swapping, as the kernel estimates them; nullopt where it does not say.
// Linux promises more memory than there is, so ask before using much.
std::optional<std::uint64_t> available_memory();

}  // namespace ringtrue
