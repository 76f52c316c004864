// What every rank puts into a collective and what has to come out, computed without any collective.
//
// Values are exact in their type whatever the order of the reduction, so that a result has to be equal:
//   sum, avg  integers whose magnitudes, summed over all ranks, stay exact (float16: 2048, bfloat16: 256; up
//   to
//             7 for bfloat16 at 33 ranks). Where ranks are too many for that, an element is zero on most of
//             them - on others at the next element. Integers of the integer types are wide, odd, and wrap in
//             a sum, but not in an average.
//   prod      1, -1, and on at most six ranks an element 2, 4, 1/2 or 1/4; odd integers, which wrap
//   min, max  integers around a middle that changes with the element
// They repeat every `period` elements, a prime, so that nothing that cuts a buffer lines up with it, and
// differ by rank and seed. avg expects one division of the exact sum, rounded as engine::finish() says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collective/types.h"

namespace ringtrue::engine {

struct Mismatch {
  std::uint64_t count = 0;  // elements that differ
  std::uint64_t first = 0;  // index of the first of them, 0 where there is none

  void add(std::uint64_t element) {
    if (count++ == 0) first = element;
  }
};

enum class Zeros { equal, signed_apart };  // whether -0 is a right result where 0 is expected

// Adds to `found` the elements of `got` that differ from `right`; the first of the arrays is element `first`.
// A NaN equals only its own bits.
void compare_values(collective::Type type, const std::byte* got, const std::byte* right,
                    std::uint64_t elements, std::uint64_t first, Zeros zeros, Mismatch& found);

class Values {
 public:
  static constexpr std::uint64_t period = 4093;

  // Costs min(period, elements) * ranks steps of about a nanosecond: `elements` is the most that this object
  // will be asked to check. All methods may be called from several threads at once.
  Values(collective::Type type, collective::Operation operation, int ranks, std::uint64_t seed,
         std::uint64_t elements = period);

  // Any alignment; at memory speed.
  void fill(int rank, void* data, std::uint64_t elements) const;
  // Compares with the result of the whole collective, bit for bit. With `poison`, overwrites all that it has
  // compared with a value that is a right result for no element and no seed, so that a run which writes
  // nothing is found out.
  Mismatch check(void* data, std::uint64_t elements, bool poison) const;
  // Compares with what fill(source, ...) wrote: for pairwise, which reduces nothing. The poison is the same,
  // and no rank's input either.
  Mismatch check_neighbour(int source, void* data, std::uint64_t elements, bool poison) const;
  // Writes the poison only.
  void poison(void* data, std::uint64_t elements) const;

  // One period, or as many elements as were asked for: what fill() writes for the rank, what check() compares
  // with, and the poison.
  std::vector<std::byte> input(int rank) const;
  const std::vector<std::byte>& expected() const { return expected_; }
  const std::vector<std::byte>& poison() const { return poison_; }

 private:
  template <class T, class Store>
  void inputs(int rank, std::uint64_t elements, Store store) const;
  template <class T>
  void tabulate();
  void write_period(int rank, std::byte* data, std::uint64_t elements) const;
  Mismatch compare(const std::byte* table, void* data, std::uint64_t elements, bool poison) const;

  collective::Type type_;
  collective::Operation operation_;
  int ranks_;
  std::uint64_t seed_;
  std::uint64_t limit_;              // of the magnitude of one value
  std::uint64_t classes_;            // an element is "live" on the ranks of one class, rank % classes_
  std::vector<std::byte> expected_;  // one period, or as many elements as asked for
  std::vector<std::byte> poison_;    // the same
};

}  // namespace ringtrue::engine
