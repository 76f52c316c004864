#include "cmd/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <sstream>

#include "base/suggest.h"
#include "report/style.h"
#include "report/wrap.h"

namespace ringtrue::cmd {
namespace {

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

// The library's own layout of --help, in lines of the terminal's width.
class Help : public CLI::Formatter {
 public:
  Help() : width_(report::text_width(STDOUT_FILENO)) { column_width(32); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return beside(Formatter::make_option_desc(option));
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

tl::unexpected<Error> usage_error(std::string what, Command root, const std::string& hint = "") {
  const std::string help = fmt::format("try {} --help", root.typed().full_name());
  return fail(Cause::bad_input, std::move(what), "", hint.empty() ? help : hint);
}

// Says which word was not understood, and which one may have been meant.
tl::unexpected<Error> not_understood(const std::string& word, Command root) {
  std::vector<std::string> known;
  if (is_option(word)) {
    for (const Option option : root.typed().options())
      for (const std::string& name : option.long_names()) known.push_back(name);
  } else {
    for (const Command below : root.typed().commands()) known.push_back(below.name());
  }
  const auto meant = closest(word.substr(0, word.find('=')), known);
  const std::string kind = is_option(word) ? "option" : known.empty() ? "argument" : "command";
  return usage_error(fmt::format("unknown {} '{}'", kind, word.substr(0, 60)), root,
                     meant ? fmt::format("did you mean {}?", *meant) : "");
}

tl::unexpected<Error> something_missing(Command root) {
  for (const std::string& word : root.typed().not_understood())
    if (is_option(word)) return not_understood(word, root);
  for (const Option option : root.typed().options())
    if (option.missing()) return usage_error(fmt::format("{} is missing", option.name()), root);
  return usage_error("a command is missing", root);
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

CommandLine::CommandLine(const std::string& name, const std::string& version, const std::string& summary)
    : app_(std::make_unique<CLI::App>(summary, name)) {
  app_->set_version_flag("--version", version);
  app_->allow_extras();
  app_->formatter(std::make_shared<Help>());
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() const {
  return Command(*app_);
}

Result<std::optional<std::string>> CommandLine::read(int argc, char** argv) {
  try {
    std::vector<std::string> words = words_of(argc, argv);
    std::reverse(words.begin(), words.end());  // as the library has them
    app_->parse(std::move(words));
  } catch (const CLI::Success& e) {
    std::ostringstream text;
    app_->exit(e, text, text);
    return text.str();
  } catch (const CLI::RequiredError&) {
    return something_missing(root());
  } catch (const CLI::ParseError& e) {
    std::string what = e.what();
    const auto more = what.find(": At Most 1 required but received ");
    if (more != what.npos) what = what.substr(0, more) + " is given more than once; give it once";
    // Our own parsers' errors end with what to do; the library's do not.
    if (what.find("; ") != std::string::npos) return fail(Cause::bad_input, what);
    return usage_error(what, root());
  }
  const std::vector<std::string> rest = app_->remaining(true);
  for (const std::string& word : rest)
    if (is_option(word)) return not_understood(word, root());
  if (!rest.empty()) return not_understood(rest.front(), root());
  return std::nullopt;
}

}  // namespace ringtrue::cmd
