#include "cmd/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <sstream>

#include "base/suggest.h"
#include "report/style.h"

namespace ringtrue::cmd {
namespace {

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

// The library's own layout of --help, in lines of the terminal's width.
class Help : public CLI::Formatter {
 public:
  Help() : width_(report::text_width(STDOUT_FILENO)) { column_width(32); }

  // What it excludes stands in its description, not where its value's name is.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = Formatter::make_option_opts(option);
    return text.substr(0, text.find(" Excludes:"));
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = Formatter::make_option_desc(option);
    for (const CLI::Option* other : option->get_excludes())
      text += fmt::format("; not with {}", other->get_name());
    return beside(text);
  }
  std::string make_subcommand(const CLI::App* app) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, app->get_display_name(true), beside(app->get_description()),
                             get_column_width());
    return out.str();
  }
  std::string make_description(const CLI::App* app) const override {
    return report::wrap(Formatter::make_description(app), width_, 0);
  }
  std::string make_footer(const CLI::App* app) const override {
    return report::wrap(Formatter::make_footer(app), width_);
  }

 private:
  // Of the second column; the library indents further lines.
  std::string beside(const std::string& text) const {
    return report::wrap(text, std::max<std::size_t>(width_, 2 * get_column_width()) - get_column_width(), 0);
  }

  std::size_t width_;
};

// "--size=" is an empty value, where the library would take the next word.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> out;
  bool options = true;
  for (std::string word : std::span(argv, std::size_t(argc)).subspan(argc > 0)) {
    options = options && word != "--";
    const bool empty = options && word.starts_with("--") && word.find('=') == word.size() - 1;
    if (empty) word.pop_back();
    out.push_back(std::move(word));
    if (empty) out.emplace_back();
  }
  return out;
}

// No flag means anything by an empty value, which mostly is a variable that a script did not set, nor by the
// next flag.
std::string check_value(const std::string& text) {
  if (text.empty()) return "the value is empty; give one, or leave it out";
  if (text.starts_with("--"))
    return fmt::format("the value is missing, {} comes next; a file of that name is ./{}", text, text);
  return {};
}

CLI::Option* option_of(CLI::App& app, const Flag& flag) {
  if (flag.on != nullptr) return app.add_flag(flag.names, *flag.on, flag.help);
  const auto read = [&flag](const std::string& value) {
    if (const auto done = flag.read(value); !done)
      throw CLI::ValidationError(flag.operand() ? flag.names : flag.long_name(), done.error().text());
  };
  const auto read_all = [read](const std::vector<std::string>& values) {
    for (const std::string& value : values) read(value);
  };
  CLI::Option* option =
      flag.many ? app.add_option_function<std::vector<std::string>>(flag.names, read_all, flag.help)
                      ->expected(1, 1 << 16)
                : app.add_option_function<std::string>(flag.names, read, flag.help);
  option->check(check_value);
  if (!flag.type.empty()) option->type_name(flag.type);
  if (flag.split != 0) option->delimiter(flag.split);
  return option;
}

void add(CLI::App& app, const Command& command, const Flags& common) {
  app.allow_extras();  // what was not understood is told below, with a suggestion
  app.footer(command.footer);
  for (const Flags* flags : {&common, &command.flags}) {
    for (const Flag& flag : *flags) {
      CLI::Option* option = option_of(app, flag);
      option->required(flag.required);
      if (flag.hidden || !flag.group.empty()) option->group(flag.hidden ? "" : flag.group);
      if (!flag.excludes.empty()) option->excludes(app.get_option(flag.excludes));
    }
  }
  if (!command.below.empty()) app.require_subcommand(0, 1);
  for (const Command& below : command.below)
    add(*app.add_subcommand(below.name, below.summary), below, common);
}

CLI::App& innermost(CLI::App& app) {
  CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::vector<const Command*> commands_typed(const CLI::App& app, const Command& program) {
  std::vector<const Command*> out = {&program};
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    for (const Command& below : out.back()->below) {
      if (below.name != at->get_name()) continue;
      out.push_back(&below);
      break;
    }
  }
  return out;
}

// Says which word was not understood, and which one may have been meant.
Error not_understood(const std::string& word, const Typed& typed, const Flags& common) {
  const Command& command = *typed.commands.back();
  std::vector<std::string> known;
  if (is_option(word)) {
    known = {"--help", "--version"};
    for (const Flags* flags : {&common, &command.flags})
      for (const Flag& flag : *flags) known.push_back(flag.long_name());
  } else {
    for (const Command& below : command.below) known.push_back(below.name);
  }
  const auto meant = closest(word.substr(0, word.find('=')), known);
  const std::string kind = is_option(word) ? "option" : known.empty() ? "argument" : "command";
  return {Cause::bad_input, fmt::format("unknown {} '{}'", kind, word.substr(0, 60)), "",
          meant ? fmt::format("did you mean {}?", *meant) : ""};
}

// The first word of what is left over, options first.
std::optional<Error> left_over(const std::vector<std::string>& words, const Typed& typed,
                               const Flags& common) {
  for (const std::string& word : words)
    if (is_option(word)) return not_understood(word, typed, common);
  if (words.empty()) return std::nullopt;
  return not_understood(words.front(), typed, common);
}

Error something_missing(CLI::App& app, const Typed& typed, const Flags& common) {
  std::vector<std::string> options;
  for (const std::string& word : app.remaining())
    if (is_option(word)) options.push_back(word);
  if (auto unknown = left_over(options, typed, common)) return *unknown;
  std::string what = "a command";
  for (const CLI::Option* option : app.get_options())
    if (option->get_required() && option->count() == 0 && what == "a command")
      what = option->get_name(option->get_positional());
  return {Cause::bad_input, what + " is missing", "", ""};
}

Error error_of(const CLI::ParseError& error) {
  std::string what = error.what();
  const auto more = what.find(": At Most 1 required but received ");
  if (more != what.npos) what = what.substr(0, more) + " is given more than once; give it once";
  return {Cause::bad_input, what, "", ""};
}

}  // namespace

std::string format_asked(int argc, char** argv) {
  constexpr std::string_view flag = "--format=";
  std::string before, format;
  for (const std::string& word : words_of(argc, argv)) {
    if (word == "--") break;
    if (word == "--json") return "json";
    if (before == "--format") format = word;
    if (word.starts_with(flag)) format = word.substr(flag.size());
    before = word;
  }
  return format;
}

std::string Typed::full_name() const {
  std::string out;
  for (const Command* command : commands) out += (out.empty() ? "" : " ") + command->name;
  return out;
}

Typed read_words(const Command& program, const Flags& common, const std::string& version, int argc,
                 char** argv) {
  CLI::App app(program.summary, program.name);
  app.set_version_flag("--version", version);
  app.formatter(std::make_shared<Help>());
  add(app, program, common);
  Typed typed;
  try {
    std::vector<std::string> words = words_of(argc, argv);
    std::reverse(words.begin(), words.end());  // as the library has them
    app.parse(std::move(words));
    typed.commands = commands_typed(app, program);
    typed.error = left_over(app.remaining(true), typed, common);
  } catch (const CLI::Success& e) {
    std::ostringstream text;
    app.exit(e, text, text);
    typed.commands = commands_typed(app, program);
    typed.shown = text.str();
  } catch (const CLI::RequiredError&) {
    typed.commands = commands_typed(app, program);
    typed.error = something_missing(innermost(app), typed, common);
  } catch (const CLI::ParseError& e) {
    typed.commands = commands_typed(app, program);
    typed.error = error_of(e);
  }
  // Our own parsers' errors say what to do; the library's do not.
  if (typed.error && typed.error->next.empty() && typed.error->what.find("; ") == std::string::npos)
    typed.error->next = fmt::format("try {} --help", typed.full_name());
  return typed;
}

}  // namespace ringtrue::cmd
