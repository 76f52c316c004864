#include "transport/cuda/ground.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace ringtrue::transport::cuda {

using collective::Rank;

std::string Ground::name(Rank rank) {
  const int plant = plant_of[std::size_t(rank)];
  if (plant < 0) return fmt::format("rank {} of process {}", rank, settings.seats[std::size_t(rank)].process);
  return fmt::format("rank {} on {}", rank, plants[std::size_t(plant)].device->gpu().text());
}

namespace {

std::string machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id.substr(0, 64);
}

// Makes `owner`'s memory readable for kernels on `plant`.
Result<void> reach(Ground& ground, Plant& plant, Rank owner, const Offer::Member& member) {
  std::byte*& base = plant.base[std::size_t(owner)];
  if (base) return {};
  const int other = ground.plant_of[std::size_t(owner)];
  if (other >= 0) {
    Plant& home = ground.plants[std::size_t(other)];
    const auto can = plant.device->can_access(home.device->gpu().index);
    if (!can) return tl::unexpected(can.error());
    base = home.base[std::size_t(owner)];  // copy engines use it in any case
    if (!*can)
      return fail(Cause::unavailable, fmt::format("no peer access from {} to {}", plant.device->gpu().text(),
                                                  home.device->gpu().text()));
    return plant.device->enable_access(home.device->gpu().index);
  }
  if (!member.why_not.empty()) return fail(Cause::unavailable, member.why_not);
  if (member.gpu == plant.device->gpu().uuid) return {};  // not to be used: see choose()
  auto opened = plant.device->open_shared(member.handle, ground.region.bytes);
  if (!opened) return tl::unexpected(opened.error());
  base = (*opened)->at();
  plant.opened.push_back(std::move(*opened));
  return {};
}

}  // namespace

bool alone(const Settings& settings) {
  return std::all_of(settings.seats.begin(), settings.seats.end(),
                     [&](const Seat& seat) { return seat.process == settings.process; });
}

Offer offer_of(const Ground& ground) {
  const Settings& settings = ground.settings;
  Offer offer;
  offer.process = std::uint32_t(settings.process);
  offer.machine = machine();
  for (const Plant& plant : ground.plants) {
    for (std::size_t i = 0; i < plant.ranks.size(); ++i) {
      Offer::Member member;
      member.rank = std::uint32_t(plant.ranks[i]);
      member.gpu = plant.device->gpu().uuid;
      member.data_bytes = settings.data_bytes;
      member.scratch_bytes = settings.scratch_bytes;
      if (!alone(settings)) {
        auto handle = plant.device->share(*plant.regions[i]);
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

Result<std::vector<Pair>> reach_all(Ground& ground, std::span<const Offer> offers,
                                    const std::string& machine) {
  const Settings& settings = ground.settings;
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
  for (Plant& plant : ground.plants) {
    std::vector<std::string> refused(members.size());
    for (std::size_t owner = 0; owner < members.size(); ++owner) {
      auto reached = reach(ground, plant, Rank(owner), *members[owner]);
      if (!reached) refused[owner] = reached.error().what;
    }
    for (const Rank reader : plant.ranks) {
      for (std::size_t owner = 0; owner < members.size(); ++owner) {
        if (Rank(owner) == reader) continue;
        pairs.push_back({.reader = reader,
                         .owner = Rank(owner),
                         .same_process = ground.plant_of[owner] >= 0,
                         .same_gpu = members[owner]->gpu == plant.device->gpu().uuid,
                         .refused = refused[owner]});
      }
    }
  }
  return pairs;
}

}  // namespace ringtrue::transport::cuda
