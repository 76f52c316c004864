// How screens spell numbers, times and levels.
#pragma once

#include <string>
#include <vector>

#include "tui/frame/grid.h"
#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

struct RateUnit {
  double bytes = 1e6;
  const char* name = "MB/s";
};
// GB/s where the largest has one.
RateUnit unit_of(double largest);
std::string in_unit(const Maybe& rate, const RateUnit& unit);  // "30.6", "?"
std::string percent(const Maybe& share);                       // "51 %", "?"
std::string age(double seconds);                               // "3 m", "14 d"
// "2026-01-31 14:05" in local time; with seconds where asked for.
std::string moment(double when, long utc_offset, bool seconds = false);

char mark_of(Level level);  // '!', '?', '-', 'i', ' '
Paint paint_of(Level level);
Level level_of(const Maybe& share, double warning = 0.95, double critical = 0.85);
// A character for each share of 1, unknown ones as blanks or dots.
std::string sparkline(const std::vector<Maybe>& shares, std::size_t width, const Letters& letters);
// The share as a step of Paint::heat.
Paint heat(const Maybe& share);

}  // namespace ringtrue::tui
