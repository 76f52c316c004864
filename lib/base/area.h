// Memory that is met all over, a few bytes at a time: of the large kind of pages, where there is much of it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace ringtrue {

struct FreeArea {
  void operator()(std::byte* area) const { std::free(area); }
};
using Area = std::unique_ptr<std::byte, FreeArea>;

// Aligned to 64 bytes at least; not set to anything. Throws std::bad_alloc.
Area make_area(std::size_t bytes);

}  // namespace ringtrue
