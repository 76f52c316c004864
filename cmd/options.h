// Options whose values are read by our own parsers, so that a bad one is told in our own words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "base/units.h"

namespace ringtrue::cmd {

// `parse` is Result<T>(std::string_view); `target` is anything that a T can be assigned to.
template <class Target, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& flag, Target& target, Parse parse,
                        const std::string& type, const std::string& help) {
  return app
      .add_option_function<std::string>(
          flag,
          [&target, parse, flag](const std::string& text) {
            auto value = parse(text);
            if (!value) throw CLI::ValidationError(flag, value.error().text());
            target = std::move(*value);
          },
          help)
      ->type_name(type);
}

// A whole number from `low` to `high`.
Result<long> parse_whole(std::string_view text, long low, long high);

// "5%" or "0.05", from 0 to `most`.
Result<double> parse_share_up_to(double most, std::string_view text);

template <class Target>
CLI::Option* add_whole(CLI::App& app, const std::string& flag, Target& target, long low, long high,
                       const std::string& help) {
  return add_parsed(
      app, flag, target, [low, high](std::string_view text) { return parse_whole(text, low, high); }, "N",
      help);
}

}  // namespace ringtrue::cmd
