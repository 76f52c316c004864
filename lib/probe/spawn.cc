#include "probe/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fields_json.h"

namespace ringtrue::probe {
namespace {

constexpr std::size_t max_errors = 64u << 10;  // bytes of standard error that are kept

std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return std::string(text.substr(text.find_last_of('\n') + 1));
}

struct Writer : JsonWriter<Writer> {
  using JsonWriter::JsonWriter;
};
struct Reader : JsonReader<Reader> {
  using JsonReader::JsonReader;
};

}  // namespace

Child::Child(const std::vector<std::string>& argv, Seconds deadline, std::size_t limit, std::stop_token stop)
    : name_(argv[0].substr(argv[0].find_last_of('/') + 1)),
      limit_(limit),
      allowed_(deadline),
      deadline_(Deadline::in(deadline)),
      stop_(std::move(stop)) {
  auto out = open_pipe(), err = open_pipe();
  int error = !out ? out.error() : !err ? err.error() : 0;
  if (error == 0) {
    auto process = ChildProcess::start(argv[0], argv, {out->theirs.get(), err->theirs.get()});
    if (process) {
      process_ = std::move(*process);
    } else {
      error = process.error();
    }
  }
  if (error != 0) {
    end(fmt::format("{} cannot be started: {}", argv[0], std::strerror(error)), Cause::unavailable);
    return;
  }
  out_fd_ = std::move(out->ours);
  err_fd_ = std::move(err->ours);
  for (const OwnedFd* fd : {&out_fd_, &err_fd_}) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
}

Child::~Child() {
  if (!done_) end("was ended", Cause::cancelled);
}

void Child::close_pipes() {
  out_fd_.reset();
  err_fd_.reset();
}

void Child::end(std::string why_not, Cause cause) {
  failure_ = Error{cause, std::move(why_not), {}, {}};
  done_ = true;
  close_pipes();
  // A process that sleeps in a driver dies only when the driver lets it: nobody waits for that.
  process_.kill(Seconds(0.1));
}

void Child::drain(OwnedFd& fd, std::string& text) {
  char buffer[65536];
  while (fd) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      fd.reset();
      return;
    }
    text.append(buffer, std::size_t(n));
    if (&text == &out_ && text.size() > limit_) return;
    if (&text == &err_ && text.size() > max_errors) text.erase(0, text.size() - max_errors);
  }
}

void Child::step() {
  drain(out_fd_, out_);
  drain(err_fd_, err_);
  if (out_.size() > limit_)
    return end(fmt::format("{} printed more than {} bytes", name_, limit_), Cause::corrupted);
  if (process_.ended()) {
    // What it wrote last may have come after the pipes were looked at.
    drain(out_fd_, out_);
    drain(err_fd_, err_);
    close_pipes();
    done_ = true;
  } else if (stop_.stop_requested()) {
    end(fmt::format("{} was ended", name_), Cause::cancelled);
  } else if (deadline_.passed()) {
    end(fmt::format("{} did not answer within {:g} s", name_, allowed_.value), Cause::deadline);
  }
}

void Child::serve(std::span<Child* const> all, const Child& until) {
  while (!until.done()) {
    std::vector<pollfd> waiting;
    bool closed = false;  // one closed its pipes and is about to exit: look again soon
    for (const Child* child : all) {
      if (child->done()) continue;
      for (const OwnedFd* fd : {&child->out_fd_, &child->err_fd_})
        if (*fd) waiting.push_back({fd->get(), POLLIN, 0});
      closed |= !child->out_fd_ && !child->err_fd_;
    }
    ::poll(waiting.data(), waiting.size(), closed ? 1 : 20);
    for (Child* child : all)
      if (!child->done()) child->step();
  }
}

Result<std::string> Child::result() const {
  if (!failure_.what.empty()) return tl::unexpected(failure_);
  const int status = process_.status();
  if (WIFSIGNALED(status))
    return fail(Cause::unavailable, fmt::format("{} died: {}", name_, ::strsignal(WTERMSIG(status))));
  if (const int code = WEXITSTATUS(status); code != 0) {
    const std::string line = last_line(err_);
    return tl::unexpected(
        read_error_line(err_, Error{Cause::unavailable,
                                    line.empty() ? fmt::format("{} failed with code {}", name_, code)
                                                 : fmt::format("{} failed: {}", name_, line.substr(0, 500)),
                                    {},
                                    {}}));
  }
  return out_;
}

Result<std::string> run_program(const std::vector<std::string>& argv, Seconds deadline, std::size_t limit,
                                std::stop_token stop) {
  Child child(argv, deadline, limit, std::move(stop));
  Child* const all[] = {&child};
  Child::serve(all, child);
  return child.result();
}

std::string error_line(const Error& error) {
  Writer writer(-1);
  writer.put(error, {});
  return writer.take();
}

Error read_error_line(std::string_view text, Error fallback) {
  const auto parsed = parse_json(last_line(text), max_errors, 1, "an error");
  if (!parsed || !parsed->is_object()) return fallback;
  Reader reader(*parsed, true);
  Error error;
  reader.get(error, {});
  return reader.wrong().empty() && !error.what.empty() ? error : fallback;
}

}  // namespace ringtrue::probe
