// The program's commands and options as lines, of which packaging/man/make makes manual pages.
#pragma once

#include <string>

#include "cmd/flags.h"

namespace ringtrue::cmd {

// A line each, its fields cut by tabs, newlines written as \n:
//   command PATH SUMMARY FOOTER        PATH is "" for the program, "pki issue"
//   operand PATH NAME VALUE HEADING CHOICES HELP
//   option  PATH NAMES VALUE HEADING CHOICES HELP     the program's are those of all commands
std::string manual(const Command& program, const Flags& common);

}  // namespace ringtrue::cmd
