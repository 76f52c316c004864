#include "run/job.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "run/limits.h"

namespace ringtrue::run {
namespace {

tl::unexpected<Error> bad(std::string what) {
  return fail(Cause::bad_input, "job: " + std::move(what));
}

Result<void> check_seats(const Job& job) {
  if (job.nodes.empty() || job.seats.empty()) return bad("no nodes, or no ranks");
  std::set<std::string_view> names;
  for (const std::string& node : job.nodes)
    if (!names.insert(node).second) return bad(fmt::format("nodes: '{}' twice", node));
  std::set<std::pair<int, int>> taken;
  for (std::size_t r = 0; r < job.seats.size(); ++r) {
    const Seat& seat = job.seats[r];
    if (std::size_t(seat.node) >= job.nodes.size())
      return bad(fmt::format("seats/{}: node {} is outside the list of nodes", r, seat.node));
    if (!taken.emplace(seat.node, seat.local).second) return bad(fmt::format("seats/{}: taken", r));
  }
  return {};
}

Result<void> check_roles(const Job& job) {
  const collective::Omni& omni = job.call.omni;
  if ((omni.workers > 0) != (job.algorithm == collective::AlgorithmId::omnireduce))
    return bad("omni: roles of an omnireduce for another algorithm, or an omnireduce without any");
  if (omni.workers > 0 &&
      (omni.aggregators < 1 || std::int64_t(omni.workers) + omni.aggregators != std::int64_t(job.ranks())))
    return bad(fmt::format("omni: {} workers and {} aggregators of {} ranks", omni.workers, omni.aggregators,
                           job.ranks()));
  return {};
}

Result<void> check_input(const Job& job) {
  const Input& input = *job.input;
  if (input.type != job.call.type || input.elements != job.call.elements)
    return bad(fmt::format("input: {} {} for a call of {} {}", input.elements, key_of(input.type),
                           job.call.elements, key_of(job.call.type)));
  if (input.rows.size() != 1 && input.rows.size() != std::size_t(job.workers()))
    return bad(fmt::format("input: {} rows for {} workers", input.rows.size(), job.workers()));
  for (const auto& row : input.rows)
    if (row.size() != job.call.bytes())
      return bad(fmt::format("input: a row of {} bytes for {} elements", row.size(), input.elements));
  return {};
}

}  // namespace

Result<void> check(const Job& job) {
  if (job.algorithm == collective::AlgorithmId::barrier) return bad("algorithm: barrier is simulated alone");
  if (auto fine = check_seats(job); !fine) return fine;
  if (auto fine = check_roles(job); !fine) return fine;
  if (job.call.elements > std::uint64_t(max_call_bytes) / size_of(job.call.type))
    return bad(fmt::format("elements: {}", job.call.elements));
  if (job.input)
    if (auto fine = check_input(job); !fine) return fine;
  if (auto fine = check(job.verbs); !fine) return bad("verbs: " + fine.error().what);
  if (!job.ports.empty() && job.ports.size() != job.seats.size())
    return bad(fmt::format("ports: of {} ranks", job.ports.size()));
  for (const auto& ports : job.ports)
    if (ports.size() > std::size_t(max_rdma_ports))
      return bad(fmt::format("ports: {} of a rank", ports.size()));
  if (job.gpu_limits && job.memory != Memory::device)
    return bad("gpu_limits: limits of GPUs in the host's memory");
  return {};
}

collective::Layout Job::layout() const {
  collective::Layout layout;
  for (const Seat& seat : seats) layout.node_of_rank.push_back(seat.node);
  return layout;
}

}  // namespace ringtrue::run
