// The program as it was called: its commands, filled from what was typed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cmd/options.h"

namespace ringtrue::cmd {

// "json" of --json, else that of --format, whatever else is wrong with the words; empty: none.
std::string format_asked(int argc, char** argv);

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& version, const std::string& summary);
  ~CommandLine();

  Command root() const;

  // Gives the options' targets what was typed. A text is to be shown instead of anything else: help or
  // version. Errors: bad_input, with what to do about it.
  Result<std::optional<std::string>> read(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace ringtrue::cmd
