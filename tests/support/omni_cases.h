// Omnireduce as the tests see it: which blocks workers hold, what the protocol must do with them (worked out
// round by round from its rules, with nothing of the program's code), and what must come out.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/packet_world.h"

namespace ringtrue::test {

using Bitmaps = std::vector<std::vector<bool>>;  // by worker and block: it is not zero

struct OmniCase {
  collective::Call call;
  Bitmaps bitmaps;

  collective::Layout layout() const {
    return collective::Layout::uniform(call.omni.workers + call.omni.aggregators, 1);
  }
  std::string text() const {
    const collective::Omni& o = call.omni;
    return std::to_string(o.workers) + " workers, " + std::to_string(o.aggregators) + " aggregators, " +
           std::to_string(o.streams) + " streams, fusion " + std::to_string(o.fusion) + ", " +
           std::to_string(call.elements) + " elements in blocks of " + std::to_string(o.block) + ", " +
           std::string(key_of(call.type)) + " " + std::string(key_of(call.operation)) +
           (o.acked ? ", acked" : "");
  }
};

// What every participant must count, and in which order the results must come.
struct Protocol {
  std::vector<std::uint64_t> packets, blocks;  // by worker
  std::uint64_t multicasts = 0;
  struct Round {
    std::vector<std::uint64_t> blocks;
    std::vector<std::uint64_t> wanted;
    std::vector<Rank> present;
  };
  std::map<std::uint32_t, std::vector<Round>> streams;
};

inline Protocol expected_protocol(const OmniCase& c) {
  const std::uint64_t count = c.bitmaps[0].size(), fusion = c.call.omni.fusion;
  const std::uint64_t columns = c.call.omni.streams * fusion;
  Protocol p;
  p.packets.assign(c.bitmaps.size(), 0);
  p.blocks.assign(c.bitmaps.size(), 0);
  for (std::uint32_t stream = 0; stream < c.call.omni.streams; ++stream) {
    // The blocks of this round, one of each column that is not done.
    std::vector<std::uint64_t> now;
    for (std::uint64_t k = stream * fusion; k < (stream + 1) * fusion && k < count; ++k) now.push_back(k);
    bool first = true;
    while (!now.empty()) {
      Protocol::Round round;
      round.blocks = now;
      round.present.assign(now.size(), 0);
      for (std::size_t w = 0; w < c.bitmaps.size(); ++w) {
        std::uint64_t sent = 0;
        for (std::size_t i = 0; i < now.size(); ++i) {
          if (!first && !c.bitmaps[w][now[i]]) continue;
          ++sent;
          ++round.present[i];
        }
        p.blocks[w] += sent;
        if (sent > 0 || c.call.omni.acked) ++p.packets[w];
      }
      std::vector<std::uint64_t> next;
      for (const std::uint64_t k : now) {
        std::uint64_t later = k + columns;
        const auto held = [&](const std::vector<bool>& map) { return map[later]; };
        while (later < count && std::none_of(c.bitmaps.begin(), c.bitmaps.end(), held)) later += columns;
        round.wanted.push_back(later < count ? later : collective::no_block);
        if (later < count) next.push_back(later);
      }
      p.streams[stream].push_back(round);
      ++p.multicasts;
      first = false;
      now = next;
    }
  }
  return p;
}

// Values of a worker that are exact in every type, some of them zero inside blocks that are not.
inline int sparse_value(const OmniCase& c, Rank worker, std::uint64_t i) {
  const std::uint64_t block = i / c.call.omni.block;
  if (!c.bitmaps[std::size_t(worker)][block]) return 0;
  const bool inside = i % c.call.omni.block > 0;
  if (inside && (i * 7 + std::uint64_t(worker) * 3) % 5 == 0) return 0;
  return input(c.call.operation, worker, i) == 0 ? 1 : input(c.call.operation, worker, i);
}

inline void fill(const OmniCase& c, PacketWorld& world) {
  with_type(c.call.type, [&](auto element, auto wide) {
    for (Rank w = 0; w < c.call.omni.workers; ++w) {
      for (std::uint64_t i = 0; i < c.call.elements; ++i) {
        const int value = sparse_value(c, w, i);
        element = decltype(element)(decltype(wide)(value));
        // -0.0 is zero.
        if constexpr (!std::numeric_limits<decltype(wide)>::is_integer) {
          if (value == 0 && i % 3 == 0) element = decltype(element)(-decltype(wide)(0));
        }
        std::memcpy(&world.data(w)[i * sizeof element], &element, sizeof element);
      }
    }
  });
}

// Elements of all workers that are not what they must be.
inline std::uint64_t wrong(const OmniCase& c, PacketWorld& world) {
  std::uint64_t count = 0;
  const Operation op = c.call.operation;
  with_type(c.call.type, [&](auto element, auto wide) {
    using W = decltype(wide);
    for (std::uint64_t i = 0; i < c.call.elements; ++i) {
      long sum = sparse_value(c, 0, i);
      for (Rank w = 1; w < c.call.omni.workers; ++w) sum = combine(op, sum, long(sparse_value(c, w, i)));
      const W right = op == Operation::avg ? W(decltype(element)(W(sum) / W(c.call.omni.workers))) : W(sum);
      for (Rank w = 0; w < c.call.omni.workers; ++w) {
        std::memcpy(&element, &world.data(w)[i * sizeof element], sizeof element);
        count += !(W(element) == right);
      }
    }
  });
  return count;
}

enum class Pattern { random, empty, dense, disjoint, one_worker, last_block, same };
inline constexpr Pattern all_patterns[] = {Pattern::random,   Pattern::empty,      Pattern::dense,
                                           Pattern::disjoint, Pattern::one_worker, Pattern::last_block,
                                           Pattern::same};

inline Bitmaps bitmaps_of(Pattern pattern, Rank workers, std::uint64_t blocks, std::mt19937_64& random) {
  Bitmaps maps;
  maps.assign(std::size_t(workers), std::vector<bool>(blocks));
  const std::uint64_t share = 1 + random() % 100;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const bool everywhere = random() % 100 < share;
    for (std::size_t w = 0; w < maps.size(); ++w) {
      switch (pattern) {
        case Pattern::random:
          maps[w][k] = random() % 100 < share;
          break;
        case Pattern::empty:
          break;
        case Pattern::dense:
          maps[w][k] = true;
          break;
        case Pattern::disjoint:
          maps[w][k] = k % maps.size() == w;
          break;
        case Pattern::one_worker:
          maps[w][k] = w + 1 == maps.size() && everywhere;
          break;
        case Pattern::last_block:
          maps[w][k] = k + 1 == blocks;
          break;
        case Pattern::same:
          maps[w][k] = everywhere;
          break;
      }
    }
  }
  return maps;
}

// A case drawn from a seed; the pattern and the small shapes go round so that all of them occur.
inline OmniCase drawn_case(std::uint64_t seed) {
  std::mt19937_64 random(seed * 977 + 5);
  OmniCase c;
  collective::Omni& omni = c.call.omni;
  omni.workers = Rank(1 + seed % 16);
  omni.aggregators = Rank(1 + random() % 8);
  omni.streams = std::uint32_t(1 + random() % 8);
  omni.fusion = std::uint32_t(1 + random() % 8);
  omni.block = std::uint32_t(1 + random() % 6);
  omni.acked = random() % 2;
  // From a part of a block to some rows; tails that are shorter than a block.
  const std::uint64_t columns = omni.streams * omni.fusion;
  const std::uint64_t blocks =
      seed % 9 == 0 ? 1 : 1 + random() % (seed % 3 ? 3 * columns : 12 * columns / 5 + 60);
  c.call.elements = (blocks - 1) * omni.block + 1 + random() % omni.block;
  c.call.type = collective::all_types[random() % 6];
  c.call.operation = collective::all_operations[random() % 5];
  c.bitmaps = bitmaps_of(all_patterns[seed % 7], omni.workers, blocks, random);
  return c;
}

}  // namespace ringtrue::test
