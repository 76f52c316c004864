#include "cmd/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

namespace ringtrue::cmd {
namespace {

// No option means anything by an empty value, which mostly is a variable that a script did not set, nor by
// the next option.
CLI::Option* has_value(CLI::Option* option) {
  return option->check([](const std::string& text) -> std::string {
    if (text.empty()) return "the value is empty; give one, or leave it out";
    if (text.starts_with("--"))
      return fmt::format("the value is missing, {} comes next; a file of that name is ./{}", text, text);
    return {};
  });
}

}  // namespace

Option Option::group(const std::string& heading) const {
  option_->group(heading);
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::split_at(char delimiter) const {
  option_->delimiter(delimiter);
  return *this;
}

std::string Option::name() const {
  return option_->get_name(option_->get_positional());
}

std::vector<std::string> Option::long_names() const {
  std::vector<std::string> out;
  for (const std::string& name : option_->get_lnames()) out.push_back("--" + name);
  return out;
}

std::string Option::help() const {
  return option_->get_description();
}

bool Option::hidden() const {
  return option_->get_group().empty();
}

bool Option::operand() const {
  return option_->get_positional();
}

bool Option::takes_value() const {
  return option_->get_expected_max() > 0;
}

bool Option::given() const {
  return option_->count() > 0;
}

bool Option::missing() const {
  return option_->get_required() && !given();
}

Command Command::add_command(const std::string& name, const std::string& summary) const {
  app_->require_subcommand(0, 1);
  CLI::App* below = app_->add_subcommand(name, summary);
  below->allow_extras();  // CommandLine tells what was not understood, with a suggestion
  return Command(*below);
}

Option Command::add(const std::string& names, Read read, const std::string& type,
                    const std::string& help) const {
  CLI::Option* option = app_->add_option_function<std::string>(
      names,
      [read = std::move(read), names](const std::string& text) {
        if (const auto done = read(text); !done) throw CLI::ValidationError(names, done.error().text());
      },
      help);
  if (!type.empty()) option->type_name(type);
  return Option(*has_value(option));
}

Option Command::add_flag(const std::string& names, bool& target, const std::string& help) const {
  return Option(*app_->add_flag(names, target, help));
}

Option Command::add_texts(const std::string& names, std::vector<std::string>& target, const std::string& type,
                          const std::string& help) const {
  constexpr int most = 1 << 16;
  return Option(*has_value(app_->add_option(names, target, help)->type_name(type)->expected(1, most)));
}

void Command::footer(const std::string& text) const {
  app_->footer(text);
}

std::string Command::name() const {
  return app_->get_name();
}

std::string Command::full_name() const {
  CLI::App* above = app_->get_parent();
  return above ? Command(*above).full_name() + " " + name() : name();
}

std::string Command::summary() const {
  return app_->get_description();
}

std::vector<Option> Command::options() const {
  std::vector<Option> out;
  for (CLI::Option* option : app_->get_options()) out.emplace_back(*option);
  return out;
}

std::vector<Command> Command::commands() const {
  std::vector<Command> out;
  for (CLI::App* app : app_->get_subcommands([](CLI::App*) { return true; })) out.emplace_back(*app);
  return out;
}

Command Command::typed() const {
  CLI::App* app = app_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return Command(*app);
}

std::optional<Command> Command::typed_first() const {
  const auto typed = app_->get_subcommands();
  return typed.empty() ? std::nullopt : std::optional(Command(*typed.front()));
}

std::vector<std::string> Command::not_understood() const {
  return app_->remaining();
}

Result<long> parse_whole(std::string_view text, long low, long high) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size() || error != std::errc() || value < low ||
      value > high) {
    return fail(Cause::bad_input,
                fmt::format("'{}' is not a whole number from {} to {}", text.substr(0, 40), low, high));
  }
  return value;
}

Result<double> parse_share_up_to(double most, std::string_view text) {
  const std::string_view whole = text.substr(0, 40);
  double value = -1;
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const double share = percent ? value / 100 : value;
  if (error != std::errc() || end != text.data() + text.size() || !(share >= 0 && share <= most)) {
    return fail(Cause::bad_input, fmt::format("'{}' is not a share from 0 to {:g}%", whole, most * 100), {},
                "like 5% or 0.05");
  }
  return share;
}

}  // namespace ringtrue::cmd
