// Configuration files: any text is read or refused, and what a configuration says of itself applies again.
#include "config/config.h"

#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto values = config::read_toml(text, "fuzzed.toml");
  if (!values) {
    expect(!values.error().what.empty());
    return 0;
  }
  config::Config config;
  for (const config::Given& given : *values) {
    if (const auto applied = config::apply(config, given); !applied) {
      expect(!applied.error().what.empty());
      return 0;
    }
  }
  if (!config::validate(config)) return 0;
  config::Config again;
  for (const config::Given& given : config::effective(config)) {
    if (given.text.empty()) continue;  // has no value yet
    expect(config::apply(again, given).has_value());
  }
  return 0;
}
