// The settings of RDMA with their values, as people see them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run/rdma.h"

namespace ringtrue::run {

// By name, in the order of rdma_setting_names(); texts that set() reads.
std::vector<std::pair<std::string, std::string>> list(const RdmaSettings& settings);

}  // namespace ringtrue::run
