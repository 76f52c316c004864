// --input: the operator's own data, from one file or from one a worker.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "collective/types.h"
#include "run/job.h"

namespace ringtrue::ops {

struct OwnData {
  std::shared_ptr<const run::Input> input;
  std::string note;  // how the file was taken where that may surprise; empty otherwise
};

// `name`: a .npy file. An array whose first of two dimensions is `workers` holds a row for each; any other is
// the same data for all. With "{rank}" in the name there is a file a worker. A structured array of a key and
// a value is a list of pairs, all other elements being zero; its length is the largest key's, plus one.
// bad_input: no such file, not what `type` says, rows of different lengths.
Result<OwnData> input_of(const std::string& name, int workers, std::optional<collective::Type> type);

// How many values are -0.0.
std::uint64_t negative_zeros(const run::Input& input);

}  // namespace ringtrue::ops
