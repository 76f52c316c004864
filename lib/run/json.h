// The record of a run as JSON, without loss: from_json(to_json(x)) == x, but for a job's own data and for a
// report's notes, which merge() makes. T is Job, RunReport or DeviceEvents.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue::run {

inline constexpr std::size_t max_record_bytes = 64 << 20;

// indent: blanks by depth; -1: all on one line.
template <class T>
std::string to_json(const T& record, int indent = 2);
// On one line, records as the arrays of their fields' values: a third as long, for the wire.
template <class T>
std::string to_packed_json(const T& record);

// Reads both forms. All that is read is held to the limits of run/fields.h, so that what comes out is safe to
// index with. Errors: bad_input, one line that names the field.
template <class T>
Result<T> from_json(std::string_view text);

}  // namespace ringtrue::run
