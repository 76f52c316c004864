#include "transport/cuda/offer.h"

#include <algorithm>

#include "transport/fields.h"

namespace ringtrue::transport::cuda {

namespace {

constexpr std::uint32_t magic = 0x31635452;  // "RTc1"
constexpr std::size_t max_name = 64, max_reason = 512;

// `offer` is const where `fields` writes.
constexpr auto each = [](auto& fields, auto& offer) {
  fields.field(offer.process);
  fields.text(offer.machine, max_name);
  fields.list(offer.members, max_ranks, [&](auto& member) {
    fields.field(member.rank);
    fields.text(member.gpu, max_name);
    fields.text(member.why_not, max_reason);
    fields.field(member.handle);
    fields.field(member.data_bytes);
    fields.field(member.scratch_bytes);
  });
};

}  // namespace

std::vector<std::byte> encode(const Offer& offer) {
  return encode_offer(magic, offer, each);
}

std::optional<Offer> decode(std::span<const std::byte> bytes) {
  auto offer = decode_offer<Offer>(magic, bytes, max_offer, each);
  const auto is_rank = [](const Offer::Member& member) { return member.rank < std::uint32_t(max_ranks); };
  return offer && std::ranges::all_of(offer->members, is_rank) ? offer : std::nullopt;
}

}  // namespace ringtrue::transport::cuda
