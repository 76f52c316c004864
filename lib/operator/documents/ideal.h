// The bound and each algorithm's ideal.
#pragma once

#include <optional>

#include "ideal/facts.h"
#include "ideal/ideal.h"

namespace ringtrue::ops {

struct IdealDocument {
  ideal::Inputs inputs;
  ideal::Ideal ideal;
  std::optional<ideal::Facts> facts;  // where anything was probed
};

}  // namespace ringtrue::ops
