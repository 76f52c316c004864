#include "operator/watch_idle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/plural.h"
#include "probe/spawn.h"

namespace ringtrue::ops {
namespace {

constexpr double share_of_port = 0.01;
constexpr double of_unknown_port = 10e6;  // bytes per second
constexpr Seconds traffic_window{1}, slurm_deadline{10};
constexpr std::size_t most_of_sinfo = 16 << 20;

std::string in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string file = fmt::format("{}/{}", rest.substr(0, colon), program);
    if (access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(colon == rest.npos ? rest.size() : colon + 1);
  }
  return {};
}

// Bytes that a counter of a port counts in, 0 for others: InfiniBand's data is counted in words of four.
double unit_of(std::string_view counter) {
  if (counter == "rx_bytes" || counter == "tx_bytes") return 1;
  if (counter == "port_rcv_data" || counter == "port_xmit_data") return 4;
  return 0;
}

double limit_of(const topology::Node& node, const std::string& device) {
  const topology::Nic* const nic = node.find_nic(device.substr(0, device.find('/')));
  if (!nic) return of_unknown_port;
  for (const topology::Port& port : nic->ports)
    if (port.rate.known() && port.rate->value > 0) return share_of_port * port.rate->value;
  return of_unknown_port;
}

std::string why_node_busy(const topology::Node& node) {
  for (const topology::Gpu& gpu : node.gpus)
    if (gpu.processes.known() && *gpu.processes > 0)
      return fmt::format("{} on {}", plural(std::size_t(*gpu.processes), "process", "processes"), gpu.name);
  if (!node.window || node.window->seconds <= 0) return {};
  for (const run::CounterChange& change : node.window->changes) {
    const double unit = unit_of(change.counter);
    if (unit == 0 || change.reset || change.device == "lo") continue;
    const double rate = unit * double(change.after - change.before) / node.window->seconds;
    if (rate > limit_of(node, change.device))
      return fmt::format("{} carries {}", change.device, to_text(BytesPerSecond(rate)));
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> slurm_states(std::string_view sinfo) {
  std::map<std::string, std::string> out;
  while (!sinfo.empty()) {
    const std::size_t end = sinfo.find('\n');
    const std::string_view line = sinfo.substr(0, end);
    sinfo.remove_prefix(end == sinfo.npos ? sinfo.size() : end + 1);
    const std::size_t space = line.find(' ');
    if (space == line.npos || space == 0) continue;
    const std::string node(line.substr(0, space));
    std::string_view state = line.substr(space + 1);
    while (state.ends_with(' ')) state.remove_suffix(1);
    // "idle~" is powered down, "idle*" does not answer: nobody works there, and its daemon tells the rest.
    const std::string_view plain = state.substr(0, state.find_first_of("*~#!%$@^-+"));
    std::string& why = out[node];
    if (plain != "idle" && why.empty()) why = fmt::format("Slurm has it as {}", state);
  }
  return out;
}

std::map<std::string, std::string> busy_nodes(const topology::Cluster& cluster) {
  std::map<std::string, std::string> out;
  for (const topology::Node& node : cluster.nodes) out[node.name] = why_node_busy(node);
  return out;
}

std::map<std::string, std::string> why_busy(const std::vector<fleet::Target>& targets,
                                            const fleet::Options& options) {
  std::map<std::string, std::string> slurm;
  if (const std::string sinfo = in_path("sinfo"); !sinfo.empty())
    if (const auto told = probe::run_program({sinfo, "--noheader", "--Node", "--format", "%N %t"},
                                             slurm_deadline, most_of_sinfo))
      slurm = slurm_states(*told);
  std::map<std::string, std::string> out;
  std::vector<fleet::Target> others;
  for (const fleet::Target& target : targets) {
    if (const auto known = slurm.find(target.node); known != slurm.end())
      out[target.node] = known->second;
    else
      others.push_back(target);
  }
  if (others.empty()) return out;
  FactRequest request;
  request.window = traffic_window;
  const Facts facts = ask_facts(others, options, request, long_patience(request));
  for (const auto& [node, why] : busy_nodes(facts.cluster)) out[node] = why;
  for (const Failure& f : facts.failures)
    out[f.node] = fmt::format("whether it is idle could not be read: {}", f.error.what);
  for (const fleet::Target& target : others)
    out.try_emplace(target.node, "it is not known whether it is idle");
  return out;
}

}  // namespace ringtrue::ops
