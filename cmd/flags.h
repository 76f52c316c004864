// What the program takes, as tables: commands and their flags. command_line.cc alone reads words by them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace ringtrue::cmd {

struct Context;

// A flag; without a value where `on` is set; an operand where its name has no dashes.
struct Flag {
  std::string names;  // "--size", "-q,--quiet", "ALGORITHM"
  std::string type;   // of its value: "SIZE"
  std::string help;
  // Takes a value as it was typed, which is not empty. The error is told with the flag's name before it.
  std::function<Result<void>(std::string_view)> read;
  bool* on = nullptr;
  std::vector<std::string> choices{};  // what the value may be, for completion
  std::string group{};                 // its heading in --help
  std::string excludes{};              // another flag's name
  bool required = false, hidden = false;
  bool many = false;  // takes several values
  char split = 0;     // ... or one that is cut there

  std::string long_name() const;  // "--quiet"
  bool operand() const { return names[0] != '-'; }
  bool takes_value() const { return on == nullptr; }
};
using Flags = std::vector<Flag>;

struct Command {
  std::string name, summary;
  Flags flags{};
  std::string footer{};
  std::function<int(Context&)> action{};  // none where a command below it has to be named
  std::vector<Command> below{};
};

Flags join(std::initializer_list<Flags> groups);
Flags in_group(const std::string& heading, Flags flags);
Flag required(Flag flag);
Flag hidden(Flag flag);
Flag excluding(Flag flag, const std::string& other);

// The rest make flags. Their targets outlive the command line.

Flag toggle(const std::string& names, bool& target, const std::string& help);

// `parse` is Result<T>(std::string_view); `target` is anything that a T can be assigned to.
template <class Target, class Parse>
Flag parsed(const std::string& names, Target& target, Parse parse, const std::string& type,
            const std::string& help, std::vector<std::string> choices = {}) {
  const auto read = [&target, parse](std::string_view text) -> Result<void> {
    auto value = parse(text);
    if (!value) return tl::unexpected(value.error());
    target = std::move(*value);
    return {};
  };
  return {names, type, help, read, nullptr, std::move(choices)};
}

// Any text, such as a file's name.
template <class Target>
Flag text(const std::string& names, Target& target, const std::string& type, const std::string& help,
          std::vector<std::string> choices = {}) {
  const auto any = [](std::string_view text) -> Result<std::string> { return std::string(text); };
  return parsed(names, target, any, type, help, std::move(choices));
}

// Several texts.
Flag texts(const std::string& names, std::vector<std::string>& target, const std::string& type,
           const std::string& help, char split = 0);

// A whole number from `low` to `high`.
Result<long> parse_whole(std::string_view text, long low, long high);

// "8", "2-1024": from one to another, rising.
Result<std::pair<long, long>> parse_range(std::string_view text, long low, long high);
template <class Target>
Flag whole(const std::string& names, Target& target, long low, long high, const std::string& help) {
  const auto parse = [low, high](std::string_view text) { return parse_whole(text, low, high); };
  return parsed(names, target, parse, "N", help);
}

// "5%" or "0.05", from 0 to `max`.
Result<double> parse_share_up_to(double max, std::string_view text);

// The error of a value that is none of `words`.
tl::unexpected<Error> no_choice(const std::string& names, std::string_view text,
                                const std::vector<std::string>& words);

// One of several words, each for a value.
template <class T, class Target>
Flag choice(const std::string& names, Target& target, const std::vector<std::pair<std::string, T>>& values,
            const std::string& type, const std::string& help) {
  std::vector<std::string> words;
  for (const auto& value : values) words.push_back(value.first);
  const auto parse = [names, values, words](std::string_view text) -> Result<T> {
    for (const auto& [word, value] : values)
      if (word == text) return value;
    return no_choice(names, text, words);
  };
  return parsed(names, target, parse, type, help, words);
}

// One of several words, as it is.
template <class Target>
Flag word(const std::string& names, Target& target, const std::vector<std::string>& words,
          const std::string& type, const std::string& help) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& word : words) values.emplace_back(word, word);
  return choice<std::string>(names, target, values, type, help);
}

}  // namespace ringtrue::cmd
