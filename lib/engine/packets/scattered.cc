#include "engine/packets/scattered.h"

#include <algorithm>
#include <cstring>

#include "engine/kernels/reduce.h"

namespace ringtrue::engine {

namespace {

template <class U, class Index>
void collect_of(std::byte* into, const std::byte* from, std::span<const Index> at) {
  for (const Index i : at) {
    std::memcpy(into, from + std::uint64_t(i) * sizeof(U), sizeof(U));
    into += sizeof(U);
  }
}

template <class U, class Index>
void distribute_of(std::byte* into, std::span<const Index> at, const std::byte* from) {
  for (const Index i : at) {
    std::memcpy(into + std::uint64_t(i) * sizeof(U), from, sizeof(U));
    from += sizeof(U);
  }
}

template <class Index>
void collect_at(std::uint64_t size, std::byte* into, const std::byte* from, std::span<const Index> at) {
  if (size == 2) return collect_of<std::uint16_t>(into, from, at);
  if (size == 4) return collect_of<std::uint32_t>(into, from, at);
  collect_of<std::uint64_t>(into, from, at);
}

template <class Index>
void distribute_at(std::uint64_t size, std::byte* into, std::span<const Index> at, const std::byte* from) {
  if (size == 2) return distribute_of<std::uint16_t>(into, at, from);
  if (size == 4) return distribute_of<std::uint32_t>(into, at, from);
  distribute_of<std::uint64_t>(into, at, from);
}

}  // namespace

void collect(std::uint64_t size, void* into, const void* from, std::span<const std::uint64_t> elements) {
  collect_at(size, static_cast<std::byte*>(into), static_cast<const std::byte*>(from), elements);
}

void distribute(std::uint64_t size, void* into, std::span<const std::uint64_t> elements, const void* from) {
  distribute_at(size, static_cast<std::byte*>(into), elements, static_cast<const std::byte*>(from));
}

void combine(collective::Type type, collective::Operation operation, void* into,
             std::span<const std::uint32_t> places, const void* from) {
  if (places.empty()) return;
  const std::uint64_t size = size_of(type);
  auto* values = static_cast<std::byte*>(into);
  auto* at = static_cast<const std::byte*>(from);
  if (places.back() - places.front() + std::uint64_t(1) == places.size()) {  // they rise: no gaps
    std::byte* first = values + places.front() * size;
    return reduce(type, operation, first, first, at, places.size());
  }
  constexpr std::size_t most = 256;
  std::byte together[8 * most];
  for (; !places.empty(); places = places.subspan(std::min(most, places.size()))) {
    const auto now = places.first(std::min(most, places.size()));
    collect_at(size, together, values, now);
    reduce(type, operation, together, together, at, now.size());
    distribute_at(size, values, now, together);
    at += now.size() * size;
  }
}

}  // namespace ringtrue::engine
