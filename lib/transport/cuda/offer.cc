#include "transport/cuda/offer.h"

#include "transport/fields.h"

namespace ringtrue::transport::cuda {

namespace {

constexpr std::uint32_t magic = 0x31635452;  // "RTc1"
constexpr std::size_t max_name = 64, max_reason = 512;

}  // namespace

std::vector<std::byte> encode(const Offer& offer) {
  FieldWriter out;
  out.put(magic);
  out.put(offer.process);
  out.text(offer.machine, max_name);
  out.put(std::uint16_t(offer.members.size()));
  for (const Offer::Member& member : offer.members) {
    out.put(member.rank);
    out.text(member.gpu, max_name);
    out.text(member.why_not, max_reason);
    out.put(member.handle);
    out.put(member.data_bytes);
    out.put(member.scratch_bytes);
  }
  return std::move(out.bytes);
}

std::optional<Offer> decode(std::span<const std::byte> bytes) {
  if (bytes.size() > max_offer) return std::nullopt;
  FieldReader in(bytes);
  if (in.get<std::uint32_t>() != magic) return std::nullopt;
  Offer offer;
  offer.process = in.get<std::uint32_t>();
  offer.machine = in.text(max_name);
  const std::size_t members = in.get<std::uint16_t>();
  if (members > std::size_t(max_ranks)) return std::nullopt;
  for (std::size_t i = 0; i < members && in.good; ++i) {
    Offer::Member& member = offer.members.emplace_back();
    member.rank = in.get<std::uint32_t>();
    member.gpu = in.text(max_name);
    member.why_not = in.text(max_reason);
    member.handle = in.get<IpcHandle>();
    member.data_bytes = in.get<std::uint64_t>();
    member.scratch_bytes = in.get<std::uint64_t>();
    in.good &= member.rank < std::uint32_t(max_ranks);
  }
  if (!in.good || !in.over()) return std::nullopt;
  return offer;
}

}  // namespace ringtrue::transport::cuda
