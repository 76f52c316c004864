#include "engine/packets/channel.h"

#include <fmt/format.h>

#include <cstring>

#include "collective/omnireduce/omnireduce.h"

namespace ringtrue::engine {

namespace {

// Tokens of a channel: packets that are sent by their id, everything that is received by this one.
constexpr std::uint64_t received = ~std::uint64_t(0);

std::uint32_t part_length(const std::byte* lengths, std::size_t i) {
  std::uint32_t length;
  std::memcpy(&length, lengths + 4 * i, sizeof length);
  return length;
}

}  // namespace

std::size_t max_enveloped(const collective::Call& call) {
  return collective::max_header(call) + 4 * collective::max_packet_parts + 2;
}

std::size_t put_envelope(std::byte* buffer, std::size_t header,
                         std::span<const std::span<const std::byte>> parts) {
  std::byte* at = buffer + header;
  for (const auto part : parts) {
    const auto length = std::uint32_t(part.size());
    std::memcpy(at, &length, sizeof length);
    at += sizeof length;
  }
  const auto count = std::uint16_t(parts.size());
  std::memcpy(at, &count, sizeof count);
  return std::size_t(at - buffer) + sizeof count;
}

void ChannelRoute::send(const PacketToSend& packet) {
  const std::size_t count = packet.parts.size();
  rank_.expect(packet.id, std::uint32_t(1 + count));
  channel_->send(packet.id, packet.enveloped.data(), packet.enveloped.size(), count > 0);
  for (std::size_t i = 0; i < count; ++i)
    channel_->send(packet.id, packet.parts[i].data(), packet.parts[i].size(), i + 1 < count);
}

void ChannelRoute::listen() {
  if (broke_) return rank_.failed(std::move(*std::exchange(broke_, std::nullopt)));
  if (stage_ == Stage::quiet) post_header();
  work();
}

void ChannelRoute::failed(Error error) {
  if (error.cause == Cause::peer_lost) error.what = fmt::format("{}: {}", rank_.describe(peer_), error.what);
  if (rank_.listening()) return rank_.failed(std::move(error));
  if (!broke_) broke_ = std::move(error);
}

void ChannelRoute::post_done(std::uint64_t token) {
  if (token != received) return rank_.sent(std::uint32_t(token));
  --left_;
  work();
}

void ChannelRoute::post_header() {
  stage_ = Stage::header;
  left_ = 1;
  transport::Destination into{buffer_.data(), nullptr, buffer_.size()};
  into.up_to = true;
  into.came = &came_;
  channel_->receive(received, into);
}

// A receive that is posted may be done at once, which comes back here through post_done(): then the loop
// below goes on with it, and nothing nests.
void ChannelRoute::work() {
  if (working_) return;
  working_ = true;
  while (left_ == 0 && rank_.listening()) {
    if (stage_ == Stage::header) {
      if (!open_packet()) break;
      continue;
    }
    if (placed_ == Placed::accepted) rank_.arrived(peer_, buffer_.first(header_bytes_));
    post_header();
  }
  working_ = false;
}

bool ChannelRoute::open_packet() {
  const auto disagree = [this](const std::string& what) {
    rank_.failed(Error{Cause::corrupted,
                       fmt::format("a broken packet from {}: {}", rank_.describe(peer_), what),
                       channel_->hop().peer_node,
                       {}});
    return false;
  };
  std::uint16_t count = 0;
  if (came_ >= sizeof count) std::memcpy(&count, buffer_.data() + came_ - sizeof count, sizeof count);
  const std::uint64_t envelope = sizeof count + 4 * std::uint64_t(count);
  if (came_ < envelope) return disagree("it is shorter than its envelope");
  header_bytes_ = came_ - envelope;
  const std::byte* lengths = buffer_.data() + header_bytes_;

  parts_.clear();
  placed_ = rank_.place(peer_, buffer_.first(header_bytes_), parts_);
  if (placed_ == Placed::broken) return false;
  if (placed_ == Placed::accepted) {
    if (parts_.size() != count)
      return disagree(fmt::format("{} parts where {} belong", count, parts_.size()));
    for (std::size_t i = 0; i < count; ++i)
      if (parts_[i].into.length != part_length(lengths, i))
        return disagree(fmt::format("part {} of {} bytes where {} belong", i, part_length(lengths, i),
                                    parts_[i].into.length));
  }
  stage_ = Stage::parts;
  left_ = count;
  for (std::size_t i = 0; i < count; ++i) channel_->receive(received, destination(lengths, i));
  return true;
}

transport::Destination ChannelRoute::destination(const std::byte* lengths, std::size_t i) const {
  transport::Destination to;
  to.length = part_length(lengths, i);
  to.discard = placed_ == Placed::dropped;
  if (to.discard) return to;
  to.into = rank_.address(parts_[i].into);
  if (!parts_[i].reduce) return to;
  to.with = to.into;
  to.how = collective::Arrival::reduce;
  to.receiver_moves = true;  // others send into the same slice
  return to;
}

}  // namespace ringtrue::engine
