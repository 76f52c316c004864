// Omnireduce of (key, value) pairs as the tests see it: what workers hold, what must come out of it bit for
// bit, and what the protocol must do, worked out round by round from its rules with nothing of the program's
// code.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/packet_world.h"

namespace ringtrue::test {

using Keys = std::vector<std::uint64_t>;

struct PairCase {
  collective::Call call;
  std::vector<std::vector<std::byte>> data;  // by worker

  collective::Layout layout() const {
    return collective::Layout::uniform(call.omni.workers + call.omni.aggregators, 1);
  }
  bool holds(Rank worker, std::uint64_t i) const {
    return !is_zero(call.type, &data[std::size_t(worker)][i * collective::size_of(call.type)]);
  }
  std::string text() const {
    const collective::Omni& o = call.omni;
    return std::to_string(o.workers) + " workers, " + std::to_string(o.aggregators) + " aggregators, " +
           std::to_string(o.streams) + " streams, " + std::to_string(o.pairs) + " pairs of " +
           std::to_string(o.key_bytes) + "-byte keys, " + std::to_string(call.elements) + " elements by " +
           std::to_string(o.block) + ", " + std::string(key_of(call.type)) + " " +
           std::string(key_of(call.operation)) + (o.acked ? ", acked" : "");
  }
};

// What every worker must have in the end: values in the order of the workers, zeros taking part where they
// matter. Elements that nobody holds stay what they were.
inline std::vector<std::byte> expected_pairs(const PairCase& c, Rank worker) {
  std::vector<std::byte> right = c.data[std::size_t(worker)];
  const Operation op = c.call.operation;
  with_type(c.call.type, [&](auto element, auto wide) {
    using E = decltype(element);
    using W = decltype(wide);
    for (std::uint64_t i = 0; i < c.call.elements; ++i) {
      bool first = true, everywhere = true;
      E sum{};
      for (Rank w = 0; w < c.call.omni.workers; ++w) {
        if (!c.holds(w, i)) {
          everywhere = false;
          continue;
        }
        std::memcpy(&element, &c.data[std::size_t(w)][i * sizeof(E)], sizeof(E));
        sum = first ? element : E(combine(op, W(sum), W(element)));
        first = false;
      }
      if (first) continue;
      const bool zero_matters = op == Operation::min || op == Operation::max || op == Operation::prod;
      if (!everywhere && zero_matters) sum = E(combine(op, W(sum), W(0)));
      if (op == Operation::avg) sum = E(W(sum) / W(c.call.omni.workers));
      std::memcpy(&right[i * sizeof(E)], &sum, sizeof(E));
    }
  });
  return right;
}

struct PairProtocol {
  std::vector<std::uint64_t> packets, pairs;  // by worker
  std::uint64_t multicasts = 0;
  struct Round {
    Keys keys;
    std::uint64_t wanted = collective::no_block;
    std::vector<Rank> present;
  };
  std::map<std::uint32_t, std::vector<Round>> streams;
};

inline PairProtocol expected_protocol(const PairCase& c) {
  const collective::Omni& o = c.call.omni;
  PairProtocol p;
  p.packets.assign(c.data.size(), 0);
  p.pairs.assign(c.data.size(), 0);
  for (std::uint32_t stream = 0; stream < o.streams; ++stream) {
    if (std::uint64_t(stream) * o.block >= c.call.elements) break;
    std::vector<Keys> left(c.data.size());
    for (std::uint64_t i = 0; i < c.call.elements; ++i) {
      if (i / o.block % o.streams != stream) continue;
      for (Rank w = 0; w < o.workers; ++w)
        if (c.holds(w, i)) left[std::size_t(w)].push_back(i);
    }
    std::map<std::uint64_t, Rank> waiting;  // with the aggregator: who has it
    std::uint64_t wanted = 0;
    for (bool first = true; first || wanted != collective::no_block; first = false) {
      std::uint64_t least = collective::no_block;
      for (std::size_t w = 0; w < left.size(); ++w) {
        const bool turn = first || (!left[w].empty() && left[w].front() == wanted);
        if (turn || o.acked) ++p.packets[w];
        for (std::uint32_t n = 0; turn && n < o.pairs && !left[w].empty(); ++n) {
          ++waiting[left[w].front()];
          ++p.pairs[w];
          left[w].erase(left[w].begin());
        }
        if (!left[w].empty()) least = std::min(least, left[w].front());
      }
      PairProtocol::Round round;
      while (!waiting.empty() && waiting.begin()->first < least && round.keys.size() < o.pairs) {
        round.keys.push_back(waiting.begin()->first);
        round.present.push_back(waiting.begin()->second);
        waiting.erase(waiting.begin());
      }
      if (!waiting.empty()) least = std::min(least, waiting.begin()->first);
      round.wanted = wanted = least;
      p.streams[stream].push_back(round);
      ++p.multicasts;
    }
  }
  return p;
}

// Values with all their bits in use, where the type has them, none of them zero but where `held` says so.
inline void draw_values(PairCase& c, std::mt19937_64& random, auto held) {
  c.data.assign(std::size_t(c.call.omni.workers), std::vector<std::byte>(c.call.bytes()));
  with_type(c.call.type, [&](auto element, auto wide) {
    using E = decltype(element);
    using W = decltype(wide);
    for (Rank w = 0; w < c.call.omni.workers; ++w) {
      for (std::uint64_t i = 0; i < c.call.elements; ++i) {
        W value(0);
        if constexpr (std::numeric_limits<W>::is_integer) {
          if (held(w, i)) value = W(random() % 2000) - 1000;
          if (held(w, i) && value == 0) value = 1;
        } else {
          const double size = 0.5 + double(random() >> 11) * 0x1p-53 * 1.5;
          if (held(w, i)) value = W(random() % 2 ? size : -size);
          if (value == W(0) && i % 3 == 0) value = -W(0);  // is zero, too
        }
        element = E(value);
        std::memcpy(&c.data[std::size_t(w)][i * sizeof(E)], &element, sizeof(E));
      }
    }
  });
}

enum class Spread { scattered, clustered, empty, dense, disjoint, one_worker, last, same };
inline constexpr int spreads = 8;

inline void draw_spread(PairCase& c, Spread spread, std::uint64_t share, std::mt19937_64& random) {
  const std::uint64_t salt = random();
  const auto drawn = [&](std::uint64_t of) { return std::mt19937_64(salt + of)() % 100 < share; };
  const Rank workers = c.call.omni.workers;
  draw_values(c, random, [&](Rank w, std::uint64_t i) {
    switch (spread) {
      case Spread::scattered:
        return drawn(i * 64 + std::uint64_t(w));
      case Spread::clustered:
        return drawn(i / 11 * 64 + std::uint64_t(w));
      case Spread::empty:
        return false;
      case Spread::dense:
        return true;
      case Spread::disjoint:
        return Rank(i % std::uint64_t(workers)) == w;
      case Spread::one_worker:
        return w + 1 == workers && drawn(i);
      case Spread::last:
        return i + 1 == c.call.elements;
      default:
        return drawn(i);
    }
  });
}

// A case drawn from a seed; spreads and small shapes go round so that all of them occur.
inline PairCase drawn_pairs(std::uint64_t seed) {
  std::mt19937_64 random(seed * 613 + 7);
  PairCase c;
  collective::Omni& omni = c.call.omni;
  omni.workers = Rank(1 + seed % 9);
  omni.aggregators = Rank(1 + random() % 4);
  omni.streams = std::uint32_t(1 + random() % 6);
  omni.block = std::uint32_t(1 + random() % 16);
  omni.pairs = std::uint32_t(1 + random() % 7);
  omni.key_bytes = random() % 2 ? 4 : 8;
  omni.acked = random() % 2;
  c.call.elements = seed % 11 == 0 ? 1 : 1 + random() % 200;
  c.call.type = collective::all_types[random() % 6];
  c.call.operation = collective::all_operations[random() % 5];
  draw_spread(c, Spread(seed % spreads), 1 + random() % 100, random);
  return c;
}

inline void fill(const PairCase& c, PacketWorld& world) {
  for (Rank w = 0; w < c.call.omni.workers; ++w) world.data(w) = c.data[std::size_t(w)];
}

// Workers whose data is not, bit for bit, what it must be.
inline int wrong(const PairCase& c, PacketWorld& world) {
  int count = 0;
  for (Rank w = 0; w < c.call.omni.workers; ++w) count += world.data(w) != expected_pairs(c, w);
  return count;
}

}  // namespace ringtrue::test
