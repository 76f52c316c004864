// The sentences of findings: one place for text, JSON and monitoring.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/findings/report.h"

namespace ringtrue::report {

std::string_view name(const diagnosis::Statement& statement);  // "path-rate", as JSON has it
std::string sentence(const diagnosis::Statement& statement);
// Of what a rule of inspection says, and says at least: one of its impact, and of what to do.
std::vector<std::string> rule_sentences(const diagnosis::Statement& statement);
std::vector<std::string> sentences(const std::vector<diagnosis::Statement>& statements);
struct NotCheckedText {
  std::string what, why;
};
NotCheckedText not_checked(const diagnosis::NotChecked& statement);
// "leave out node3: 31.2 MB/s -> 59.8 MB/s busbw over 7 of 8 nodes"
std::string sentence(const diagnosis::Plan& plan);
// "4 nodes, node[1-4]", or "3 of 4 nodes, node[1-4]" where one was not there.
std::string nodes_text(const diagnosis::Diagnosis& d);

}  // namespace ringtrue::report
