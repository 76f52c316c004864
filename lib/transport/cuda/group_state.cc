#include "transport/cuda/group_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"

namespace ringtrue::transport::cuda {

using collective::Rank;

std::string GroupState::name(Rank rank) {
  const int context = context_of[std::size_t(rank)];
  if (context < 0)
    return fmt::format("rank {} of process {}", rank, settings.seats[std::size_t(rank)].process);
  return fmt::format("rank {} on {}", rank, contexts[std::size_t(context)].device->gpu().text());
}

namespace {

std::string machine() {
  return first_line("/proc/sys/kernel/random/boot_id").substr(0, 64);
}

// Makes `owner`'s memory readable for kernels on `context`.
Result<void> reach(GroupState& state, DeviceContext& context, Rank owner, const Offer::Member& member) {
  std::byte*& base = context.base[std::size_t(owner)];
  if (base) return {};
  const int other = state.context_of[std::size_t(owner)];
  if (other >= 0) {
    DeviceContext& home = state.contexts[std::size_t(other)];
    const auto can = context.device->can_access(home.device->gpu().index);
    if (!can) return tl::unexpected(can.error());
    base = home.base[std::size_t(owner)];  // copy engines use it in any case
    if (!*can)
      return fail(Cause::unavailable, fmt::format("no peer access from {} to {}",
                                                  context.device->gpu().text(), home.device->gpu().text()));
    return context.device->enable_access(home.device->gpu().index);
  }
  if (!member.why_not.empty()) return fail(Cause::unavailable, member.why_not);
  if (member.gpu == context.device->gpu().uuid) return {};  // not to be used: see choose()
  auto opened = context.device->open_shared(member.handle, state.region.bytes);
  if (!opened) return tl::unexpected(opened.error());
  base = (*opened)->at();
  context.opened.push_back(std::move(*opened));
  return {};
}

}  // namespace

bool alone(const Settings& settings) {
  return std::all_of(settings.seats.begin(), settings.seats.end(),
                     [&](const Seat& seat) { return seat.process == settings.process; });
}

Offer offer_of(const GroupState& state) {
  const Settings& settings = state.settings;
  Offer offer;
  offer.process = std::uint32_t(settings.process);
  offer.machine = machine();
  for (const DeviceContext& context : state.contexts) {
    for (std::size_t i = 0; i < context.ranks.size(); ++i) {
      Offer::Member member;
      member.rank = std::uint32_t(context.ranks[i]);
      member.gpu = context.device->gpu().uuid;
      member.data_bytes = settings.data_bytes;
      member.scratch_bytes = settings.scratch_bytes;
      if (!alone(settings)) {
        auto handle = context.device->share(*context.regions[i]);
        if (handle)
          member.handle = *handle;
        else
          member.why_not = handle.error().what;
      }
      offer.members.push_back(std::move(member));
    }
  }
  return offer;
}

Result<std::vector<Pair>> reach_all(GroupState& state, std::span<const Offer> offers,
                                    const std::string& machine) {
  const Settings& settings = state.settings;
  std::vector<const Offer::Member*> members(settings.seats.size(), nullptr);
  for (const Offer& offer : offers)
    for (const Offer::Member& member : offer.members) {
      const bool expected = member.rank < members.size() && !members[member.rank] &&
                            settings.seats[member.rank].process == int(offer.process) &&
                            member.data_bytes == settings.data_bytes &&
                            member.scratch_bytes == settings.scratch_bytes;
      if (!expected || offer.machine != machine)
        return fail(Cause::corrupted,
                    fmt::format("process {} does not offer what was agreed", offer.process));
      members[member.rank] = &member;
    }
  if (std::count(members.begin(), members.end(), nullptr))
    return fail(Cause::corrupted, "the offers leave out a rank");

  std::vector<Pair> pairs;
  for (DeviceContext& context : state.contexts) {
    std::vector<std::string> refused(members.size());
    for (std::size_t owner = 0; owner < members.size(); ++owner) {
      auto reached = reach(state, context, Rank(owner), *members[owner]);
      if (!reached) refused[owner] = reached.error().what;
    }
    for (const Rank reader : context.ranks) {
      for (std::size_t owner = 0; owner < members.size(); ++owner) {
        if (Rank(owner) == reader) continue;
        pairs.push_back({.reader = reader,
                         .owner = Rank(owner),
                         .same_process = state.context_of[owner] >= 0,
                         .same_gpu = members[owner]->gpu == context.device->gpu().uuid,
                         .refused = refused[owner]});
      }
    }
  }
  return pairs;
}

}  // namespace ringtrue::transport::cuda
