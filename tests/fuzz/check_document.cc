// Documents and recordings that the dashboard is given, and filters that are typed.
#include "tui/frame/draw.h"
#include "tui/frame/filter.h"
#include "tui/model/document.h"
#include "tui/model/recording.h"

// Last: a header of ours has its word.
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringtrue::tui;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = read_document(text, 1'790'000'000, "fuzz");
  Snapshot snapshot;
  if (read && read->moment) snapshot = Timeline({read->moment}).snapshot(-1, 1'790'000'060);
  if (read && read->run) snapshot.run = *read->run;
  View view;
  if (!Filter::parse(text.substr(0, 80), all_rows(snapshot, view))) view.input = text.substr(0, 80);
  const auto line = read_line(text);
  if (line) snapshot = *line;
  if (!read && !line) return 0;
  for (int screen = 0; screen < screens; ++screen) {
    view.screen = Screen(screen);
    const Grid grid = draw(snapshot, view, usual_keys(), {80, 24});
    for (const char c : grid.text()) expect(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  }
  return 0;
}
