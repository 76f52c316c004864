#include "transport/shm/layout.h"

#include <algorithm>

namespace ringtrue::transport::shm {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t huge_page = 2 * 1024 * 1024;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

int Plan::position(Rank rank) const {
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
  return at != ranks.end() && *at == rank ? int(at - ranks.begin()) : -1;
}

Layout lay_out(const Plan& plan) {
  Layout layout;
  std::uint64_t end = 0;
  auto take = [&end](std::uint64_t bytes, std::uint64_t alignment) {
    const std::uint64_t at = round_up(end, alignment);
    end = at + bytes;
    return at;
  };
  const std::uint64_t cells = 2 * plan.directions.size() + 1;
  for (int t = 0; t < plan.threads; ++t) {
    layout.mailboxes.push_back(take(sizeof(Mailbox), 64));
    take(cells * sizeof(std::uint32_t), 64);
  }
  for (std::size_t i = 0; i < plan.directions.size(); ++i)
    layout.directions.push_back(take(sizeof(Direction), 64));
  layout.control_bytes = end;
  for (std::size_t i = 0; i < plan.ranks.size(); ++i) {
    // Large buffers on huge pages, each at another offset in its page, so that the ranks' buffers do not all
    // fall into the same sets of a cache.
    const bool large = plan.data_bytes[i] >= huge_page;
    const std::uint64_t at = take(plan.data_bytes[i] + page * 8, large ? huge_page : page);
    layout.data.push_back(at + (large ? (i % 8) * page / 2 : 0));
    layout.scratch.push_back(take(plan.scratch_bytes[i], page));
  }
  layout.bytes = round_up(end, page);
  return layout;
}

}  // namespace ringtrue::transport::shm
