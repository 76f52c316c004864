#include "pki/deploy.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <list>
#include <map>
#include <sstream>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "pki/pki.h"
#include "pki/safe_file.h"

namespace ringtrue::pki {
namespace {

constexpr const char* end_of_file = "END_OF_RINGTRUE_FILE";
constexpr std::size_t most_said = 4096;  // bytes of what a node answers that are read
constexpr Seconds poll_every{0.02};

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A file with this text to read from its beginning, which no other program can see.
OwnedFd unnamed_file(const std::string& text) {
  OwnedFd fd(::memfd_create("ringtrue", MFD_CLOEXEC));
  for (std::size_t done = 0; fd && done < text.size();) {
    const ssize_t n = ::write(fd.get(), text.data() + done, text.size() - done);
    if (n <= 0) return {};
    done += std::size_t(n);
  }
  if (fd) ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// Without the user: "root@node3" is the node "node3".
std::string node_of(const std::string& host) {
  const auto at = host.find('@');
  return at == host.npos ? host : host.substr(at + 1);
}

// Whether the node has a certificate that counts, and will for so many days.
bool is_good(const std::string& dir, const std::string& node, const std::string& authority,
             const Serials& revoked, int days) {
  const auto loaded = load_node_credentials(dir + "/" + node, node);
  const std::int64_t then = std::int64_t(std::time(nullptr)) + std::int64_t(days) * 86'400;
  return loaded && identify(loaded->cert, authority, revoked, then);
}

// One node's ssh while it runs.
class Running {
 public:
  Running(Deployed& row, const std::string& host, const std::string& script, const DeployOptions& options)
      : row_(row), deadline_(Deadline::in(options.patience)) {
    std::vector<std::string> words;
    std::istringstream command(options.ssh);
    for (std::string word; command >> word;) words.push_back(word);
    words.push_back(host);
    words.push_back(options.sudo ? "sudo -n sh -s" : "sh -s");
    const OwnedFd input = unnamed_file(script);
    said_ = unnamed_file("");
    if (!input || !said_) {
      fail_with("no memory for its files");
      return;
    }
    name_ = words.front();
    const std::string program = find_program(name_);
    auto child = ChildProcess::start(program, words, {said_.get(), said_.get(), -1, input.get()});
    if (child)
      child_ = std::move(*child);
    else
      fail_with(fmt::format("cannot run {}: {}", program, std::strerror(child.error())));
  }

  // Whether it is done.
  bool step() {
    if (over_) return true;
    if (child_.ended()) {
      finish();
    } else if (deadline_.passed()) {
      child_.kill(Seconds(1));
      fail_with("it did not answer in time");
    }
    return over_;
  }

 private:
  static std::string find_program(const std::string& name) {
    if (name.find('/') != name.npos) return name;
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
      if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
    return name;
  }

  void fail_with(const std::string& why) {
    row_.state = DeployState::failed;
    row_.detail = why;
    over_ = true;
  }

  // Its last line is "unchanged" or "deployed", and what became of the daemon.
  void finish() {
    over_ = true;
    std::string text(most_said, '\0');
    const off_t size = ::lseek(said_.get(), 0, SEEK_END);
    const ssize_t n =
        ::pread(said_.get(), text.data(), text.size(), std::max<off_t>(0, size - off_t(most_said)));
    text.resize(std::size_t(std::max<ssize_t>(n, 0)));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    const auto line = text.rfind('\n');
    const std::string last = one_line(line == text.npos ? text : text.substr(line + 1), 255);
    const bool ok = WIFEXITED(child_.status()) && WEXITSTATUS(child_.status()) == 0;
    for (const DeployState state : {DeployState::unchanged, DeployState::deployed}) {
      const std::string word = key_of(state);
      if (!ok || !last.starts_with(word)) continue;
      row_.state = state;
      std::string more = last.substr(word.size());
      if (more.starts_with(", ")) more.erase(0, 2);
      if (!more.empty()) row_.detail += (row_.detail.empty() ? "" : ", ") + more;
      return;
    }
    if (!last.empty())
      fail_with(last);
    else if (WIFEXITED(child_.status()))
      fail_with(fmt::format("{} ended with {} and said nothing", name_, WEXITSTATUS(child_.status())));
    else
      fail_with(name_ + " was ended by a signal");
  }

  Deployed& row_;
  const Deadline deadline_;
  std::string name_;  // "ssh"
  OwnedFd said_;
  ChildProcess child_;
  bool over_ = false;
};

}  // namespace

std::string deploy_script(const std::string& folder, const std::string& revoked,
                          const DeployOptions& options) {
  std::string files;
  const auto add = [&](const std::string& name, const std::string& path) {
    const auto text = read_file(path);
    if (!text) return;
    files += fmt::format("cat >\"$new/{}\" <<'{}'\n{}{}{}\n", name, end_of_file, *text,
                         text->empty() || text->ends_with('\n') ? "" : "\n", end_of_file);
  };
  for (const char* name : {"ca.crt", "node.crt", "node.key"}) add(name, folder + "/" + name);
  add("revoked", revoked);
  return fmt::format(R"sh(set -eu
LC_ALL=C
export LC_ALL
umask 077
to={}
above=$(dirname "$to")
[ -d "$above" ] || {{ mkdir -p "$above"; chmod 755 "$above"; }}
# One deployment at a time; what was left of one that was cut off goes.
exec 9<"$above"
! command -v flock >/dev/null 2>&1 || flock -w 30 9
rm -rf "$to".new.*
new="$to.new.$$"
trap 'rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM PIPE
mkdir "$new"
{}state=unchanged
mkdir "$to" 2>/dev/null || [ -d "$to" ]
owner=$(! id ringtrue >/dev/null 2>&1 || echo ringtrue:ringtrue)
chmod 750 "$to"
[ -z "$owner" ] || chown "$owner" "$to"
for file in ca.crt node.crt node.key revoked; do
  [ -e "$new/$file" ] || continue
  chmod 644 "$new/$file"
  [ $file != node.key ] || chmod 600 "$new/$file"
  [ -z "$owner" ] || chown "$owner" "$new/$file"
  if cmp -s "$new/$file" "$to/$file"; then
    # It may have been put there before there was a user for it.
    [ "$(stat -c '%U %a' "$new/$file")" = "$(stat -c '%U %a' "$to/$file")" ] && continue
  fi
  mv -f "$new/$file" "$to/$file"
  state=deployed
done
daemon=
if command -v systemctl >/dev/null 2>&1; then
  if systemctl --quiet is-active ringtrued 2>/dev/null; then
    [ $state = unchanged ] || {{ systemctl reload ringtrued; daemon=", daemon reloaded"; }}
  elif {}; then
    # Why it does not start, it says itself.
    systemctl --quiet enable --now ringtrued || {{
      why=$(systemctl show -p StatusText --value ringtrued)
      echo "the certificates are there, but ringtrued did not start: ${{why:-see journalctl -u ringtrued}}" >&2
      exit 1
    }}
    daemon=", daemon started"
  fi
fi
echo "$state$daemon"
)sh",
                     quoted(options.to), files, options.start ? "true" : "false");
}

Result<std::vector<Deployed>> deploy(const std::string& dir, const std::vector<std::string>& named,
                                     const DeployOptions& options) {
  if (!options.to.starts_with('/'))
    return fail(Cause::bad_input, fmt::format("'{}' is no path from the root", one_line(options.to, 255)),
                "--to", "give the folder that the nodes' daemons read, /etc/ringtrue/pki most often");
  const auto authority = read_file(dir + "/ca.crt");
  if (!authority) return tl::unexpected(authority.error());
  const auto revoked = load_revoked(dir);
  if (!revoked) return tl::unexpected(revoked.error());
  std::vector<std::string> hosts;
  for (const std::string& given : named) {
    if (given.starts_with("unix:"))
      return fail(Cause::bad_input, fmt::format("'{}' is a socket, not a host", given), "--hosts");
    const std::string host = without_port(given);
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  std::vector<Deployed> rows(hosts.size());
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    rows[i].node = node_of(hosts[i]);
    if (is_good(dir, rows[i].node, *authority, *revoked, options.renew_before)) continue;
    rows[i].detail =
        exists(dir + "/" + rows[i].node + "/node.crt") ? "certificate issued anew" : "certificate issued";
    missing.push_back(rows[i].node);
  }
  if (!missing.empty()) {
    if (auto issued = issue_certificates(dir, missing, {}); !issued) return tl::unexpected(issued.error());
  }
  std::list<Running> running;
  for (std::size_t next = 0; next < hosts.size() || !running.empty();) {
    while (next < hosts.size() && running.size() < std::size_t(std::max(1, options.at_once))) {
      const std::string script = deploy_script(dir + "/" + rows[next].node, dir + "/revoked", options);
      running.emplace_back(rows[next], hosts[next], script, options);
      ++next;
    }
    if (std::erase_if(running, [](Running& one) { return one.step(); }) == 0) {
      const timespec pause{0, long(poll_every.value * 1e9)};
      ::nanosleep(&pause, nullptr);
    }
  }
  return rows;
}

}  // namespace ringtrue::pki
