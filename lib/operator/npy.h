// NumPy's .npy files, versions 1.0 to 3.0 (numpy/lib/format.py): arrays of little-endian float16, float32,
// float64, int32 and int64 in C order, of any shape; and one-dimensional arrays of records of two fields, an
// integer key (4 or 8 bytes) and a value of those types: key-value pairs. Nothing that the file says of
// itself is trusted: lengths are held against the bytes that are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace ringtrue {

struct Npy {
  std::string type;                  // of the values: "float16", "float32", "float64", "int32", "int64"
  std::uint64_t value_bytes = 0;     // of one
  std::vector<std::uint64_t> shape;  // empty: a single value
  std::uint64_t elements = 0;        // values, or pairs
  std::span<const std::byte> body;   // in the bytes that were parsed: `elements` records

  // Where the fields are in a record; of plain values, a record is one.
  bool pairs = false;
  std::uint64_t record_bytes = 0, key_at = 0, value_at = 0;
  std::uint64_t key_bytes = 0;
  bool key_signed = false;
};

// Errors, bad_input: what is wrong with the file, or what it holds that there is no use for here, and what to
// save instead.
Result<Npy> parse_npy(std::span<const std::byte> file);

// The values one after the other. Of pairs: an array of `length` values, by default up to the largest key,
// that is zero where there is no pair.
// Errors, bad_input: a key that is negative, not below `length`, or there twice; more than `max_bytes`.
Result<std::vector<std::byte>> dense_values(const Npy& npy, std::optional<std::uint64_t> length = {},
                                            std::uint64_t max_bytes = std::uint64_t(1) << 36);

}  // namespace ringtrue
