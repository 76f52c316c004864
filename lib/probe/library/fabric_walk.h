// Walking the InfiniBand fabric behind this machine's active ports with libibnetdisc.
#pragma once

#include <infiniband/ibnetdisc.h>

#include <cstddef>
#include <functional>
#include <string>

#include "base/result.h"

namespace ringtrue::probe::walk {

struct LocalPort {
  std::string device;
  int number = 0;
};

// Called for each fabric, in the order of this machine's ports; a port that an earlier one's fabric has is of
// the same one.
using Visit = std::function<void(const LocalPort& from, ibnd_fabric_t* fabric)>;

// `root`: of recorded files, which have no fabric; empty: this machine. Errors: bad_input where there is no
// InfiniBand, unavailable, refused without permission; only where no fabric could be walked.
Result<void> each_fabric(const std::string& root, const Visit& visit);

// As ibnetdiscover writes it, up to so many bytes; how many nodes were left out for their sake.
std::size_t write_fabric(const LocalPort& from, ibnd_fabric_t* fabric, std::size_t max_bytes,
                         std::string& text);

// A node's description without what would break a line or end a quotation.
std::string description(const ibnd_node_t* node);

}  // namespace ringtrue::probe::walk
