// The operator's own data, and what may come out of reducing it.
//
// Integers wrap and are exact in any order. Floats are held against a reference in double (of float64: long
// double):
//   sum, avg  |got - reference| <= 2 W eps sum|x|  (avg: a W-th of it): each of W-1 additions, in any order,
//             rounds by at most eps/2 of what has been added so far (Higham, Accuracy and Stability, 4.2)
//   prod      |got - reference| <= 2 W eps |reference|
//   min, max  exact
// and a step of the least denormal. A NaN is expected where the reference is one, infinity where it is
// infinite. Where it depends on the order whether a part of the sum or product overflows or underflows, every
// outcome of that is right.
#pragma once

#include "engine/values/job.h"
#include "run/job.h"

namespace ringtrue::engine {

class InputValues final : public JobValues {
 public:
  InputValues(const run::Job& job, bool allreduce);

  void fill(collective::Rank rank, std::byte* data, bool fresh) const override;
  Mismatch check(collective::Rank rank, std::byte* data, bool everything) const override;

 private:
  std::shared_ptr<const run::Input> input_;
  collective::Type type_;
  collective::Operation operation_;
  collective::Rank workers_, shift_;
  std::uint64_t elements_;
  bool allreduce_;
};

}  // namespace ringtrue::engine
