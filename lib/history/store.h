// The file of the history: a SQLite database, written by one program at a time and read by many.
//
// The layout is history/schema.cc's. What is in it is read by read.h, judged by judge.h and dropped by
// keep.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "history/sqlite.h"
#include "history/types.h"

namespace ringtrue::history {

enum class Journal : std::uint8_t {
  automatic,  // a write-ahead log, but a rollback journal on file systems of a network
  log,
  rollback,
};

struct OpenOptions {
  bool write = false;  // makes it where there is none, and the folder of the usual file
  Seconds busy{5};     // how long to wait for another writer
  Journal journal = Journal::automatic;
  std::span<const char* const> steps{};  // of the schema; none: today's
  std::optional<std::int64_t> bound{};   // of the work of all statements: see Connection::bound_work
};

class Store {
 public:
  // Errors: no such file (unavailable), none of ours, damaged (bad_input). A file of a newer version, or one
  // that may not be written, is opened for reading; remark() then says so.
  static Result<Store> open(const std::string& file, const OpenOptions& options);

  bool writable() const { return writable_; }
  const std::string& remark() const { return remark_; }
  const std::string& file() const { return connection_->file(); }
  // Errors (unavailable) where it was opened for reading alone.
  Result<void> for_writing() const;

  // Its number in the file. nullopt: one of its uuid is there already.
  Result<std::optional<std::int64_t>> add(const Record& record);

  // For the other files of this room.
  const Connection& connection() const { return *connection_; }

 private:
  Store() = default;
  std::unique_ptr<Connection> connection_;
  bool writable_ = false;
  std::string remark_;
};

// Whether a check could be recorded there as far as names and permissions tell, without making a file (of the
// usual one the folder is made). What may pass, such as a full disk, is no error.
Result<void> may_record(const std::string& file);

// $XDG_STATE_HOME/ringtrue/history.db, or below ~/.local/state; empty where neither is known.
std::string usual_file();

// Inside a transaction of the caller's.
Result<std::int64_t> fleet_id(const Connection& connection, const std::string& name);
Result<std::int64_t> subject_id(const Connection& connection, std::int64_t fleet, const SubjectKey& subject);
Result<std::optional<std::int64_t>> add_record(const Connection& connection, const Record& record);

}  // namespace ringtrue::history
