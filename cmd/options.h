// What a command takes: handles over the library that reads command lines, with as much of it as we use. That
// library is code in headers, compiled anew by each file that includes them, so that only what implements
// these handles does (options.cc, command_line.cc). Copies of a handle mean the same option or command.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ringtrue::cmd {

// An option, a flag, or an operand, which is an option without dashes.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option group(const std::string& heading) const;  // of the help; "": hidden
  Option required() const;
  Option excludes(Option other) const;
  Option one_of(const std::vector<std::string>& words) const;
  Option split_at(char delimiter) const;

  std::string name() const;  // "--size", "ALGORITHM"
  std::vector<std::string> long_names() const;
  std::string help() const;
  bool hidden() const;
  bool operand() const;
  bool takes_value() const;
  bool given() const;
  bool missing() const;

  bool operator==(const Option&) const = default;

 private:
  CLI::Option* option_;
};

// The program or one of its subcommands.
class Command {
 public:
  // Takes a value as it was typed, which is not empty; the error is told with the option's name before it.
  using Read = std::function<Result<void>(std::string_view)>;

  explicit Command(CLI::App& app) : app_(&app) {}

  // A subcommand, of which one at most can be typed.
  Command add_command(const std::string& name, const std::string& summary) const;
  // An empty `type` is the usual one.
  Option add(const std::string& names, Read read, const std::string& type, const std::string& help) const;
  Option add_flag(const std::string& names, bool& target, const std::string& help) const;
  // One or more values; the targets outlive the command.
  Option add_texts(const std::string& names, std::vector<std::string>& target, const std::string& type,
                   const std::string& help) const;
  void footer(const std::string& text) const;

  std::string name() const;
  std::string full_name() const;  // "ringtrue pki issue"
  std::string summary() const;
  std::vector<Option> options() const;
  std::vector<Command> commands() const;
  // The innermost one that was typed.
  Command typed() const;
  // The outermost one below this that was typed.
  std::optional<Command> typed_first() const;
  // Words that were typed after it and mean nothing.
  std::vector<std::string> not_understood() const;

  bool operator==(const Command&) const = default;

 private:
  CLI::App* app_;
};

// `parse` is Result<T>(std::string_view); `target` is anything that a T can be assigned to.
template <class Target, class Parse>
Option add_parsed(Command command, const std::string& names, Target& target, Parse parse,
                  const std::string& type, const std::string& help) {
  return command.add(
      names,
      [&target, parse](std::string_view text) -> Result<void> {
        auto value = parse(text);
        if (!value) return tl::unexpected(value.error());
        target = std::move(*value);
        return {};
      },
      type, help);
}

// Any text, such as a file's name.
template <class Target>
Option add_text(Command command, const std::string& names, Target& target, const std::string& type,
                const std::string& help) {
  return add_parsed(
      command, names, target, [](std::string_view text) -> Result<std::string> { return std::string(text); },
      type, help);
}

// A whole number from `low` to `high`.
Result<long> parse_whole(std::string_view text, long low, long high);

// "5%" or "0.05", from 0 to `most`.
Result<double> parse_share_up_to(double most, std::string_view text);

template <class Target>
Option add_whole(Command command, const std::string& names, Target& target, long low, long high,
                 const std::string& help) {
  return add_parsed(
      command, names, target, [low, high](std::string_view text) { return parse_whole(text, low, high); },
      "N", help);
}

}  // namespace ringtrue::cmd
