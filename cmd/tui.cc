// The dashboard is a program of its own, beside this one: what was said is handed on to it.
#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/program.h"
#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"

namespace ringtrue::cmd {
namespace {

int start_tui(Context& context, const std::vector<std::string>& said) {
  const Common& common = context.common;
  const auto fits = reject("tui", {{{common.local.has_value(), "--local"},
                                    {common.json, "--json",
                                     "e in the dashboard exports JSON; documents are printed by "
                                     "the other commands"},
                                    {common.ranks_per_node != 1, "--ranks-per-node"}}});
  if (!fits) return failed(context, fits.error());
  const auto program = find_in_package("ringtrue-tui");
  if (!program) {
    const Error error{Cause::unavailable,
                      "the dashboard, ringtrue-tui, is not installed",
                      {},
                      "install the package ringtrue-tui"};
    return failed(context, error);
  }
  std::vector<std::string> words = {*program};
  words.insert(words.end(), said.begin(), said.end());
  if (!common.config_file.empty()) words.insert(words.end(), {"--config", common.config_file});
  if (common.insecure) words.emplace_back("--insecure");
  if (common.color != report::Color::automatic)
    words.insert(words.end(), {"--color", common.color == report::Color::always ? "always" : "never"});
  for (const config::Given& given : common.configuration())
    words.insert(words.end(), {"--setting", fmt::format("{} {}={}", given.origin, given.key, given.text)});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // This program waits for signals on a thread of its own; the next one has its own way.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  execv(program->c_str(), argv.data());
  return failed(
      context,
      Error{Cause::unavailable, fmt::format("{} cannot be started: {}", *program, strerror(errno)), {}, {}});
}

}  // namespace

Command tui_command() {
  static std::vector<std::string> said;
  // Handed on as it was typed.
  const auto hand_on = [](std::string name, std::string type, std::string help,
                          std::vector<std::string> choices = {}) {
    const auto read = [name](std::string_view text) -> Result<void> {
      said.insert(said.end(), {name, std::string(text)});
      return {};
    };
    return Flag{name, std::move(type), std::move(help), read, nullptr, std::move(choices)};
  };
  struct Switch {
    const char* name;
    const char* help;
    bool on = false;
  };
  static Switch switches[] = {
      {"--demo", "a modelled fleet of 32 nodes with faults that come and go: no network, no root"},
      {"--read-only", "start nothing, whatever the certificate allows"},
      {"--ascii", "ASCII alone, as where the locale is not UTF-8"},
      {"--mono", "no colours, as with NO_COLOR"},
      {"--light", "colours for a light background"},
      {"--mouse", "take clicks; the terminal's own selection then needs Shift"},
  };
  Flag from = hand_on("--from", "FILE",
                      "documents of check, sweep, run or simulate --json, or what topo --from reads");
  from.many = true;
  Flags flags = {
      from,
      hand_on("--history", "FILE", "earlier checks, from the history's file"),
      hand_on("--record", "FILE", "write what is shown to a new file, for --replay"),
      hand_on("--replay", "FILE", "show a recording: Space pauses, + and - change its speed"),
      hand_on("--print", "SCREEN", "print a frame as text instead",
              {"fleet", "findings", "matrix", "topology", "history", "counters", "run"}),
      hand_on("--size", "COLSxROWS", "of the frame that is printed (80x24)"),
      hand_on("--at", "TIME", "show that moment: '2026-01-31 14:05', 14:05, 2h or 3d (ago), @SECONDS"),
  };
  for (Switch& s : switches) flags.push_back(toggle(s.name, s.on, s.help));
  return {"tui", "Shows the fleet on a terminal: findings, matrix, topology, history, a running check",
          std::move(flags),
          "Keys: ? in the dashboard lists them; [tui.keys] of the configuration changes them.\n"
          "Exit code 0 when it was left, 3 where it could not show anything.\n"
          "Example: ringtrue tui --demo",
          [](Context& context) {
            std::vector<std::string> words = said;
            for (const Switch& s : switches)
              if (s.on) words.emplace_back(s.name);
            return start_tui(context, words);
          }};
}

}  // namespace ringtrue::cmd
