// What was typed, read by the tables of flags.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/flags.h"

namespace ringtrue::cmd {

// "json" of --json, else that of --format, whatever else is wrong with the words; empty: none.
std::string format_asked(int argc, char** argv);

struct Typed {
  std::vector<const Command*> commands;  // the program, "pki", "issue"
  std::optional<Error> error;            // bad_input, with what to do about it
  std::optional<std::string> shown;      // help or version, instead of anything else

  std::string full_name() const;  // "ringtrue pki issue"
};

// Gives the flags' targets what was typed. All commands accept the `common` flags.
Typed read_words(const Command& program, const Flags& common, const std::string& version, int argc,
                 char** argv);

}  // namespace ringtrue::cmd
