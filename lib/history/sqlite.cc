#include "history/sqlite.h"

#include <sqlite3.h>
#include <sys/statvfs.h>

#include "base/text.h"

namespace ringtrue::history {
namespace {

// A name of a file in a URI: all but plain characters as %XX.
std::string uri_of(const std::string& file, const char* more) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "file:";
  for (const char c : file) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out + more;
}

int work_done(void* left) {
  auto& steps = *static_cast<std::int64_t*>(left);
  return --steps < 0;
}

constexpr int steps_at_once = 1000;

constexpr const char* no_room = "cannot grow: the disk, or what may be used of it, is full";
constexpr const char* make_room = "make room; to keep less afterwards: ringtrue history prune";

bool is_full(const std::string& file) {
  struct statvfs disk {};
  return ::statvfs(file.c_str(), &disk) == 0 && disk.f_blocks > 0 && disk.f_bavail == 0;
}

}  // namespace

void Connection::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<Connection> Connection::open(const std::string& file, Mode mode) {
  Connection out;
  out.file_ = file;
  const int flags =
      mode == Mode::writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const std::string name =
      file == ":memory:" ? file : uri_of(file, mode == Mode::frozen ? "?immutable=1" : "");
  sqlite3* handle = nullptr;
  const int rc = sqlite3_open_v2(
      name.c_str(), &handle,
      flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE,
      nullptr);
  out.handle_.reset(handle);
  if (rc != SQLITE_OK) return tl::unexpected(out.error());
  return out;
}

Result<void> Connection::defend(Seconds busy) {
  sqlite3* const db = handle_.get();
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 64 << 20);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1);  // VACUUM INTO takes one
  sqlite3_busy_timeout(db, int(busy.value * 1000));
  return execute("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY");
}

void Connection::bound_work(std::int64_t steps) {
  steps_ = std::make_unique<std::int64_t>(steps / steps_at_once);
  sqlite3_progress_handler(handle_.get(), steps_at_once, work_done, steps_.get());
}

Error Connection::error() const {
  sqlite3* const db = handle_.get();
  const std::string about = "the history " + file_ + " ";
  const int code = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {Cause::unavailable, about + no_room, "", make_room};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {Cause::unavailable, about + "may not be written", "",
              "see to its permissions, or name another"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Cause::deadline, about + "is being written by another program", "", "try again"};
    case SQLITE_CANTOPEN:
      return {Cause::unavailable, about + "cannot be opened", "", "see to its folder and permissions"};
    case SQLITE_NOTADB:
      return {Cause::bad_input, about + "is no SQLite database", "", "name another file"};
    case SQLITE_CORRUPT:
    case SQLITE_SCHEMA:
    case SQLITE_INTERRUPT:
      return {Cause::bad_input, about + "is damaged", "",
              "name another file; sqlite3 FILE .recover saves what can be read of it"};
    case SQLITE_IOERR:
      // What readers and writers share beside a file in a log needs room, too; that is no SQLITE_FULL.
      if (is_full(file_)) return {Cause::unavailable, about + no_room, "", make_room};
      return {Cause::unavailable, about + "cannot be read or written: " + sqlite3_errmsg(db), "",
              "see to the disk that it is on"};
    default:
      return {Cause::internal, about + "failed: " + (db ? sqlite3_errmsg(db) : "no memory"), "", ""};
  }
}

Result<void> Connection::execute(const char* constant) const {
  if (sqlite3_exec(handle_.get(), constant, nullptr, nullptr, nullptr) != SQLITE_OK)
    return tl::unexpected(error());
  return {};
}

Result<Statement> Connection::prepare(const char* constant) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), constant, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK)
    return tl::unexpected(error());
  return Statement(*this, statement);
}

Result<std::int64_t> Connection::number(const char* constant) const {
  auto statement = prepare(constant);
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->row();
  if (!row) return tl::unexpected(row.error());
  return *row ? statement->integer(0) : 0;
}

Result<std::string> Connection::word(const char* constant) const {
  auto statement = prepare(constant);
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->row();
  if (!row) return tl::unexpected(row.error());
  return *row ? statement->text(0) : std::string();
}

std::int64_t Connection::last_row() const {
  return sqlite3_last_insert_rowid(handle_.get());
}

std::int64_t Connection::changes() const {
  return sqlite3_changes64(handle_.get());
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

Result<bool> Statement::row() {
  const int rc = sqlite3_step(statement_.get());
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  Error error = connection_->error();
  sqlite3_reset(statement_.get());
  return tl::unexpected(std::move(error));
}

Result<void> Statement::run() {
  for (;;) {
    const auto more = row();
    if (!more) return tl::unexpected(more.error());
    if (*more) continue;
    reset();
    return {};
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

bool Statement::null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::string Statement::text(int column) const {
  return visible(bytes(column));
}

std::string Statement::bytes(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  return {static_cast<const char*>(bytes),
          std::size_t(bytes ? sqlite3_column_bytes(statement_.get(), column) : 0)};
}

void Statement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), at, value);
}

void Statement::bind(int at, double value) {
  sqlite3_bind_double(statement_.get(), at, value);
}

void Statement::bind(int at, std::string_view value) {
  sqlite3_bind_text(statement_.get(), at, value.data() ? value.data() : "", int(value.size()),
                    SQLITE_TRANSIENT);
}

void Statement::bind(int at, Blob value) {
  if (value.bytes.empty())
    sqlite3_bind_zeroblob(statement_.get(), at, 0);
  else
    sqlite3_bind_blob64(statement_.get(), at, value.bytes.data(), value.bytes.size(), SQLITE_TRANSIENT);
}

void Statement::bind(int at, std::nullptr_t) {
  sqlite3_bind_null(statement_.get(), at);
}

Result<Transaction> Transaction::begin(const Connection& connection) {
  if (auto begun = connection.execute("BEGIN IMMEDIATE"); !begun) return tl::unexpected(begun.error());
  return Transaction(connection);
}

Transaction::~Transaction() {
  if (connection_) (void)connection_->execute("ROLLBACK");
}

Result<void> Transaction::commit() {
  if (auto done = connection_->execute("COMMIT"); !done) return done;
  connection_ = nullptr;
  return {};
}

}  // namespace ringtrue::history
