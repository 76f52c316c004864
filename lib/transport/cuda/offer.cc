#include "transport/cuda/offer.h"

#include <algorithm>

#include "transport/fields.h"

namespace ringtrue::transport::cuda {

namespace {

constexpr std::uint32_t magic = 0x31635452;  // "RTc1"
constexpr std::size_t max_name = 64, max_reason = 512;

// `O` is const where `fields` writes.
template <class Fields, class O>
void each_field(Fields& fields, O& offer) {
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
}

}  // namespace

std::vector<std::byte> encode(const Offer& offer) {
  FieldWriter out;
  out.field(magic);
  each_field(out, offer);
  return std::move(out.bytes);
}

std::optional<Offer> decode(std::span<const std::byte> bytes) {
  if (bytes.size() > max_offer) return std::nullopt;
  FieldReader in(bytes);
  std::uint32_t begin = 0;
  Offer offer;
  in.field(begin);
  each_field(in, offer);
  const auto is_rank = [](const Offer::Member& member) { return member.rank < std::uint32_t(max_ranks); };
  const bool whole = begin == magic && in.good && in.over();
  return whole && std::ranges::all_of(offer.members, is_rank) ? std::optional(std::move(offer))
                                                              : std::nullopt;
}

}  // namespace ringtrue::transport::cuda
