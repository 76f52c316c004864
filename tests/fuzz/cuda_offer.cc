// What another process may offer of its GPU memory: what is accepted is what would be written.
#include <algorithm>

#include "tests/fuzz/expect.h"
#include "transport/cuda/offer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::transport::cuda;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto offer = decode(bytes)) {
    expect(std::ranges::equal(encode(*offer), bytes));
    expect(offer->members.size() <= std::size_t(max_ranks) && bytes.size() <= max_offer);
  }
  return 0;
}
