// Protobuf messages over a stream socket between a daemon and a worker: four bytes of length, little-endian,
// then the message. Descriptors travel beside the length.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace ringtrue::worker {

class Channel {
 public:
  Channel() = default;
  // Takes the socket, which becomes non-blocking.
  explicit Channel(OwnedFd socket);

  // Cause::peer_lost when the other end is gone, Cause::deadline when it does not take the message in time.
  Result<void> send(const google::protobuf::MessageLite& message, Deadline deadline,
                    std::span<const int> descriptors = {});

  // Reads what there is, without waiting. True once a whole message lies in `message`; false when there is
  // none yet. Cause::peer_lost at the end of the stream, Cause::corrupted for what is no message.
  Result<bool> poll(google::protobuf::MessageLite& message);
  // Waits for one.
  Result<void> receive(google::protobuf::MessageLite& message, Deadline deadline);

  // Descriptors that have come so far; the caller owns them from here on.
  std::vector<OwnedFd> take_descriptors() { return std::move(descriptors_); }

  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

 private:
  Result<bool> fill(std::size_t bytes);  // true once `bytes` lie in buffer_

  OwnedFd socket_;
  std::string buffer_;                   // the length, or the message, as far as it has come
  std::size_t have_ = 0;                 // bytes of buffer_ that have come
  std::optional<std::uint32_t> length_;  // of the message that is coming
  std::vector<OwnedFd> descriptors_;
};

}  // namespace ringtrue::worker
