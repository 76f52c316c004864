// What a stranger may send to a datagram port. What is accepted is what would be written, and a tag that is
// not of our making is never taken for ours.
#include "transport/udp/datagram.h"

#include <cstring>
#include <vector>

#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::transport::udp;
  static Tagger tagger("a secret that the input does not know");
  const std::span<const std::byte> datagram(reinterpret_cast<const std::byte*>(data), size);
  const auto head = decode(datagram);
  if (!head) return 0;
  expect(head->datagram_bytes() == size && head->from >= 0 && head->to >= 0);
  const auto again = encode(*head);
  expect(std::memcmp(again.data(), data, again.size()) == 0);
  expect(!tagger.proves(datagram));

  std::vector<std::byte> ours(datagram.begin(), datagram.end());
  const Tag tag = tagger.tag(std::span(ours).first(size - tag_bytes));
  std::memcpy(ours.data() + size - tag_bytes, tag.data(), tag_bytes);
  expect(tagger.proves(ours));
  return 0;
}
