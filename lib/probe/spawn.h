// A program run for what it prints, and ended at its deadline: the only processes that reading a machine
// starts.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "base/units.h"

namespace ringtrue::probe {

// One process, in a group of its own, with /dev/null as its input. Killed at its deadline, when it has
// printed more than `limit` bytes, when a stop is asked for, and when this object goes. One that cannot be
// killed (it hangs in a driver) is left to itself after a moment.
class Child {
 public:
  Child(const std::vector<std::string>& argv, Seconds deadline, std::size_t limit, std::stop_token stop = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool done() const { return done_; }
  // What it printed. Errors: unavailable (could not be started, died), deadline, cancelled, corrupted
  // (printed too much); of one that exited with another code than 0, what its last line on standard error
  // says, as error_line() writes it, or else unavailable with that line.
  Result<std::string> result() const;

  // Serves all of them until `until` is done, so that none waits for a reader.
  static void serve(std::span<Child* const> all, const Child& until);

 private:
  void drain(OwnedFd& fd, std::string& text);
  void step();
  void end(std::string why_not, Cause cause);
  void close_pipes();

  std::string name_;
  ChildProcess process_;
  OwnedFd out_fd_, err_fd_;
  std::string out_, err_;
  std::size_t limit_;
  Seconds allowed_;
  Deadline deadline_;
  std::stop_token stop_;
  bool done_ = false;
  Error failure_;  // `what` is empty: none
};

// One program from its start to its end.
Result<std::string> run_program(const std::vector<std::string>& argv, Seconds deadline, std::size_t limit,
                                std::stop_token stop = {});

// An error as one line of JSON, and back; the fallback where the text's last line is no such thing.
std::string error_line(const Error& error);
Error read_error_line(std::string_view text, Error fallback);

}  // namespace ringtrue::probe
