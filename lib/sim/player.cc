#include "sim/player.h"

#include <algorithm>
#include <cstring>

#include "sim/world.h"

namespace ringtrue::sim {

PacketBody::Shared PacketBody::make(std::span<const std::byte> header, std::span<const Slice> parts) {
  void* piece = ::operator new(sizeof(PacketBody) + 8 * parts.size() + header.size());
  return Shared(new (piece) PacketBody(header, parts));
}

PacketBody::PacketBody(std::span<const std::byte> header, std::span<const Slice> parts)
    : header_(std::uint16_t(header.size())), parts_(std::uint16_t(parts.size())) {
  std::byte* at = reinterpret_cast<std::byte*>(this + 1);
  for (const Slice& part : parts) {
    payload_ += part.length;
    at = static_cast<std::byte*>(std::memcpy(at, &part.length, 8)) + 8;
  }
  std::copy(header.begin(), header.end(), at);
}

std::uint64_t PacketBody::part(std::size_t i) const {
  std::uint64_t length = 0;
  std::memcpy(&length, memory() + 8 * i, 8);
  return length;
}

void KnownBlocks::values(std::uint64_t block, std::vector<std::uint64_t>& elements) const {
  const std::uint64_t begin = block * block_, end = std::min(begin + block_, elements_);
  if (options_.values) return options_.values(rank_, begin, end, elements);
  for (std::uint64_t i = begin; i < end; ++i) elements.push_back(i);
}

const collective::Layout& Player::layout() const {
  return world_.layout();
}

Token Player::open(std::size_t messages) {
  if (messages == 0) return {};
  left_.push_back(std::uint32_t(messages));
  return Token{std::uint32_t(left_.size())};
}

Token Player::send_all(std::span<const Rank> to, Lane lane, Slice from) {
  const Token token = open(to.size());
  for (const Rank peer : to) {
    world_.post(false, rank_, peer, lane, from.length, std::uint32_t(token.id), false);
  }
  return token;
}

Token Player::receive_from(std::span<const Rank> from, Lane lane, Slice into, bool adds) {
  const Token token = open(from.size());
  for (const Rank peer : from) {
    world_.post(true, peer, rank_, lane, into.length, std::uint32_t(token.id), adds);
  }
  return token;
}

std::coroutine_handle<> Player::count_down(std::uint32_t token) {
  if (left_[token - 1] == cancelled || --left_[token - 1] > 0) return nullptr;
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.token == token; });
  if (found == waiting_.end()) return nullptr;
  const auto waiter = found->waiter;
  *found = waiting_.back();
  waiting_.pop_back();
  return waiter;
}

bool Player::reliable() const {
  return world_.reliable();
}

Seconds Player::now() const {
  return world_.now();
}

bool Player::wants_rounds() const {
  return world_.wants_rounds();
}

void Player::seen(const collective::RoundSeen& round) {
  world_.keep(round);
}

void Player::give_up(Rank peer, std::string what) {
  world_.give_up(rank_, peer, std::move(what));
}

Token Player::timer(Seconds from_now) {
  const Token token = open(1);
  world_.ring(rank_, std::uint32_t(token.id), from_now);
  return token;
}

void Player::handle(collective::PacketHandler* handler) {
  handler_ = handler;
  if (handler && !mail_.empty()) world_.call_for_mail(rank_);
}

Token Player::send_packet(std::span<const Rank> to, std::span<const std::byte> header,
                          std::span<const Slice> parts) {
  const PacketBody::Shared packet = PacketBody::make(header, parts);
  const Token token = open(to.size());
  for (const Rank peer : to) world_.post_packet(rank_, peer, packet, std::uint32_t(token.id));
  return token;
}

void Player::welcome_packets() {
  while (handler_ && !mail_.empty()) {
    const Mail mail = std::move(mail_.front());
    mail_.pop_front();
    welcome(mail);
  }
}

void Player::welcome(const Mail& mail) {
  placed_.clear();
  const collective::Placed placed = handler_->place(mail.from, mail.packet->header(), placed_);
  if (placed == collective::Placed::dropped && !reliable()) return;
  if (placed != collective::Placed::accepted) {
    return world_.refuse(mail.from, rank_, "a packet's header makes no sense here");
  }
  bool fits = placed_.size() == mail.packet->parts();
  for (std::size_t i = 0; fits && i < placed_.size(); ++i)
    fits = placed_[i].into.length == mail.packet->part(i);
  if (!fits) return world_.refuse(mail.from, rank_, "a packet's parts do not fit where they belong");
  handler_->arrived(mail.from, mail.packet->header());
}

}  // namespace ringtrue::sim
