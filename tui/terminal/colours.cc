#include "tui/terminal/colours.h"

namespace ringtrue::tui {
namespace {

// From red over yellow to green, as backgrounds of black text: 16 + 36 r + 6 g + b.
constexpr int heats[heat_steps] = {160, 166, 172, 178, 184, 148, 113, 78};
constexpr int red = 1, green = 2, yellow = 3, cyan = 6;

}  // namespace

Colour colour_of(Paint paint, int colours, bool light) {
  const bool many = colours >= 256;
  switch (paint) {
    case Paint::plain:
      return {};
    case Paint::dim:
      return {-1, -1, false, true};
    case Paint::bold:
      return {-1, -1, true, false};
    case Paint::title:
      return {-1, -1, true, false};
    case Paint::good:
      return {many && light ? 28 : green};
    case Paint::warning:  // yellow on white cannot be read
      return {many && light ? 130 : light ? 5 : yellow};
    case Paint::bad:
      return {red, -1, true, false};
    case Paint::unknown:
      return {many && light ? 30 : cyan};
    case Paint::accent:
      return {many && light ? 25 : many ? 75 : 4, -1, true, false};
    case Paint::heat:
      break;
  }
  const int step = int(paint) - int(Paint::heat);
  if (many) return {16, heats[step < 0 ? 0 : step >= heat_steps ? heat_steps - 1 : step]};
  return step < 4 ? Colour{red, -1, true, false} : step < 7 ? Colour{light ? 5 : yellow} : Colour{green};
}

}  // namespace ringtrue::tui
