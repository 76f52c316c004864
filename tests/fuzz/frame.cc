// What a stranger may send to a data port: frame headers and hellos. What is accepted is what would be
// written.
#include "transport/tcp/frame.h"

#include <algorithm>
#include <cstring>

#include "tests/fuzz/expect.h"
#include "transport/tcp/handshake.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::transport::tcp;
  std::array<std::byte, frame_bytes> header{};
  std::memcpy(header.data(), data, size ? std::min(size, header.size()) : 0);
  if (const auto frame = decode(header)) expect(encode(*frame) == header);

  // A right checksum, which chance hardly finds, so that the fields behind it are read as well.
  std::uint32_t checksum = crc32c(std::span(header).first(frame_bytes - 4));
  for (std::size_t i = frame_bytes - 4; i < frame_bytes; ++i, checksum >>= 8) header[i] = std::byte(checksum);
  if (const auto frame = decode(header)) expect(encode(*frame) == header);

  std::array<std::byte, hello_bytes> greeting{};
  std::memcpy(greeting.data(), data, size ? std::min(size, greeting.size()) : 0);
  if (const auto hello = decode_hello(greeting)) expect(encode(*hello) == greeting);
  return 0;
}
