// What a worker may write to its daemon: any bytes on the channel become messages or end it. The first byte
// says in how large pieces they arrive.
#include "worker/channel.h"

#include <google/protobuf/stubs/logging.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tests/fuzz/expect.h"
#include "wire/node.pb.h"

// protobuf would print a line for each text that is no UTF-8.
[[maybe_unused]] static const auto silenced = google::protobuf::SetLogHandler(nullptr);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue;
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 32;
  int ends[2];
  expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  worker::Channel channel{OwnedFd(ends[0])};
  OwnedFd writer(ends[1]);
  std::size_t at = 1;
  for (;;) {
    const std::size_t length = std::min(piece, size - at);
    if (length) {
      expect(::write(writer.get(), data + at, length) == ssize_t(length));
      at += length;
    } else {
      writer.reset();
    }
    rpc::Event event;
    auto got = channel.poll(event);
    while (got && *got) got = channel.poll(event);
    if (!got) {
      expect(got.error().cause == Cause::peer_lost || got.error().cause == Cause::corrupted);
      return 0;
    }
    expect(length != 0);  // the end of the stream is an error, not silence
  }
}
