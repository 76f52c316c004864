#include "cmd/output.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "cmd/progress.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(std::size_t(wrote));
  }
  return true;
}

}  // namespace

bool Output::write(std::string_view text) {
  if (failed_) return false;
  buffer_ += text;
  return buffer_.size() < 65536 || flush();
}

bool Output::flush() {
  if (failed_) return false;
  if (!write_all(STDOUT_FILENO, buffer_)) {
    failed_ = true;
    const int why = errno;
    // Whoever closed the pipe has seen enough of it.
    if (why == EPIPE) return false;
    complain(Error{Cause::unavailable,
                   fmt::format("cannot write the output: {}",
                               why == EBADF ? "standard output is closed" : std::strerror(why)),
                   "", "redirect it elsewhere"});
  }
  buffer_.clear();
  return !failed_;
}

int Output::finish(int code) {
  return flush() ? code : int(Exit::unknown);
}

int print(std::string_view text, int code) {
  clear_progress();
  Output out;
  out.write(text);
  return out.finish(code);
}

void complain(const Error& error) {
  clear_progress();
  write_all(STDERR_FILENO, fmt::format("ringtrue: {}\n", error.text()));
}

int failed(const Context& context, const Error& error) {
  return failed(context, ops::Trouble{error, {}});
}

int failed(const Context& context, const ops::Trouble& trouble) {
  complain(trouble.error);
  if (context.common.json) {
    const bool has_document = context.command != "completion" && context.command != "tui";
    return print(report::json(trouble, has_document ? context.command : ""), Exit::unknown);
  }
  const bool many = trouble.failures.size() > 1;
  if (many) write_all(STDERR_FILENO, report::failures_text(trouble, {}));
  return Exit::unknown;
}

}  // namespace ringtrue::cmd
