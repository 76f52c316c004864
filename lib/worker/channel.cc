#include "worker/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ringtrue::worker {
namespace {

constexpr std::size_t header_bytes = 4;
constexpr std::uint32_t max_message_bytes = 64u << 20;
constexpr std::size_t max_descriptors = 253;  // SCM_MAX_FD of the kernel

tl::unexpected<Error> gone() {
  return fail(Cause::peer_lost, "the other end of the channel is gone");
}

Result<void> wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd p{fd, events, 0};
    const int ready = ::poll(&p, 1, deadline.left_ms());
    if (ready > 0) return {};
    if (ready == 0) return fail(Cause::deadline, "no answer on the channel in time");
    if (errno != EINTR) return fail(Cause::internal, std::string("poll: ") + std::strerror(errno));
  }
}

}  // namespace

Channel::Channel(OwnedFd socket) : socket_(std::move(socket)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

Result<void> Channel::send(const google::protobuf::MessageLite& message, Deadline deadline,
                           std::span<const int> descriptors) {
  const std::size_t length = message.ByteSizeLong();
  if (length > max_message_bytes)
    return fail(Cause::bad_input,
                "a message of " + std::to_string(length) + " bytes is too long for a worker");
  std::string bytes(header_bytes, '\0');
  for (std::size_t i = 0; i < header_bytes; ++i) bytes[i] = char(length >> (8 * i));
  message.AppendToString(&bytes);

  std::size_t sent = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(max_descriptors * sizeof(int))];
  while (sent < bytes.size()) {
    iovec part{bytes.data() + sent, bytes.size() - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (sent == 0 && !descriptors.empty()) {
      const std::size_t size = descriptors.size() * sizeof(int);
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(size);
      cmsghdr* c = CMSG_FIRSTHDR(&header);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(size);
      std::memcpy(CMSG_DATA(c), descriptors.data(), size);
    }
    const ssize_t n = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    if (n > 0) {
      sent += std::size_t(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (auto ready = wait_for(socket_.get(), POLLOUT, deadline); !ready) return ready;
    } else if (n < 0 && errno != EINTR) {
      return gone();
    }
  }
  return {};
}

Result<bool> Channel::fill(std::size_t bytes) {
  // Grows by what has come, so that a length alone costs no memory.
  while (have_ < bytes) {
    const std::size_t want = std::min<std::size_t>(bytes - have_, 256 * 1024);
    buffer_.resize(have_ + want);
    iovec part{buffer_.data() + have_, want};
    alignas(cmsghdr) char control[CMSG_SPACE(max_descriptors * sizeof(int))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
    if (n == 0) return gone();
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      return gone();
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      std::vector<int> fds((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(fds.data(), CMSG_DATA(c), fds.size() * sizeof(int));
      for (int fd : fds) descriptors_.emplace_back(fd);
    }
    have_ += std::size_t(n);
  }
  return true;
}

Result<bool> Channel::poll(google::protobuf::MessageLite& message) {
  if (!length_) {
    auto whole = fill(header_bytes);
    if (!whole || !*whole) return whole;
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < header_bytes; ++i)
      length |= std::uint32_t(std::uint8_t(buffer_[i])) << (8 * i);
    if (length > max_message_bytes)
      return fail(Cause::corrupted,
                  "a message of " + std::to_string(length) + " bytes on a worker's channel");
    length_ = length;
    have_ = 0;
  }
  auto whole = fill(*length_);
  if (!whole || !*whole) return whole;
  const bool parsed = message.ParseFromArray(buffer_.data(), int(*length_));
  length_.reset();
  have_ = 0;
  if (buffer_.capacity() > 1024 * 1024) std::string().swap(buffer_);
  if (!parsed) return fail(Cause::corrupted, "no valid message on a worker's channel");
  return true;
}

Result<void> Channel::receive(google::protobuf::MessageLite& message, Deadline deadline) {
  for (;;) {
    auto whole = poll(message);
    if (!whole) return tl::unexpected<Error>(whole.error());
    if (*whole) return {};
    if (auto ready = wait_for(socket_.get(), POLLIN, deadline); !ready) return ready;
  }
}

}  // namespace ringtrue::worker
