#include "history/store.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>

#include "base/environment.h"
#include "history/schema.h"

namespace ringtrue::history {
namespace {

// Below this a check of all pages takes milliseconds.
constexpr off_t checked_below = 4 << 20;

// What a write-ahead log needs, memory shared by all who have it open, file systems of a network do not give.
bool on_network(const std::string& folder) {
  struct statfs told {};
  if (statfs(folder.c_str(), &told) != 0) return true;
  switch (static_cast<unsigned long>(told.f_type) & 0xffffffff) {
    case 0x6969:      // NFS
    case 0x517b:      // SMB
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB 2
    case 0x65735546:  // FUSE: sshfs and others
    case 0x0bd00bd0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x00c36400:  // Ceph
    case 0x01021997:  // 9P
    case 0x5346414f:  // AFS
    case 0x01161970:  // GFS2
    case 0x7461636f:  // OCFS2
    case 0xaad7aaea:  // PanFS
      return true;
    default:
      return false;
  }
}

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  return slash == file.npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
}

// Why `file` is not to be had: stat() of it, or access() to its folder, gave `error`.
tl::unexpected<Error> no_way_to(const std::string& file, int error) {
  struct stat there {};
  switch (error) {
    case ENOTDIR: {
      std::string above = folder_of(file);
      while (above != "." && above != "/" && stat(above.c_str(), &there) != 0) above = folder_of(above);
      return fail(Cause::unavailable, fmt::format("there is no history {}: {} is no folder", file, above), {},
                  "name another file");
    }
    case EACCES:
      return fail(Cause::unavailable,
                  fmt::format("the history {} is in a folder that may not be entered", file), {},
                  "have its permissions changed, or name another file");
    case ENOENT:
      if (const std::string folder = folder_of(file); stat(folder.c_str(), &there) != 0)
        return fail(Cause::unavailable, fmt::format("there is no folder {} for the history", folder), {},
                    file == usual_file() ? "ringtrue check of hosts, or with --record, makes it"
                                         : "make it, or name another file");
      return fail(Cause::unavailable, fmt::format("there is no history {}: {}", file, std::strerror(error)),
                  {}, "ringtrue check --record makes one");
    default:
      return fail(Cause::unavailable, fmt::format("there is no history {}: {}", file, std::strerror(error)),
                  {}, "name another file");
  }
}

// The usual folder and those above it, for its owner's eyes where they are new. A folder that was named has
// to be there: it may be a slip.
Result<void> make_folder(const std::string& folder) {
  struct stat there {};
  if (stat(folder.c_str(), &there) == 0) return {};
  if (folder != "/" && folder != ".")
    if (auto above = make_folder(folder_of(folder)); !above) return above;
  if (mkdir(folder.c_str(), 0750) == 0 || errno == EEXIST) return {};
  return fail(Cause::unavailable,
              fmt::format("the folder {} cannot be made: {}", folder, std::strerror(errno)), {},
              "make it, or name another file");
}

// The folder that it is to be in.
Result<void> have_folder(const std::string& file) {
  const std::string folder = folder_of(file);
  if (file == usual_file())
    if (auto made = make_folder(folder); !made) return made;
  if (access(folder.c_str(), F_OK) != 0) return no_way_to(file, errno);
  return {};
}

// An empty file is an empty database. Made here so that it is never anybody's but the owner's and the
// group's; what SQLite puts beside it takes its mode.
Result<void> make_file(const std::string& file) {
  if (auto folder = have_folder(file); !folder) return folder;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (fd < 0)
    return fail(Cause::unavailable,
                fmt::format("the history {} cannot be made: {}", file, std::strerror(errno)), {},
                "see to its folder, or name another file");
  fchmod(fd, 0640);
  close(fd);
  return {};
}

Result<void> set_journal(const Connection& connection, const OpenOptions& options) {
  const bool log = options.journal == Journal::log ||
                   (options.journal == Journal::automatic && !on_network(folder_of(connection.file())));
  // What may be lost in a power cut is then the last session, never the file.
  return connection.execute(
      log ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304"
          : "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL");
}

Result<void> check_pages(const Connection& connection) {
  const auto sound = connection.word("PRAGMA quick_check(1)");
  if (!sound) return tl::unexpected(sound.error());
  if (*sound == "ok") return {};
  return fail(Cause::bad_input, fmt::format("the history {} is damaged: {}", connection.file(), *sound), {},
              "name another file; sqlite3 FILE .recover saves what can be read of it");
}

}  // namespace

Result<Store> Store::open(const std::string& file, const OpenOptions& options) {
  const auto steps = options.steps.empty() ? schema_steps() : options.steps;
  struct stat there {};
  if (stat(file.c_str(), &there) != 0) {
    if (errno != ENOENT || !options.write) return no_way_to(file, errno);
    if (auto made = make_file(file); !made) return tl::unexpected(made.error());
  } else if (!S_ISREG(there.st_mode)) {
    return fail(Cause::bad_input, fmt::format("the history {} is not a regular file", file), {},
                "name another file");
  }
  Store out;
  out.writable_ = options.write && access(file.c_str(), W_OK) == 0;
  if (options.write && !out.writable_) out.remark_ = fmt::format("the history {} may not be written", file);
  const bool folder = access(folder_of(file).c_str(), W_OK) == 0;
  if (out.writable_ && !folder) {
    out.writable_ = false;
    out.remark_ = fmt::format("the folder of the history {} may not be written", file);
  }
  // Where nothing may be put beside a file, it is read as it is.
  using Mode = Connection::Mode;
  struct stat log {};
  const bool alone = stat((file + "-wal").c_str(), &log) != 0 || log.st_size == 0;
  const Mode mode = out.writable_ ? Mode::writable : !folder && alone ? Mode::frozen : Mode::read_only;
  const auto connect = [&](Mode as) -> Result<FileState> {
    auto connection = Connection::open(file, as);
    if (!connection) return tl::unexpected(connection.error());
    out.connection_ = std::make_unique<Connection>(std::move(*connection));
    if (options.bound) out.connection_->bound_work(*options.bound);
    if (auto safe = out.connection_->defend(options.busy); !safe) return tl::unexpected(safe.error());
    return state_of(*out.connection_);
  };
  auto state = connect(mode);
  // So it is on a disk that is full.
  if (!state && state.error().cause == Cause::unavailable && !options.write && alone)
    state = connect(Mode::frozen);
  if (!state) return tl::unexpected(state.error());
  const Connection* connection = out.connection_.get();
  if (state->version > std::int64_t(steps.size())) {
    if (out.writable_) state = connect(Mode::read_only);
    if (!state) return tl::unexpected(state.error());
    connection = out.connection_.get();
    out.writable_ = false;
    out.remark_ = fmt::format(
        "the history {} is of a newer version of ringtrue ({}, this one knows {}): it is only read", file,
        state->version, steps.size());
    if (there.st_size < checked_below)
      if (auto sound = check_pages(*connection); !sound) return tl::unexpected(sound.error());
    return out;
  }
  if (out.writable_) {
    // Before anything is written: pages that are freed can then be given back.
    if (state->empty)
      if (auto set = connection->execute("PRAGMA auto_vacuum=INCREMENTAL"); !set)
        return tl::unexpected(set.error());
    if (auto set = set_journal(*connection, options); !set) return tl::unexpected(set.error());
    // Debian's library overwrites what is dropped; nothing in it is secret. 16 MB: as many pages as a day
    // has.
    if (auto set = connection->execute("PRAGMA secure_delete=OFF; PRAGMA cache_size=-16384"); !set)
      return tl::unexpected(set.error());
  }
  if (!state->empty && there.st_size < checked_below)
    if (auto sound = check_pages(*connection); !sound) return tl::unexpected(sound.error());
  if (state->version < std::int64_t(steps.size())) {
    if (state->empty && !options.write)
      return fail(Cause::unavailable,
                  fmt::format("the history {} is empty: no check was recorded in it", file), {},
                  fmt::format("record one with ringtrue check --history {}", file));
    if (!out.writable_)
      return fail(Cause::unavailable,
                  fmt::format("the history {} is {}, and may not be written", file,
                              state->empty ? "empty" : "of an older version"),
                  {}, "open it once as somebody who may");
    if (auto current = migrate(*connection, steps); !current) return tl::unexpected(current.error());
  }
  if (auto ours = check_schema(*connection, steps); !ours) return tl::unexpected(ours.error());
  return out;
}

Result<void> Store::for_writing() const {
  if (writable_) return {};
  return fail(Cause::unavailable, remark_.empty() ? "the history was opened for reading" : remark_, {},
              "name another file, or use the ringtrue that made it");
}

Result<void> may_record(const std::string& file) {
  struct stat there {};
  if (stat(file.c_str(), &there) == 0) {
    const auto store = Store::open(file, {});
    if (!store && store.error().cause == Cause::bad_input) return tl::unexpected(store.error());
    if (access(file.c_str(), W_OK) != 0)
      return fail(Cause::unavailable, fmt::format("the history {} may not be written", file), {},
                  "see to its permissions, or name another file");
  } else {
    if (errno != ENOENT) return no_way_to(file, errno);
    if (auto there_is = have_folder(file); !there_is) return there_is;
  }
  if (access(folder_of(file).c_str(), W_OK | X_OK) == 0) return {};
  return fail(Cause::unavailable, fmt::format("the folder of the history {} may not be written", file), {},
              "see to its permissions, or name another file");
}

std::string usual_file() {
  if (const std::string state = environment("XDG_STATE_HOME"); state.starts_with('/'))
    return state + "/ringtrue/history.db";
  if (const std::string home = environment("HOME"); home.starts_with('/'))
    return home + "/.local/state/ringtrue/history.db";
  return {};
}

}  // namespace ringtrue::history
