#include "collective/omnireduce/weigh.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ringtrue::collective {

namespace {

constexpr std::uint64_t max_values = std::uint64_t(1) << 25;
constexpr double beside_block = 4;

// Bytes through a worker's port, of units of which there are `all`.
double through_port(const Densities& shares, double all, double bytes, bool colocated) {
  const double sent = shares.worker * all * bytes, received = shares.united * all * bytes;
  return colocated ? sent + received : std::max(sent, received);
}

std::string amount(double bytes) {
  const double mega = bytes / 1e6;
  return mega >= 100   ? fmt::format("{:.0f} MB", mega)
         : mega >= 0.1 ? fmt::format("{:.3g} MB", mega)
                       : fmt::format("{:.3g} kB", 1e3 * mega);
}

std::string percent(double share) {
  return share > 0 && share < 0.01 ? fmt::format("{:.2g}%", 100 * share)
                                   : fmt::format("{:.0f}%", 100 * share);
}

}  // namespace

ValuesIn values_in(SparsePattern pattern, std::uint32_t block) {
  return [pattern = std::move(pattern), block = std::uint64_t(std::max(block, 1u))](
             Rank worker, std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& into) {
    while (begin < end) {
      const std::uint64_t number = begin / block, stop = std::min(end, (number + 1) * block);
      if (pattern.has(worker, number)) {
        for (std::uint64_t i = begin; i < stop; ++i) {
          if (pattern.value(worker, i)) into.push_back(i);
        }
      }
      begin = stop;
    }
  };
}

Held held(const ValuesIn& values, std::uint64_t elements, Rank workers, std::uint64_t block) {
  block = std::max<std::uint64_t>(block, 1);
  const std::uint64_t step = elements * std::uint64_t(workers) / max_values + 1;
  std::vector<std::uint64_t> blocks(std::size_t(workers), 0), of_worker(std::size_t(workers), 0);
  std::uint64_t looked_blocks = 0, looked = 0, united_blocks = 0, united = 0;
  std::vector<bool> anybody(block);
  std::vector<std::uint64_t> found;
  for (std::uint64_t begin = 0; begin < elements; begin += step * block) {
    const std::uint64_t end = std::min(begin + block, elements);
    ++looked_blocks;
    looked += end - begin;
    anybody.assign(block, false);
    for (Rank w = 0; w < workers; ++w) {
      found.clear();
      values(w, begin, end, found);
      blocks[std::size_t(w)] += !found.empty();
      of_worker[std::size_t(w)] += found.size();
      for (const std::uint64_t element : found) anybody[element - begin] = true;
    }
    const auto here = std::uint64_t(std::count(anybody.begin(), anybody.end(), true));
    united += here;
    united_blocks += here > 0;
  }
  if (looked == 0 || workers < 1) return {};
  const auto most = [](const std::vector<std::uint64_t>& counts) {
    return double(*std::max_element(counts.begin(), counts.end()));
  };
  return {{most(blocks) / double(looked_blocks), double(united_blocks) / double(looked_blocks)},
          {most(of_worker) / double(looked), double(united) / double(looked)}};
}

std::uint32_t key_bytes_for(std::uint64_t elements) {
  return elements <= 0xffffffff ? 4 : 8;
}

Weighed weigh(const Held& held, const Call& call, std::uint32_t key_bytes, bool colocated) {
  const auto block = double(call.omni.block), elements = double(call.elements);
  const auto size = double(size_of(call.type));
  const double of_blocks =
      through_port(held.blocks, elements / block, block * size + beside_block, colocated);
  const double of_pairs = through_port(held.values, elements, size + key_bytes, colocated);
  Weighed out;
  out.pairs = of_pairs < of_blocks;
  const auto filled = [](double values, double blocks) { return blocks > 0 ? values / blocks : 0; };
  out.why = fmt::format(
      "{} of the values in a worker's blocks and {} of those in all workers' together are not zero: {} as "
      "pairs, "
      "{} as blocks {} a worker's port",
      percent(filled(held.values.worker, held.blocks.worker)),
      percent(filled(held.values.united, held.blocks.united)), amount(of_pairs), amount(of_blocks),
      colocated ? "through" : "one way through");
  return out;
}

}  // namespace ringtrue::collective
