#include "fleet/targets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/un.h>

#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
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

// The address that a name stands for; empty, and why, where it stands for none.
std::string look_up(const std::string& name, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(name.c_str(), nullptr, &hints, &found); code != 0) {
    why = gai_strerror(code);
    return {};
  }
  const addrinfo* chosen = found;
  for (const addrinfo* a = found; a; a = a->ai_next)
    if (a->ai_family == AF_INET) {
      chosen = a;
      break;
    }
  char text[NI_MAXHOST] = "";
  getnameinfo(chosen->ai_addr, chosen->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  return text;
}

// getaddrinfo() knows no deadline: it runs on a few threads that may outlive the question.
struct Lookups {
  std::mutex mutex;
  std::condition_variable done;
  std::vector<std::string> names;      // never changed once the threads run
  std::vector<std::string> addresses;  // by name; empty until known
  std::vector<std::string> reasons;
  std::size_t next = 0;
  std::size_t finished = 0;

  void work() {
    for (;;) {
      std::size_t mine;
      {
        const std::lock_guard lock(mutex);
        if (next == names.size()) return;
        mine = next++;
      }
      std::string why;
      std::string address = look_up(names[mine], why);
      const std::lock_guard lock(mutex);
      addresses[mine] = std::move(address);
      reasons[mine] = std::move(why);
      if (++finished == names.size()) done.notify_all();
    }
  }
};

Result<std::map<std::string, std::string>> look_up_all(std::vector<std::string> names, Seconds deadline) {
  const auto lookups = std::make_shared<Lookups>();
  lookups->addresses.resize(names.size());
  lookups->reasons.resize(names.size());
  lookups->names = std::move(names);
  const std::size_t threads = std::min<std::size_t>(16, lookups->names.size());
  for (std::size_t i = 0; i < threads; ++i) std::thread([lookups] { lookups->work(); }).detach();

  std::unique_lock lock(lookups->mutex);
  lookups->done.wait_for(lock, std::chrono::duration<double>(deadline.value),
                         [&] { return lookups->finished == lookups->names.size(); });
  std::map<std::string, std::string> addresses;
  for (std::size_t i = 0; i < lookups->names.size(); ++i) {
    const std::string& name = lookups->names[i];
    if (!lookups->addresses[i].empty()) {
      addresses[name] = lookups->addresses[i];
    } else if (!lookups->reasons[i].empty()) {
      return fail(Cause::bad_input, "unknown host " + name + " (" + lookups->reasons[i] + ")", name,
                  "check the spelling, /etc/hosts and the name server");
    } else {
      return fail(Cause::deadline, "no answer to the look-up of " + name + " within " + to_text(deadline),
                  name, "check this machine's name server, or give the address instead");
    }
  }
  lookups->next = lookups->names.size();
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
        return fail(Cause::bad_input, name + " is in the list of hosts twice", name, "leave one away");
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
  std::map<std::string, std::string> addresses;
  for (const auto& [host, count] : uses) {
    const auto given = options.addresses.find(host);
    const std::string& stands_for = given == options.addresses.end() ? host : given->second;
    if (pki::is_address(stands_for))
      addresses[host] = stands_for;
    else
      unknown.push_back(stands_for);
  }
  if (!unknown.empty()) {
    auto found = look_up_all(unknown, options.lookup_deadline);
    if (!found) return tl::unexpected(found.error());
    for (const auto& [host, count] : uses) {
      const auto given = options.addresses.find(host);
      if (!addresses.contains(host))
        addresses[host] = (*found)[given == options.addresses.end() ? host : given->second];
    }
  }

  std::map<std::pair<std::string, int>, std::string> taken;  // address and port -> node
  for (Target& target : targets) {
    if (!target.socket.empty()) continue;
    const std::string host = target.host;
    target.host = addresses[host];
    if (uses[host] > 1)
      target.node =
          (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(target.port);
    const auto [other, fresh] = taken.try_emplace({target.host, target.port}, target.node);
    if (fresh) continue;
    const std::string what =
        other->second == target.node
            ? target.node + " is in the list of hosts twice"
            : target.node + " and " + other->second + " are the same daemon, " + address_text(target);
    return fail(Cause::bad_input, what, target.node, "leave one away");
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
