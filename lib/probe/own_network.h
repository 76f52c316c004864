// Whether /sys shows the network namespace that this process is in: a mounted one keeps showing that in which
// it was mounted.
#pragma once

#include "probe/source.h"

namespace ringtrue::probe {

bool sees_own_network(Source& source);

}  // namespace ringtrue::probe
