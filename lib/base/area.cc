#include "base/area.h"

#include <sys/mman.h>

#include <new>

namespace ringtrue {

Area make_area(std::size_t bytes) {
  constexpr std::size_t page = std::size_t(2) << 20;
  const std::size_t unit = bytes < page ? 64 : page;
  bytes = (bytes + unit - 1) / unit * unit;
  Area area(static_cast<std::byte*>(std::aligned_alloc(unit, bytes)));
  if (!area) {
    if (const auto handler = std::get_new_handler()) handler();  // as operator new does
    throw std::bad_alloc();
  }
  if (unit == page) madvise(area.get(), bytes, MADV_HUGEPAGE);
  return area;
}

}  // namespace ringtrue
