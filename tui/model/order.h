// What a task means, and what it costs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "operator/check.h"
#include "operator/run.h"
#include "operator/sweep.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

struct Order {
  Task task;
  std::vector<std::size_t> nodes;  // of those known
  ops::AlgorithmRequest algorithm{};
  std::optional<Seconds> budget{};
  std::optional<Bytes> bytes{};
};

// Of nodes that are known by these names; an empty one cannot be named. Errors: bad_input.
Result<Order> order_of(const Task& task, const std::vector<std::string>& names);

struct CostsKnown {
  std::string last{};  // of a check of all: "18 runs, 9 s, 2.3 GiB"
  Maybe rate{};        // of a node's port, bytes per second
  std::string held{};  // "held by nobody"
};
Price price_of(const Order& order, const CostsKnown& known, std::size_t of_all);

// Without setup.
ops::CheckRequest check_of(const Order& order);
ops::RunRequest run_of(const Order& order);
ops::SweepRequest sweep_of(const Order& order);

}  // namespace ringtrue::tui
