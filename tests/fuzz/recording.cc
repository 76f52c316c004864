// Bundles: any bytes are read or refused; what was read comes back as it was, and can be redacted.
#include "probe/recording.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::probe;
  auto recording = read_recording(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!recording) {
    expect(!recording.error().what.empty());
    return 0;
  }
  const auto again = read_recording(write_recording(*recording));
  expect(again.has_value());
  expect(*again == *recording);
  redact(*recording, "salt");
  expect(read_recording(write_recording(*recording)).has_value());
  return 0;
}
