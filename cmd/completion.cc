// Completion scripts made of the program's own commands and options, so that they never lag behind.
#include <fmt/format.h>

#include <sstream>

#include "cmd/command.h"
#include "cmd/inapplicable.h"
#include "cmd/manual.h"
#include "cmd/output.h"

namespace ringtrue::cmd {
namespace {

struct Word {
  std::string name;
  std::string help;
  bool takes_value = false;
  std::vector<std::string> values{};  // what it may be; empty: a file
};

struct Level {
  std::string path;  // "", "run", "pki issue"
  std::vector<Word> commands;
  std::vector<Word> options;
  std::vector<std::string> operands;  // values of the first positional
};

std::string plain(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\'' || c == '\\' || c == '`' || c == '$' || c == '"' || c == '\n') continue;
    out += c == ':' || c == '[' || c == ']' ? ' ' : c;
  }
  return out;
}

void collect(const Command& command, const Flags& common, const std::string& path, std::vector<Level>& out) {
  Level level;
  level.path = path;
  level.options = {{"--help", "Print this help message and exit"}};
  if (path.empty()) level.options.push_back({"--version", "Display program version information and exit"});
  for (const Flags* flags : {&common, &command.flags}) {
    for (const Flag& flag : *flags) {
      if (flag.hidden) continue;
      if (flag.operand() && level.operands.empty()) level.operands = flag.choices;
      if (flag.operand()) continue;
      level.options.push_back({flag.long_name(), plain(flag.help), flag.takes_value(), flag.choices});
    }
  }
  for (const Command& below : command.below) level.commands.push_back({below.name, plain(below.summary)});
  out.push_back(std::move(level));
  for (const Command& below : command.below)
    collect(below, common, path.empty() ? below.name : path + " " + below.name, out);
}

std::string joined(const std::vector<Word>& words) {
  std::string out;
  for (const Word& w : words) out += (out.empty() ? "" : " ") + w.name;
  return out;
}

// Of a shell's `case`: the path after a word, and what an option that takes values completes to.
std::string path_cases(const std::vector<Level>& levels, std::string_view variable) {
  std::string out;
  for (const Level& level : levels)
    for (const Word& c : level.commands)
      out += fmt::format("      '{}/{}') {}='{}' ;;\n", level.path, c.name, variable,
                         level.path.empty() ? c.name : level.path + " " + c.name);
  return out;
}

std::string value_cases(const std::vector<Level>& levels, const std::string& files, const auto& choices) {
  std::string out;
  for (const Level& level : levels)
    for (const Word& o : level.options)
      if (o.takes_value)
        out += fmt::format("    '{} {}') {}; return ;;\n", level.path, o.name,
                           o.values.empty() ? files : choices(fmt::format("{}", fmt::join(o.values, " "))));
  return out;
}

std::string bash(const std::vector<Level>& levels) {
  std::string out =
      "# bash completion of ringtrue; made by `ringtrue completion bash`\n"
      "_ringtrue() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= word i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    word=${COMP_WORDS[i]}\n"
      "    case \"$path/$word\" in\n" +
      path_cases(levels, "path") + "    esac\n  done\n  case \"$path $prev\" in\n" +
      value_cases(levels, "COMPREPLY=($(compgen -f -- \"$cur\"))",
                  [](const std::string& words) {
                    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", words);
                  }) +
      "  esac\n  case \"$path\" in\n";
  for (const Level& level : levels)
    out += fmt::format("    '{}') word='{} {} {}' ;;\n", level.path, joined(level.commands),
                       fmt::join(level.operands, " "), joined(level.options));
  return out +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$word\" -- \"$cur\"))\n"
         "}\n"
         "complete -F _ringtrue ringtrue\n";
}

std::string zsh(const std::vector<Level>& levels) {
  std::string out =
      "#compdef ringtrue\n"
      "# zsh completion of ringtrue; made by `ringtrue completion zsh`\n"
      "_ringtrue() {\n"
      "  local path_='' word i prev=${words[CURRENT-1]}\n"
      "  local -a subs opts vals\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    word=${words[i]}\n"
      "    case \"$path_/$word\" in\n" +
      path_cases(levels, "path_") + "    esac\n  done\n  case \"$path_ $prev\" in\n" +
      value_cases(levels, "_files", [](const std::string& words) { return "compadd -- " + words; }) +
      "  esac\n  case \"$path_\" in\n";
  for (const Level& level : levels) {
    const auto list = [](const std::vector<Word>& words) {
      std::string line;
      for (const Word& w : words) line += fmt::format("'{}:{}' ", w.name, w.help);
      return line;
    };
    out += fmt::format("    '{}')\n      subs=({})\n      opts=({})\n      vals=({})\n      ;;\n", level.path,
                       list(level.commands), list(level.options), fmt::join(level.operands, " "));
  }
  return out +
         "  esac\n"
         "  (( $#subs )) && _describe -t commands command subs\n"
         "  (( $#vals )) && compadd -- $vals\n"
         "  _describe -t options option opts\n"
         "}\n"
         "compdef _ringtrue ringtrue\n";
}

std::string fish(const std::vector<Level>& levels) {
  std::string out =
      "# fish completion of ringtrue; made by `ringtrue completion fish`\n"
      "complete -c ringtrue -f\n";
  for (const Level& level : levels) {
    std::string condition;
    std::istringstream path(level.path);
    for (std::string word; path >> word;)
      condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ", word);
    if (condition.empty()) condition = "__fish_use_subcommand";
    for (const Word& c : level.commands) {
      out += fmt::format("complete -c ringtrue -n '{}' -a {} -d '{}'\n", condition, c.name, c.help);
    }
    if (!level.operands.empty()) {
      out += fmt::format("complete -c ringtrue -n '{}' -a '{}'\n", condition, fmt::join(level.operands, " "));
    }
    for (const Word& o : level.options) {
      const std::string argument = !o.takes_value     ? ""
                                   : o.values.empty() ? " -r -F"
                                                      : fmt::format(" -x -a '{}'", fmt::join(o.values, " "));
      out += fmt::format("complete -c ringtrue -n '{}' -l {}{} -d '{}'\n", condition, o.name.substr(2),
                         argument, o.help);
    }
  }
  return out;
}

int complete(Context& context, const Command& program, const Flags& common_flags, const std::string& shell) {
  const auto fits = reject("completion", {running(context, "leave it out"), hosts(context, "leave it out"),
                                          common(context, {"--link-rate", "--json"})});
  if (!fits) return failed(context, fits.error());
  if (shell == "manual") return print(manual(program, common_flags), Exit::healthy);
  std::vector<Level> levels;
  collect(program, common_flags, "", levels);
  return print(shell == "bash" ? bash(levels) : shell == "zsh" ? zsh(levels) : fish(levels), Exit::healthy);
}

}  // namespace

Command completion_command(const Command& program, const Flags& common_flags) {
  static std::string shell;
  return {"completion",
          "Prints a completion script for bash, zsh or fish",
          {required(word("SHELL", shell, {"bash", "zsh", "fish", "manual"}, "",
                         "bash, zsh or fish; manual: what manual pages are made of"))},
          "Example: ringtrue completion bash > /etc/bash_completion.d/ringtrue",
          [&](Context& context) { return complete(context, program, common_flags, shell); }};
}

}  // namespace ringtrue::cmd
