#include "fleet/targets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <set>
#include <thread>

#include "pki/x509.h"

namespace ringtrue::fleet {
namespace {

struct Parts {
  std::string host;
  std::optional<int> port;
};

tl::unexpected<Error> refuse(const std::string& name, const std::string& why) {
  return fail(Cause::bad_input, "\"" + name + "\" " + why, {},
              "give hosts as node3, node3:7464 or unix:PATH");
}

Result<Parts> split(const std::string& name) {
  std::string host = name, port;
  if (name.starts_with('[')) {
    const std::size_t close = name.find(']');
    if (close == std::string::npos) return refuse(name, "has no closing ']'");
    host = name.substr(1, close - 1);
    port = name.substr(close + 1);
    if (!pki::is_address(host)) return refuse(name, "holds no IPv6 address in its brackets");
    if (!port.empty() && port[0] != ':') return refuse(name, "has something other than a port behind ']'");
  } else if (const std::size_t colon = name.find(':');
             colon != std::string::npos && name.find(':', colon + 1) == std::string::npos) {
    host = name.substr(0, colon);
    port = name.substr(colon);
  }
  if (host.empty()) return refuse(name, "names no host");
  if (port.empty()) return Parts{host, std::nullopt};
  int number = 0;
  const auto [end, code] = std::from_chars(port.data() + 1, port.data() + port.size(), number);
  if (code != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535)
    return refuse(name, "has a bad port (1 to 65535)");
  return Parts{host, number};
}

// The address that a name stands for, or why it stands for none.
using Found = tl::expected<std::string, std::string>;

Found look_up(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(name.c_str(), nullptr, &hints, &found); code != 0)
    return tl::unexpected(std::string(gai_strerror(code)));
  const addrinfo* chosen = found;
  while (chosen && chosen->ai_family != AF_INET) chosen = chosen->ai_next;
  if (!chosen) chosen = found;
  char text[NI_MAXHOST] = "";
  getnameinfo(chosen->ai_addr, chosen->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  return text;
}

// getaddrinfo() knows no deadline: it runs on a few threads that may outlive the question.
struct Lookups {
  const std::vector<std::string> names;
  std::vector<std::promise<Found>> found{names.size()};  // by name
  std::atomic<std::size_t> next = 0;

  void work() {
    for (std::size_t i = next++; i < names.size(); i = next++) found[i].set_value(look_up(names[i]));
  }
};

// By name.
std::map<std::string, Result<std::string>> look_up_all(std::vector<std::string> names, Seconds deadline) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(deadline.value);
  const std::shared_ptr<Lookups> lookups(new Lookups{std::move(names)});
  const std::size_t threads = std::min<std::size_t>(16, lookups->names.size());
  for (std::size_t i = 0; i < threads; ++i) std::thread([lookups] { lookups->work(); }).detach();

  std::map<std::string, Result<std::string>> addresses;
  for (std::size_t i = 0; i < lookups->names.size(); ++i) {
    const std::string& name = lookups->names[i];
    std::future<Found> answer = lookups->found[i].get_future();
    if (answer.wait_until(until) != std::future_status::ready) {
      lookups->next = lookups->names.size();
      addresses[name] =
          fail(Cause::deadline, "no answer to the look-up of " + name + " within " + to_text(deadline), name,
               "check this machine's name server, or give the address instead");
      continue;
    }
    const Found found = answer.get();
    if (found)
      addresses[name] = *found;
    else
      addresses[name] = fail(Cause::bad_input, "unknown host " + name + " (" + found.error() + ")", name,
                             "check the spelling, /etc/hosts and the name server");
  }
  return addresses;
}

}  // namespace

Result<std::vector<Target>> make_targets(const std::vector<std::string>& names,
                                         const TargetOptions& options) {
  if (names.empty()) return fail(Cause::bad_input, "no hosts given", {}, "give --hosts LIST");
  std::vector<Target> targets;
  std::map<std::string, int> uses;  // of each host
  std::set<std::string> sockets;
  for (const std::string& name : names) {
    Target target;
    if (name.starts_with("unix:")) {
      target.node = name;
      target.socket = name.substr(5);
      if (target.socket.empty() || target.socket.size() >= sizeof(sockaddr_un::sun_path))
        return refuse(name, "holds no path that a Unix socket can have (1 to 107 bytes)");
      if (!sockets.insert(target.socket).second)
        return fail(Cause::bad_input, name + " is in the list of hosts twice", name, "remove one of them");
    } else {
      auto parts = split(name);
      if (!parts) return tl::unexpected(parts.error());
      target.node = parts->host;
      target.host = parts->host;
      target.port = parts->port.value_or(options.port);
      ++uses[parts->host];
    }
    targets.push_back(std::move(target));
  }

  std::vector<std::string> unknown;
  std::map<std::string, std::string> addresses, why_not;
  for (const auto& [host, count] : uses) {
    const auto given = options.addresses.find(host);
    const std::string& stands_for = given == options.addresses.end() ? host : given->second;
    if (pki::is_address(stands_for))
      addresses[host] = stands_for;
    else
      unknown.push_back(stands_for);
  }
  if (!unknown.empty()) {
    const auto found = look_up_all(unknown, options.lookup_deadline);
    for (const auto& [host, count] : uses) {
      if (addresses.contains(host)) continue;
      const auto given = options.addresses.find(host);
      const auto& answer = found.at(given == options.addresses.end() ? host : given->second);
      if (!answer && !options.keep_unknown) return tl::unexpected(answer.error());
      addresses[host] = answer.value_or("");
      if (!answer) why_not[host] = answer.error().what;
    }
  }

  std::map<std::pair<std::string, int>, std::string> taken;  // address and port -> node
  for (Target& target : targets) {
    if (!target.socket.empty()) continue;
    const std::string host = target.host;
    target.host = addresses[host];
    if (const auto why = why_not.find(host); why != why_not.end()) target.unknown = why->second;
    if (uses[host] > 1)
      target.node =
          (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(target.port);
    if (!target.unknown.empty()) continue;
    const auto [other, fresh] = taken.try_emplace({target.host, target.port}, target.node);
    if (fresh) continue;
    const std::string what =
        other->second == target.node
            ? target.node + " is in the list of hosts twice"
            : target.node + " and " + other->second + " are the same daemon, " + address_text(target);
    return fail(Cause::bad_input, what, target.node, "remove one of them");
  }
  return targets;
}

std::optional<std::string> slurm_hostlist() {
  for (const char* variable : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"})
    if (const char* value = std::getenv(variable); value && *value) return value;
  return std::nullopt;
}

std::string certificate_name(const Target& target) {
  auto parts = split(target.node);
  return parts ? parts->host : target.node;
}

std::string host_text(const Target& target) {
  if (!target.socket.empty()) return target.node;
  const std::string name = certificate_name(target);
  const std::string host = name.find(':') == std::string::npos ? name : fmt::format("[{}]", name);
  return target.port == TargetOptions().port ? host : fmt::format("{}:{}", host, target.port);
}

std::string address_text(const Target& target) {
  if (!target.socket.empty()) return "unix:" + target.socket;
  const bool brackets = target.host.find(':') != std::string::npos;
  return (brackets ? "[" + target.host + "]" : target.host) + ":" + std::to_string(target.port);
}

std::string to_text(const Target& target) {
  const std::string address = address_text(target);
  return target.node == address ? address : target.node + " (" + address + ")";
}

}  // namespace ringtrue::fleet
