// A call and its sizes, as run and simulate are asked for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "collective/fault.h"
#include "collective/types.h"

namespace ringtrue::ops {

// What "auto" leaves open until the ranks are known is nullopt.
using AlgorithmRequest = std::optional<collective::AlgorithmId>;
std::string_view name(const AlgorithmRequest& algorithm);
std::vector<std::string> algorithm_names();  // "auto" first
// "auto", or one of collective::algorithms(). The error says which was perhaps meant.
Result<AlgorithmRequest> parse_algorithm(std::string_view text);

struct CallRequest {
  AlgorithmRequest algorithm;
  std::optional<Bytes> size, from, to;
  std::optional<int> factor, shift;
  collective::Call call;  // without its elements
  std::string fault;      // checked
  bool events = false;
  std::optional<collective::Type> type_given;  // with --type; call.type has it, too
  std::optional<Bytes> slice;

  // Rising, in bytes, rounded down to whole elements. Errors (bad_input): less than one element.
  Result<std::vector<std::uint64_t>> sizes() const;
  // The call of that many bytes.
  collective::Call of(std::uint64_t bytes) const;
  // Errors (bad_input): a --shift that neither it nor the `other` algorithm takes.
  Result<void> check_shift(AlgorithmRequest other = {}) const;
};

// Errors (bad_input): a --shift, and an algorithm that does not take it.
Result<void> check_shift_of(std::optional<int> shift, AlgorithmRequest algorithm);
// Errors (bad_input): a pairwise in which every rank sends to itself, with --shift; `shift` may be missing.
Result<void> check_shift(std::optional<int> shift, int ranks);

}  // namespace ringtrue::ops
