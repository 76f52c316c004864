#include "tui/model/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/hostlist.h"
#include "base/plural.h"
#include "base/units.h"
#include "ideal/loads.h"

namespace ringtrue::tui {
namespace {

constexpr std::uint64_t smallest_size = std::uint64_t(64) << 10, largest_size = std::uint64_t(64) << 30;

// Of a call's bytes, what goes through the busiest node's port, one rank a node; nullopt: the algorithm is
// not for several nodes.
Maybe through_busiest(collective::AlgorithmId algorithm, std::size_t nodes) {
  // Dense data, and an aggregator on each worker's node: all of it out but its own share, and as much of the
  // result.
  if (algorithm == collective::AlgorithmId::omnireduce) return 2 * double(nodes - 1) / double(nodes);
  for (const ideal::Schedule& schedule : ideal::schedules())
    if (schedule.algorithm == algorithm)
      if (const auto loads = schedule.loads({int(nodes), 1})) return loads->inter;
  return std::nullopt;
}

std::string time_text(const Maybe& seconds) {
  return seconds ? fmt::format("at least {:.0f} s", std::ceil(*seconds)) : "time unknown";
}

}  // namespace

Result<Order> order_of(const Task& task, const std::vector<std::string>& names) {
  Order out;
  out.task = task;
  if (task.nodes.empty()) {
    for (std::size_t i = 0; i < names.size(); ++i) out.nodes.push_back(i);
  } else {
    const auto asked = expand_hostlist(task.nodes, nullptr);
    if (!asked) return tl::unexpected(asked.error());
    for (const std::string& name : *asked) {
      const auto place = std::ranges::find(names, name);
      if (place == names.end() || name.empty())
        return fail(Cause::bad_input, fmt::format("{} is none of the nodes here", name));
      out.nodes.push_back(std::size_t(place - names.begin()));
    }
    std::ranges::sort(out.nodes);
    out.nodes.erase(std::unique(out.nodes.begin(), out.nodes.end()), out.nodes.end());
  }
  if (out.nodes.size() < 2) return fail(Cause::bad_input, "two nodes and more are needed");
  if (!task.algorithm.empty() && task.kind != Task::Kind::sweep) {
    auto algorithm = ops::parse_algorithm(task.algorithm);
    if (!algorithm) return tl::unexpected(std::move(algorithm.error()));
    out.algorithm = *algorithm;
  }
  if (task.amount.empty()) return out;
  if (task.kind == Task::Kind::check) {
    const auto budget = parse_duration(task.amount);
    if (!budget) return tl::unexpected(budget.error());
    out.budget = *budget;
    return out;
  }
  const auto bytes = parse_size(task.amount);
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->value < 4096 || bytes->value > largest_size)
    return fail(Cause::bad_input, fmt::format("{} is not between 4K and 64G", task.amount));
  out.bytes = *bytes;
  return out;
}

Price price_of(const Order& order, const CostsKnown& known, std::size_t of_all) {
  const double nodes = double(order.nodes.size());
  const std::string where = fmt::format("on {}, {}", plural(order.nodes.size(), "node"), known.held);
  Price out{order.task, "", ""};
  switch (order.task.kind) {
    case Task::Kind::check: {
      out.what = fmt::format("check of {}", plural(order.nodes.size(), "node"));
      const bool as_last = order.nodes.size() == of_all && !order.budget && !known.last.empty();
      // What still runs at the end of the budget has a quarter of it more.
      const double budget = order.budget ? order.budget->value : 16;
      out.cost = as_last ? fmt::format("{} {}", known.last, where)
                         : fmt::format("up to {:.0f} s of load {}",
                                       std::ceil(budget + std::max(budget / 4, 4.0)), where);
      return out;
    }
    case Task::Kind::run: {
      const ops::RunRequest request = run_of(order);
      const auto sizes = request.call.sizes();
      const double calls = request.iterations + request.warmup;
      const auto algorithm = order.algorithm.value_or(collective::AlgorithmId::ring);
      double of_sizes = 0;
      for (const std::uint64_t size : *sizes) of_sizes += double(size) * calls;
      const Maybe busiest = through_busiest(algorithm, order.nodes.size());
      const Maybe seconds =
          busiest && known.rate && *known.rate > 0 ? Maybe(of_sizes * *busiest / *known.rate) : Maybe();
      out.what =
          fmt::format("run of {} up to {}", ops::name(order.algorithm), size_text(double(sizes->back())));
      out.cost =
          fmt::format("{:.0f} calls, {}, {} {}", calls * double(sizes->size()), time_text(seconds),
                      size_text(of_sizes * ideal::sent_by_all(algorithm, long(order.nodes.size()))), where);
      return out;
    }
    case Task::Kind::sweep: {
      const ops::SweepRequest request = sweep_of(order);
      const double shifts = nodes - 1, each = double(request.size.value) * request.iterations;
      const Maybe seconds = known.rate && *known.rate > 0 ? Maybe(shifts * each / *known.rate) : Maybe();
      out.what = fmt::format("sweep of {}", plural(order.nodes.size(), "node"));
      out.cost = fmt::format("{}, {}, {} {}", plural(std::size_t(shifts), "run"), time_text(seconds),
                             size_text(shifts * each * nodes), where);
      return out;
    }
  }
  return out;
}

ops::CheckRequest check_of(const Order& order) {
  ops::CheckRequest out;
  if (order.algorithm) out.algorithm = *order.algorithm;
  out.budget = order.budget;
  return out;
}

ops::RunRequest run_of(const Order& order) {
  ops::RunRequest out;
  out.call.algorithm = order.algorithm;
  out.call.to = order.bytes.value_or(Bytes{64u << 20});
  out.call.from = Bytes{std::min(smallest_size, out.call.to->value)};
  out.call.factor = 4;
  return out;
}

ops::SweepRequest sweep_of(const Order& order) {
  ops::SweepRequest out;
  if (order.bytes) out.size = *order.bytes;
  return out;
}

}  // namespace ringtrue::tui
