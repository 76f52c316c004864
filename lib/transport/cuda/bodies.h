// What kernels do to memory, written once: compiled by nvcc for a GPU's threads and by g++ for host threads.
//
// A World is where a thread finds itself. It has
//   thread, threads, block, blocks   its place; a block's threads work on one rank's (or one job's) data
//   together lane, lanes, any_lane(bool)      the part of a block that decides together without a barrier
//   packs                            of 16 bytes that a thread loads at once from each of two sources
//   load(p), store(p, Pack)          16 bytes, aligned; past the caches that are not coherent
//   add(p, n), minimum(p, n)           atomic
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/cuda/arithmetic.h"
#include "transport/cuda/jobs.h"

namespace ringtrue::transport::cuda {

struct alignas(16) Pack {
  std::uint32_t word[4];
};

template <class T>
struct Elements {  // a Pack's
  static constexpr int count = 16 / int(sizeof(T));
  T at[count];
};

// [begin, end) of `total` for one of `parts`.
struct Part {
  std::uint64_t begin, end;
};
RINGTRUE_GPU Part part_of(std::uint64_t total, std::uint32_t parts, std::uint32_t index) {
  const std::uint64_t each = (total + parts - 1) / parts, begin = each * index;
  return {begin < total ? begin : total, begin + each < total ? begin + each : total};
}

// One element after another, or all of a pack: what is done with an accumulated value.
template <class N>
RINGTRUE_GPU typename N::Stored finished(typename N::Acc value, int divisor) {
  const typename N::Stored rounded = N::narrow(value);
  return divisor > 1 ? N::narrow(N::divide(N::widen(rounded), divisor)) : rounded;
}

// `Packs` packs a thread at once, so that so many loads are under way.
template <class N, class Op, int Packs, class World>
RINGTRUE_GPU void combine_packs(World& world, std::byte* into, const std::byte* first,
                                const std::byte* const* sources, std::uint32_t count, std::uint64_t at,
                                int divisor) {
  using E = Elements<typename N::Stored>;
  Pack pack[Packs], next[Packs] = {};
  typename N::Acc sum[Packs][E::count];
  const auto load = [&](Pack* to, const std::byte* from) {
    RINGTRUE_UNROLL
    for (int i = 0; i < Packs; ++i) to[i] = world.load(from + at + std::uint64_t(i) * world.threads * 16);
  };
  load(pack, first);
  if (count) load(next, sources[0]);  // always one source ahead of what is added up
  RINGTRUE_UNROLL
  for (int i = 0; i < Packs; ++i) {
    const E value = bits_as<E>(pack[i]);
    RINGTRUE_UNROLL
    for (int k = 0; k < E::count; ++k) sum[i][k] = N::widen(value.at[k]);
  }
  for (std::uint32_t s = 0; s < count; ++s) {
    RINGTRUE_UNROLL
    for (int i = 0; i < Packs; ++i) pack[i] = next[i];
    if (s + 1 < count) load(next, sources[s + 1]);
    RINGTRUE_UNROLL
    for (int i = 0; i < Packs; ++i) {
      const E value = bits_as<E>(pack[i]);
      RINGTRUE_UNROLL
      for (int k = 0; k < E::count; ++k) sum[i][k] = Op::template apply<N>(sum[i][k], N::widen(value.at[k]));
    }
  }
  RINGTRUE_UNROLL
  for (int i = 0; i < Packs; ++i) {
    E value;
    RINGTRUE_UNROLL
    for (int k = 0; k < E::count; ++k) value.at[k] = finished<N>(sum[i][k], divisor);
    world.store(into + at + std::uint64_t(i) * world.threads * 16, bits_as<Pack>(value));
  }
}

template <class N, class Op, class World>
RINGTRUE_GPU void combine_elements(const World& world, std::byte* into, const std::byte* first,
                                   const std::byte* const* sources, std::uint32_t count, Part bytes,
                                   int divisor) {
  using Stored = typename N::Stored;
  for (std::uint64_t at = bytes.begin + world.thread * sizeof(Stored); at < bytes.end;
       at += world.threads * sizeof(Stored)) {
    typename N::Acc sum = N::widen(*reinterpret_cast<const Stored*>(first + at));
    for (std::uint32_t s = 0; s < count; ++s)
      sum = Op::template apply<N>(sum, N::widen(*reinterpret_cast<const Stored*>(sources[s] + at)));
    *reinterpret_cast<Stored*>(into + at) = finished<N>(sum, divisor);
  }
}

// into = first op sources[0] op ...; then divided, where `divisor` is above 1. This block's part of it.
// Elements are aligned; `into` may be any of the others.
template <class N, class Op, int many, class World>
RINGTRUE_GPU void combine(World& world, std::byte* into, const std::byte* first,
                          const std::byte* const* sources, std::uint32_t count, std::uint64_t bytes,
                          int divisor) {
  constexpr std::uint64_t size = sizeof(typename N::Stored);
  const auto address = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
  std::uintptr_t skew = address(into) ^ address(first);
  for (std::uint32_t s = 0; s < count; ++s) skew |= address(into) ^ address(sources[s]);
  if (skew % 16) {  // no common alignment: element by element
    const Part part = part_of(bytes / size, world.blocks, world.block);
    combine_elements<N, Op>(world, into, first, sources, count, {part.begin * size, part.end * size},
                            divisor);
    return;
  }
  const std::uint64_t to_aligned = -address(into) & 15;
  const std::uint64_t head = to_aligned < bytes ? to_aligned : bytes;
  const std::uint64_t packs = (bytes - head) / 16, tail = head + packs * 16;
  if (world.block == 0) combine_elements<N, Op>(world, into, first, sources, count, {0, head}, divisor);
  if (world.block + 1 == world.blocks)
    combine_elements<N, Op>(world, into, first, sources, count, {tail, bytes}, divisor);

  // Blocks take turns, so that all of them together read and write a few stretches of memory at a time.
  const std::uint64_t turn = std::uint64_t(many) * world.threads, even = packs / turn * turn;
  for (std::uint64_t at = world.block * turn; at < even; at += world.blocks * turn)
    combine_packs<N, Op, many>(world, into, first, sources, count, head + (at + world.thread) * 16, divisor);
  for (std::uint64_t at = even + std::uint64_t(world.block) * world.threads + world.thread; at < packs;
       at += std::uint64_t(world.blocks) * world.threads)
    combine_packs<N, Op, 1>(world, into, first, sources, count, head + at * 16, divisor);
}

// The same for a Move: where it stores, there is one source and nothing to combine it with.
template <class N, class Op, class World>
RINGTRUE_GPU void move(World& world, Move kind, std::byte* into, const std::byte* with,
                       const std::byte* const* sources, std::uint32_t count, std::uint64_t bytes,
                       bool divides, std::uint32_t ranks) {
  const int divisor = divides && kind == Move::reduce_last ? int(ranks) : 1;
  if (kind == Move::store)
    combine<Raw<sizeof(typename N::Stored)>, Sum, 2 * World::packs>(world, into, sources[0], sources, 0,
                                                                    bytes, 1);
  else
    combine<N, Op, World::packs>(world, into, with, sources, count, bytes, divisor);
}

template <class N, class Op, class World>
RINGTRUE_GPU void reduce(World& world, const Reduction& job) {
  move<N, Op>(world, job.move, job.into, job.with, job.source, job.sources,
              job.elements * sizeof(typename N::Stored), job.operation == average, job.ranks);
}

// Elements of T in packs, and a table that repeats: each(index of the first element, phase in the table), for
// packs and then for what is left over.
template <class T, class World, class EachPack, class EachElement>
RINGTRUE_GPU void over_table(const World& world, std::uint64_t elements, std::uint32_t period,
                             EachPack each_pack, EachElement each_element) {
  constexpr int count = Elements<T>::count;
  const std::uint64_t threads = std::uint64_t(world.threads) * world.blocks;
  const std::uint64_t self = std::uint64_t(world.block) * world.threads + world.thread;
  const std::uint64_t packs = elements / count;
  std::uint32_t phase = std::uint32_t(self * count % period);
  const std::uint32_t step = std::uint32_t(threads * count % period);
  for (std::uint64_t pack = self; pack < packs; pack += threads) {
    each_pack(pack * count, phase);
    phase += step;
    if (phase >= period) phase -= period;
  }
  for (std::uint64_t i = packs * count + self; i < elements; i += threads)
    each_element(i, std::uint32_t(i % period));
}

template <class T>
RINGTRUE_GPU Elements<T> of_table(const T* table, std::uint32_t period, std::uint32_t phase) {
  Elements<T> value;
  RINGTRUE_UNROLL
  for (int k = 0; k < Elements<T>::count; ++k) {
    value.at[k] = table[phase];
    if (++phase == period) phase = 0;
  }
  return value;
}

template <class T, class World>
RINGTRUE_GPU void fill(World& world, const Fill& job) {
  const T* const table = reinterpret_cast<const T*>(job.table);
  T* const data = reinterpret_cast<T*>(job.data);
  over_table<T>(
      world, job.elements, job.period,
      [&](std::uint64_t at, std::uint32_t phase) {
        world.store(job.data + at * sizeof(T), bits_as<Pack>(of_table(table, job.period, phase)));
      },
      [&](std::uint64_t at, std::uint32_t phase) { data[at] = table[phase]; });
}

template <class T, class World>
RINGTRUE_GPU void check(World& world, const Check& job) {
  const T* const table = reinterpret_cast<const T*>(job.table);
  const T* const poison = reinterpret_cast<const T*>(job.poison);
  T* const data = reinterpret_cast<T*>(job.data);
  std::uint64_t count = 0, first = ~std::uint64_t(0);
  const auto compare = [&](std::uint64_t at, T got, T right) {
    if (got == right) return;
    ++count;
    if (at < first) first = at;
  };
  over_table<T>(
      world, job.elements, job.period,
      [&](std::uint64_t at, std::uint32_t phase) {
        const Elements<T> got = bits_as<Elements<T>>(world.load(job.data + at * sizeof(T)));
        const Elements<T> right = of_table(table, job.period, phase);
        RINGTRUE_UNROLL
        for (int k = 0; k < Elements<T>::count; ++k) compare(at + std::uint64_t(k), got.at[k], right.at[k]);
        if (poison)
          world.store(job.data + at * sizeof(T), bits_as<Pack>(of_table(poison, job.period, phase)));
      },
      [&](std::uint64_t at, std::uint32_t phase) {
        compare(at, data[at], table[phase]);
        if (poison) data[at] = poison[phase];
      });
  if (!count) return;
  world.add(&job.found->count, count);
  world.minimum(&job.found->first, first);
}

// All bits of a value but a float's sign, four times over for the narrow types.
RINGTRUE_GPU std::uint64_t value_bits(std::uint8_t type) {
  switch (type) {
    case 0:
      return 0x7fffffff7fffffff;
    case 1:
      return 0x7fffffffffffffff;
    case 2:
    case 3:
      return 0x7fff7fff7fff7fff;
    default:
      return ~std::uint64_t(0);
  }
}

// Each group of lanes makes words: it decides together, and ends a block's search with the first value found.
template <class T, class World>
RINGTRUE_GPU void bitmap(World& world, const Bitmap& job) {
  const std::uint64_t mask = value_bits(job.type);
  const std::uint64_t blocks = (job.elements + job.block - 1) / job.block, words = (blocks + 31) / 32;
  const std::uint64_t self = (std::uint64_t(world.block) * world.threads + world.thread) / world.lanes;
  const std::uint64_t groups = std::uint64_t(world.blocks) * world.threads / world.lanes;
  const bool in_packs = job.block * sizeof(T) % 16 == 0;
  for (std::uint64_t word = self; word < words; word += groups) {
    std::uint32_t bits = 0;
    for (std::uint32_t k = 0; k < 32 && word * 32 + k < blocks; ++k) {
      const std::uint64_t begin = (word * 32 + k) * job.block;
      const std::uint64_t length = job.elements - begin < job.block ? job.elements - begin : job.block;
      const std::uint64_t packs = in_packs ? length / Elements<T>::count : 0;
      bool found = false;
      for (std::uint64_t at = 0; at < packs && !found; at += world.lanes) {
        bool mine = false;
        if (at + world.lane < packs) {
          const Elements<std::uint64_t> value = bits_as<Elements<std::uint64_t>>(
              world.load(job.data + begin * sizeof(T) + (at + world.lane) * 16));
          mine = ((value.at[0] | value.at[1]) & mask) != 0;
        }
        found = world.any_lane(mine);
      }
      for (std::uint64_t at = packs * Elements<T>::count; at < length && !found; at += world.lanes) {
        const bool mine = at + world.lane < length &&
                          (reinterpret_cast<const T*>(job.data)[begin + at + world.lane] & T(mask)) != 0;
        found = world.any_lane(mine);
      }
      bits |= std::uint32_t(found) << k;
    }
    if (world.lane == 0) job.words[word] = bits;
  }
}

}  // namespace ringtrue::transport::cuda
