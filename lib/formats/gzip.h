// gzip, within the bounds of format.h.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue::formats {

bool is_gzip(std::string_view bytes);
// All members, one after the other. Refuses what is cut off, damaged, followed by something else, larger than
// max_file_bytes once unpacked, or more than max_expansion times its packed size (small files excepted).
Result<std::string> gunzip(std::string_view bytes);
std::string gzip(std::string_view bytes);

}  // namespace ringtrue::formats
