#include "cmd/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ringtrue::cmd {
namespace {

std::string field(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c == '\t' ? ' ' : c);
  return out;
}

void add_flags(const std::string& path, const Flags& flags, std::string& out) {
  for (const Flag& flag : flags) {
    if (flag.hidden) continue;
    out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", flag.operand() ? "operand" : "option", path,
                       flag.names, flag.takes_value() ? flag.type : "", flag.group,
                       fmt::join(flag.choices, ","), field(flag.help));
  }
}

void add_command(const std::string& path, const Command& command, std::string& out) {
  out += fmt::format("command\t{}\t{}\t{}\n", path, field(command.summary), field(command.footer));
  add_flags(path, command.flags, out);
  for (const Command& below : command.below)
    add_command(path.empty() ? below.name : path + " " + below.name, below, out);
}

}  // namespace

std::string manual(const Command& program, const Flags& common) {
  std::string out;
  add_command("", program, out);
  add_flags("", common, out);
  return out;
}

}  // namespace ringtrue::cmd
