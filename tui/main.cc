// ringtrue-tui: the dashboard, started by `ringtrue tui`.
#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "base/environment.h"
#include "base/fd.h"
#include "base/number.h"
#include "tui/frame/draw.h"
#include "tui/loop.h"
#include "tui/model/recording.h"
#include "tui/options.h"
#include "tui/print.h"

namespace ringtrue::tui {
namespace {

constexpr int failed_code = 3;
constexpr Seconds patience{10};  // of one that waits for a whole frame

int failed(const Error& error) {
  fmt::print(stderr, "ringtrue tui: {}\n", error.text());
  return failed_code;
}

// What the terminal can show, by its locale.
Letters letters_of(const Options& options) {
  Letters letters;
  letters.utf8 = !options.ascii && std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  return letters;
}

// What was said of how daemons are reached and what carries the data, for commands to paste.
ops::ReproduceWords words_again(const Options& options) {
  ops::ReproduceWords again;
  if (!options.config_file.empty()) again.reach = {"--config", options.config_file};
  if (options.insecure) again.reach.emplace_back("--insecure");
  for (const config::Given& given : options.settings) {
    if (given.key == "hosts" || given.origin.find(' ') != std::string::npos) continue;
    auto& words = given.key == "pki" || given.key == "deadlines.phase" ? again.reach : again.carry;
    words.insert(words.end(), {given.origin, given.text});
  }
  return again;
}

Result<std::unique_ptr<Model>> open_model(const Options& options, const config::Config& config) {
  std::optional<double> at;
  if (!options.at.empty()) {
    auto parsed = parse_moment(options.at, wall_clock());
    if (!parsed) {
      Error error = parsed.error();
      error.where = "--at";
      return tl::unexpected(std::move(error));
    }
    at = *parsed;
  }
  const std::optional<std::string> history =
      options.history.empty() ? std::nullopt : std::optional(options.history);
  if (!options.replay.empty()) return replay(options.replay);
  if (options.demo) return play_demo({at});
  const bool named = std::any_of(options.settings.begin(), options.settings.end(),
                                 [](const config::Given& given) { return given.key == "hosts"; });
  // Files that are named win over hosts of the configuration.
  if (!options.from.empty() || (history && !named)) return open_files({options.from, history, at});
  if (config.hosts.value.empty())
    return fail(Cause::bad_input, "nothing to show", {},
                "give --hosts LIST to ringtrue tui, or --history FILE, --from DOCUMENT... or --demo");
  if (at)
    return fail(Cause::bad_input, "daemons tell of now alone", "--at",
                "leave it out, or give --history FILE");
  LiveRequest live;
  live.setup.config = config;
  live.setup.insecure = options.insecure;
  live.setup.command = "tui";
  live.read_only = options.read_only;
  live.history = history;
  live.again = words_again(options);
  live.version = RINGTRUE_VERSION;
  return watch_daemons(live);
}

int print_frame(Model& model, const View& view, const KeyMap& keys, const Options& options) {
  Size size = options.size.value_or(Size{});
  if (!options.size) {
    const auto columns = parse_number<int>(environment("COLUMNS")),
               lines = parse_number<int>(environment("LINES"));
    if (columns && *columns > 0 && *columns <= 1000) size.width = *columns;
    if (lines && *lines > 0 && *lines <= 1000) size.height = *lines;
  }
  if (const auto notice = too_small(size))
    return failed(Error{Cause::bad_input, "a screen of " + *notice, {}, "give --size"});
  const bool colour = options.colours == Colours::always && !options.mono;
  model.look(int(view.screen));
  const std::string text = printed(draw(*model.whole(patience), view, keys, size), colour);
  const bool wrote = fwrite(text.data(), 1, text.size(), stdout) == text.size() && fflush(stdout) == 0;
  if (wrote) return 0;
  return failed(Error{Cause::unavailable, "standard output cannot be written", {}, {}});
}

// Of an exception that nobody took. The terminal first: what is said after that stays to be read.
[[noreturn]] void end_by_fault() {
  leave_terminal();
  const char* const told = "ringtrue tui: ended by a fault of its own: %s\n";
  try {
    if (const auto current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::exception& e) {
    fprintf(stderr, told, e.what());
  } catch (...) {
    fprintf(stderr, told, "an exception");
  }
  std::abort();
}

// An exit code; or of a signal that ended it, its negative.
int run(const std::vector<std::string>& words) {
  const auto options = read_options(words);
  if (!options) return failed(options.error());
  if (options->version) return fmt::print("ringtrue-tui " RINGTRUE_VERSION "\n"), 0;
  if (options->help)
    return fmt::print("ringtrue-tui is started by `ringtrue tui`; see ringtrue tui --help\n"), 0;
  config::Sources sources;
  sources.file = options->config_file;
  sources.flags = options->settings;
  const auto config = config::load(sources);
  if (!config) return failed(config.error());
  std::vector<std::pair<std::string, std::string>> remaps;
  for (const auto& [name, setting] : config->tui_keys) remaps.emplace_back(name, setting.value);
  const auto keys = remapped(remaps);
  if (!keys) return failed(keys.error());
  auto model = open_model(*options, *config);
  if (!model) return failed(model.error());
  if (!options->record.empty()) {
    model = record(std::move(*model), options->record);
    if (!model) return failed(model.error());
  }
  View view;
  view.letters = letters_of(*options);
  view.read_only = options->read_only;
  view.screen = options->print.value_or(Screen::fleet);
  if (options->print) return print_frame(**model, view, *keys, *options);
  TerminalSettings settings;
  settings.colours = !options->mono && options->colours != Colours::never &&
                     (environment("NO_COLOR").empty() || options->colours == Colours::always);
  // "15;0": some terminals say what they are, background last.
  const std::string said = environment("COLORFGBG");
  settings.light = options->light || said.ends_with(";15") || said.ends_with(";7");
  settings.mouse = options->mouse;
  std::set_terminate(end_by_fault);
  auto terminal = Terminal::open(settings);
  if (!terminal) return failed(terminal.error());
  return -run_loop(std::move(*terminal), std::move(*model), view, *keys);
}

// As the shell that started it expects of a program that a signal ended.
[[noreturn]] void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  _exit(128 + signal);
}

}  // namespace
}  // namespace ringtrue::tui

int main(int argc, char** argv) {
  ringtrue::fill_standard_files();
  setlocale(LC_ALL, "");
  ringtrue::tui::hold_signals();
  const int code = ringtrue::tui::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  if (code < 0) ringtrue::tui::end_by(-code);
  return code;
}
