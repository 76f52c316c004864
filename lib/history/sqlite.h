// SQLite, as far as the history needs it. sqlite.cc alone sees its header. All values are bound, none is
// written into a statement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/units.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ringtrue::history {

struct Blob {
  std::string_view bytes;
};

class Connection;

class Statement {
 public:
  // Takes values for ?1, ?2, ... and starts anew.
  template <class... T>
  Statement& with(const T&... values) {
    reset();
    int at = 0;
    (bind(++at, values), ...);
    return *this;
  }

  // The next row: false where there is none.
  Result<bool> row();
  // To its end, whatever rows there are.
  Result<void> run();

  std::int64_t integer(int column) const;
  double real(int column) const;
  bool null(int column) const;
  std::string bytes(int column) const;
  std::string text(int column) const;  // as it may be shown, whoever wrote the file
  std::optional<double> maybe_real(int column) const {
    return null(column) ? std::nullopt : std::optional(real(column));
  }
  std::optional<std::int64_t> maybe_integer(int column) const {
    return null(column) ? std::nullopt : std::optional(integer(column));
  }

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(const Connection& connection, sqlite3_stmt* statement)
      : connection_(&connection), statement_(statement) {}

  void reset();
  void bind(int at, std::int64_t value);
  void bind(int at, int value) { bind(at, std::int64_t(value)); }
  void bind(int at, bool value) { bind(at, std::int64_t(value)); }
  void bind(int at, double value);
  void bind(int at, std::string_view value);
  void bind(int at, const std::string& value) { bind(at, std::string_view(value)); }
  void bind(int at, const char* value) { bind(at, std::string_view(value)); }
  void bind(int at, Blob value);
  void bind(int at, std::nullptr_t);
  template <class T>
  void bind(int at, const std::optional<T>& value) {
    value ? bind(at, *value) : bind(at, nullptr);
  }

  const Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Connection {
 public:
  enum class Mode { read_only, frozen, writable };  // frozen: nobody writes, nothing beside it is touched
  // ":memory:" is one of its own. Not defended yet: see defend().
  static Result<Connection> open(const std::string& file, Mode mode);

  // Against files that others wrote: no functions or virtual tables out of a schema, no writing past SQL.
  Result<void> defend(Seconds busy);
  // For files in which nothing may be trusted: an upper bound of what one statement works, in SQLite's steps
  // of its machine; then it ends with an error.
  void bound_work(std::int64_t steps);

  // Statements without values and rows, one or several: constants of ours alone.
  Result<void> execute(const char* constant) const;
  Result<Statement> prepare(const char* constant) const;
  // The first column of the first row; 0 where there is none.
  Result<std::int64_t> number(const char* constant) const;
  Result<std::string> word(const char* constant) const;
  std::int64_t last_row() const;
  std::int64_t changes() const;  // rows that the last statement changed
  const std::string& file() const { return file_; }

  // Of what has just failed.
  Error error() const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string file_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<std::int64_t> steps_;
};

// All or nothing: what is not committed when it goes is undone.
class Transaction {
 public:
  static Result<Transaction> begin(const Connection& connection);  // as the one writer
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(const Connection& connection) : connection_(&connection) {}
  const Connection* connection_;
};

// Runs `f` for each row of a statement.
template <class F>
Result<void> each_row(Statement& statement, F f) {
  for (;;) {
    const auto row = statement.row();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return {};
    f();
  }
}

}  // namespace ringtrue::history
