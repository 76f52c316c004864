// Documents of checks, as `history import` takes them: any text becomes a record that holds together, or is
// refused in one line.
#include <string>

#include "operator/history_record.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto record = ops::record_of_json(text, {"fleet", "1"}, 1);
  if (!record) {
    expect(!record.error().what.empty() && record.error().text().find('\n') == std::string::npos);
    return 0;
  }
  const history::Session& s = record->session;
  expect(s.ended_us >= s.started_us && s.uuid.size() == 36 && s.accepted == s.why_not.empty());
  expect(s.runs >= 0 && s.bytes >= 0 && s.seconds >= 0);
  for (const history::Reading& reading : record->readings) expect(reading.n >= 0);
  expect(ops::record_of_json(text, {"fleet", "1"}, 1)->session.uuid == s.uuid);
  return 0;
}
