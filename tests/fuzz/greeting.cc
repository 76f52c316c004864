// What a peer may tell of its RDMA: greetings over the control connection, heads and immediates in the ring.
// What is accepted is what would be written, and can be held against a greeting of ours.
#include "transport/verbs/greeting.h"

#include <algorithm>
#include <cstring>

#include "tests/fuzz/expect.h"
#include "transport/verbs/slice.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::transport::verbs;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto greeting = decode(bytes)) {
    expect(std::ranges::equal(encode(*greeting), bytes));
    expect(mismatch(*greeting, *greeting).size() < 2000);
    expect(!greeting->why_not.empty() || (!greeting->rails.empty() && greeting->slot_bytes % 64 == 0));
  }

  std::array<std::byte, head_bytes> head{};
  std::memcpy(head.data(), data, size ? std::min(size, head.size()) : 0);
  if (const auto read = decode(head, 3)) expect(encode(*read, 3) == head);
  std::uint32_t immediate;
  std::memcpy(&immediate, head.data(), sizeof immediate);
  if (const auto read = decode(immediate)) expect(encode(*read) == immediate);
  return 0;
}
