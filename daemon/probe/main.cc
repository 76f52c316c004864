// ringtrue-probe: reads this machine for those programs that link no vendor's library.
//
//   ringtrue-probe record [--node NAME] [--root DIR] [--window SECONDS] [--deadline SECONDS] [--wake-gpus]
//                         [--no-fabric] [--routes]
//     prints the recording of all that the probes read (ringtrue.recording/1, packed); with --routes of the
//     fabric's cables and forwarding tables alone
//   ringtrue-probe ask LIBRARY [--root DIR] [--wake-gpus]
//     prints what one library says, or its error as one line of JSON on standard error, with exit code 3
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/fd.h"
#include "base/process.h"
#include "probe/library/library.h"
#include "probe/live.h"
#include "probe/recording.h"
#include "probe/spawn.h"

namespace {

using namespace ringtrue;
using namespace ringtrue::probe;

constexpr double max_window = 3600, max_deadline = 600;

struct Options {
  std::string command, library, node;
  LiveOptions live;
  Seconds window{0};
};

int complain(const Error& error) {
  const std::string line = error_line(error) + "\n";
  (void)!::write(2, line.data(), line.size());
  return 3;
}

bool print(const std::string& text) {
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t n = ::write(1, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    left.remove_prefix(std::size_t(n));
  }
  return true;
}

Result<double> seconds(const std::string& flag, const std::string& text, double max) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(value) || value < 0 || value > max)
    return fail(Cause::bad_input, fmt::format("{} takes seconds from 0 to {}, not '{}'", flag, max, text));
  return value;
}

Result<Options> parse(int argc, char** argv) {
  Options options;
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || (words[0] != "record" && words[0] != "ask"))
    return fail(Cause::bad_input, "ringtrue-probe takes `record` or `ask LIBRARY`", {},
                "it is run by ringtrue and ringtrued; see `ringtrue topo --help`");
  options.command = words[0];
  const bool asks = options.command == "ask";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--wake-gpus") {
      options.live.wake_gpus = true;
    } else if (!asks && word == "--no-fabric") {
      options.live.fabric = false;
    } else if (!asks && word == "--routes") {
      options.live.routes = true;
    } else if (word == "--root" ||
               (!asks && (word == "--node" || word == "--window" || word == "--deadline"))) {
      if (++i == words.size()) return fail(Cause::bad_input, fmt::format("{} takes a value", word));
      if (word == "--root") options.live.root = words[i];
      if (word == "--node") options.node = words[i];
      if (word == "--window" || word == "--deadline") {
        const bool window = word == "--window";
        const auto value = seconds(word, words[i], window ? max_window : max_deadline);
        if (!value) return tl::unexpected(value.error());
        (window ? options.window : options.live.deadline) = Seconds(*value);
      }
    } else if (asks && options.library.empty() && !word.starts_with("-")) {
      options.library = word;
    } else {
      return fail(Cause::bad_input,
                  fmt::format("ringtrue-probe {} does not know '{}'", options.command, word));
    }
  }
  return options;
}

int run_ask(const Options& options) {
  const auto answer = ask(options.library, {options.live.root, options.live.wake_gpus});
  const int code = answer ? (print(*answer) ? 0 : 1) : complain(answer.error());
  std::fflush(nullptr);
  // Vendors' libraries clean up badly when a process ends: some leak, some hang. Nobody waits for that.
  ::_exit(code);
}

int run_record(Options options) {
  if (options.node.empty()) {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    options.node = *name ? name : "localhost";
  }
  Recording recording = record(options.live, options.node, options.window);
  recording.made_by = "ringtrue " RINGTRUE_VERSION;
  return print(write_recording(recording)) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_files();
  ::signal(SIGPIPE, SIG_IGN);
  // Whoever started this may be interrupted or killed: then nobody waits for the answer.
  die_with_parent();
  // What runs on this machine goes first, the runs of a lease included.
  constexpr int niceness = 10;
  if (::getpriority(PRIO_PROCESS, 0) < niceness) ::setpriority(PRIO_PROCESS, 0, niceness);
  const auto options = parse(argc, argv);
  if (!options) return complain(options.error());
  // The last word, should a file or a library block for ever and whoever started this be gone.
  ::alarm(unsigned(options->window.value + 2 * options->live.deadline.value + 180));
  return options->command == "ask" ? run_ask(*options) : run_record(*options);
}
