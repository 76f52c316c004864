// A line of a daemon's record of events: refused, or what was read writes the same again.
#include <fmt/format.h>

#include "probe/event_log.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  run::DeviceEvent event, again;
  if (!probe::parse_event(text, event)) return 0;
  expect(event.first <= event.last && event.count > 0 && !event.device.empty() && !event.counter.empty());
  expect(probe::parse_event(
      fmt::format("{} {} {} {} {}", event.first, event.last, event.device, event.counter, event.count),
      again));
  expect(event == again);
  return 0;
}
