// .npy files: any bytes are read or refused, and what is read lies within them.
#include "operator/npy.h"

#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue;
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const auto npy = parse_npy(file);
  if (!npy) {
    expect(!npy.error().what.empty() && npy.error().what.find('\n') == std::string::npos);
    return 0;
  }
  expect(npy->body.size() == npy->elements * npy->record_bytes);
  expect(npy->body.data() + npy->body.size() == file.data() + file.size());
  expect(npy->value_bytes > 0 && npy->value_at + npy->value_bytes <= npy->record_bytes);
  constexpr std::uint64_t most = 1 << 20;
  const auto values = dense_values(*npy, {}, most);
  if (!values) {
    expect(!values.error().what.empty());
    return 0;
  }
  expect(values->size() <= most && values->size() % npy->value_bytes == 0);
  if (!npy->pairs) expect(values->size() == npy->body.size());
  return 0;
}
