// The tables, and how an older file becomes one of today.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "history/sqlite.h"

namespace ringtrue::history {

inline constexpr std::int64_t application_id = 1'380'535'879;  // "RING" + 1 in a file's header

// Step n makes a file of version n + 1 of one of version n; a new file begins at 0. A step that was once
// released is never changed.
std::span<const char* const> schema_steps();

// What an open file is.
struct FileState {
  bool empty = false;  // nothing in it yet
  std::int64_t version = 0;
};
// Refuses (bad_input) files of other programs.
Result<FileState> state_of(const Connection& connection);

// In one transaction, from the version that the file has to that of `steps`. Before a file that holds
// something is changed, a copy of it is made as FILE.bak-vN.
Result<void> migrate(const Connection& connection, std::span<const char* const> steps);

// Refuses (bad_input) a file of this version whose tables are not those that the steps make: somebody else's
// triggers and views are never run.
Result<void> check_schema(const Connection& connection, std::span<const char* const> steps);

}  // namespace ringtrue::history
