#include "cmd/verbs_flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringtrue::cmd {
namespace {

struct Setting {
  std::string_view name;  // of the key; with dashes, of the flag
  const char* type;
  const char* help;
  std::vector<std::string> choices{};

  std::string flag() const {
    std::string flag = "--" + std::string(name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
  }
};

// Their ranges: run/fields.h.
const Setting settings[] = {
    {"rdma_ports", "LIST", "ports that the data goes through: mlx5_0,mlx5_1:2 (chosen)"},
    {"gid_index", "N", "of the port's table of GIDs (chosen)"},
    {"pkey_index", "N", "of the port's table of P_Keys (0)"},
    {"path_mtu",
     "BYTES",
     "256, 512, 1024, 2048 or 4096 (the port's active one)",
     {"256", "512", "1024", "2048", "4096"}},
    {"ib_timeout", "N", "local ACK timeout, 4.096 us x 2^N (18; check and sweep: 16)"},
    {"retry_count", "N", "times that a lost packet is sent again (7)"},
    {"rnr_retry", "N", "times that a receiver may be not ready; 7: without end (7)"},
    {"traffic_class", "N", "of the GRH, for RoCE: DSCP x 4 (0)"},
    {"service_level", "N", "of InfiniBand (0)"},
    {"queue_pairs", "N", "of a hop on each rail (1)"},
    {"adaptive_routing_threshold", "SIZE", "messages from there on may be reordered on the way; 0: none (0)"},
    {"relaxed_ordering", "SWITCH", "on or off; asked for where libibverbs can (on)", {"on", "off"}},
    {"rdma_memory",
     "HOW",
     "auto, direct (the ranks' own, registered) or staged (copied)",
     {"auto", "direct", "staged"}},
    {"slot_bytes", "SIZE", "most of one write, 4K to 4M (256K)"},
    {"slots", "N", "writes that a receiver has room for, 2 to 64 (8)"},
};

}  // namespace

Flags verbs_flags(VerbsFlags& flags) {
  Flags out;
  for (const Setting& setting : settings) {
    const auto check = [&setting](std::string_view text) -> Result<std::string> {
      run::RdmaSettings scratch;
      if (auto done = run::set(scratch, setting.name, text); !done) return tl::unexpected(done.error());
      return std::string(text);
    };
    out.push_back(parsed(setting.flag(), flags.given[std::string(setting.name)], check, setting.type,
                         setting.help, setting.choices));
  }
  return in_group("RDMA (--transport verbs, auto)", std::move(out));
}

std::vector<std::string> words_of(const VerbsFlags& flags) {
  std::vector<std::string> words;
  for (const Setting& setting : settings) {
    const auto given = flags.given.find(std::string(setting.name));
    if (given != flags.given.end() && !given->second.empty())
      words.insert(words.end(), {setting.flag(), given->second});
  }
  return words;
}

Inapplicables given(const VerbsFlags& flags) {
  const auto words = words_of(flags);
  if (words.empty()) return {};
  return {{true, words.front()}};
}

std::map<std::string, std::string> settings_of(const VerbsFlags& flags) {
  std::map<std::string, std::string> settings = flags.given;
  std::erase_if(settings, [](const auto& setting) { return setting.second.empty(); });
  return settings;
}

ops::ReproduceWords words_again(const Common& common, const VerbsFlags& verbs) {
  ops::ReproduceWords again;
  if (!common.config_file.empty()) again.reach = {"--config", common.config_file};
  if (common.insecure) again.reach.emplace_back("--insecure");
  again.carry = words_of(verbs);
  for (const auto& [flag, value] : common.settings) {
    if (flag == "--hosts") continue;
    auto& words = flag == "--pki" || flag == "--phase-deadline" ? again.reach : again.carry;
    words.insert(words.end(), {flag, value});
  }
  return again;
}

}  // namespace ringtrue::cmd
