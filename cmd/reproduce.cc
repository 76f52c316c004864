#include "cmd/reproduce.h"

namespace ringtrue::cmd {
namespace {

using Words = std::vector<std::string>;

void add(Words& words, const char* flag, const std::optional<std::string>& value) {
  if (value) words.insert(words.end(), {flag, *value});
}

// What was typed; the environment and the usual files hold for the next command as well.
Words reach(const Common& common) {
  Words words;
  if (!common.config_file.empty()) add(words, "--config", common.config_file);
  add(words, "--pki", common.pki);
  if (common.insecure) words.emplace_back("--insecure");
  add(words, "--phase-deadline", common.phase_deadline);
  return words;
}

Words carry(const Common& common, const VerbsFlags& verbs) {
  Words words;
  add(words, "--link-rate", common.link_rate);
  add(words, "--transport", common.transport);
  add(words, "--memory", common.memory);
  add(words, "--data-interface", common.data_interface);
  add(words, "--data-ports", common.data_ports);
  add(words, "--deadline", common.run_deadline);
  const Words more = words_of(verbs);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

ops::ReproduceWords reproduce_words(const Common& common, const VerbsFlags& verbs) {
  return {reach(common), carry(common, verbs)};
}

}  // namespace ringtrue::cmd
