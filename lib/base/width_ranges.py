#!/usr/bin/env python3
"""Writes width_ranges.cc: how many columns characters take, from Python's copy of the Unicode database.

As terminals have it: marks (Mn, Me), formats (Cf) and the vowels and finals of Hangul syllables in parts take none;
what East Asian Width calls wide or fullwidth takes two; of what it calls ambiguous the terminal decides.
"""
import pathlib
import unicodedata


def ranges(chosen):
    found = []
    for code in range(0x80, 0x110000):
        if not chosen(code, chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


# Formats that show: signs that stand before and below numbers.
SHOWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, 0xAD}


def without(code, c):
    return (unicodedata.category(c) in ("Mn", "Me", "Cf") or 0x1160 <= code <= 0x11FF) and code not in SHOWN


def wide(code, c):
    # Unassigned ideographs of planes 2 and 3 are wide by the standard's own word.
    planes = 0x20000 <= code <= 0x2FFFD or 0x30000 <= code <= 0x3FFFD
    return (unicodedata.east_asian_width(c) in "WF" or planes) and not without(code, c)


def ambiguous(code, c):
    private = unicodedata.category(c) == "Co"
    return unicodedata.east_asian_width(c) == "A" and not without(code, c) and not private


def table(name, rows):
    cells = [f"{{{low:#x}, {high:#x}}}" for low, high in rows]
    out, line = f"constexpr CodeRange {name}[] = {{\n", "   "
    for i, cell in enumerate(cells):
        piece = " " + cell + ("," if i + 1 < len(cells) else "")
        if len(line + piece) > 108:
            out, line = out + line + "\n", "   "
        line += piece
    return out + line + "};\n"


text = f"""// Made by width_ranges.py from Unicode {unicodedata.unidata_version}.
#include "base/width_ranges.h"

namespace ringtrue {{
namespace {{

// clang-format off
{table("no_columns", ranges(without))}
{table("two_columns", ranges(wide))}
{table("either", ranges(ambiguous))}// clang-format on

}}  // namespace

std::span<const CodeRange> ranges_without_width() {{
  return no_columns;
}}

std::span<const CodeRange> wide_ranges() {{
  return two_columns;
}}

std::span<const CodeRange> ambiguous_ranges() {{
  return either;
}}

}}  // namespace ringtrue
"""
pathlib.Path(__file__).with_suffix(".cc").write_text(text)
