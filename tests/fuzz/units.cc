// Sizes, rates and durations: any text is read within its range or refused, and a size's own text reads back.
#include "base/units.h"

#include <cmath>

#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = ringtrue::parse_size(text)) {
    expect(bytes->value <= std::uint64_t(1) << 62);
    const auto again = ringtrue::parse_size(ringtrue::to_text(*bytes));
    expect(again.has_value());
    const double from = double(bytes->value), to = double(again->value);
    expect(std::fabs(to - from) <= 0.1 * from);
  }
  if (const auto rate = ringtrue::parse_rate(text)) {
    expect(std::isfinite(rate->value) && rate->value > 0);
    expect(!ringtrue::to_text(*rate).empty());
  }
  if (const auto time = ringtrue::parse_duration(text)) {
    expect(std::isfinite(time->value) && time->value >= 0);
    expect(!ringtrue::to_text(*time).empty());
  }
  return 0;
}
