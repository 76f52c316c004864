#include "daemon/passive_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/inspector.h"
#include "probe/probe.h"

namespace ringtrue::daemon {
namespace {

constexpr Seconds sample_time{5}, find_time{60}, slow_time{300};
// Links that flap many times a second are read no more often than this.
constexpr Seconds least_pause{0.2};
constexpr std::size_t max_counts = 200;  // series of a page

std::int64_t ns(Seconds s) {
  return std::int64_t(s.value * 1e9);
}

// A socket that becomes readable when a link changes its state.
OwnedFd link_news() {
  OwnedFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return fd;
}

void drain(int fd) {
  char ignored[4096];
  // Also after ENOBUFS: news were lost, but that there were some is all that matters.
  while (::recv(fd, ignored, sizeof ignored, MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

PassiveWatch::PassiveWatch(std::string folder, Slow slow)
    : slow_(std::move(slow)), log_(std::move(folder), ::time(nullptr)), links_(link_news()) {}

void PassiveWatch::start() {
  if (!log_.trouble().empty()) log_warn("events of devices are kept in memory alone: {}", log_.trouble());
  wake_ = OwnedFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

void PassiveWatch::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

run::DeviceEvents PassiveWatch::last(std::int64_t seconds) const {
  const std::int64_t now = ::time(nullptr);
  const std::lock_guard lock(mutex_);
  return log_.since(now - seconds, now);
}

PassiveWatch::Counts PassiveWatch::counts() const {
  const std::lock_guard lock(counts_mutex_);
  return counts_;
}

// True when a link has changed before that.
bool PassiveWatch::wait(const std::stop_token& stop, std::int64_t until_ns) const {
  while (!stop.stop_requested()) {
    const std::int64_t left = until_ns - now_ns();
    if (left <= 0) return false;
    pollfd polled[] = {{wake_.get(), POLLIN, 0}, {links_ ? links_.get() : -1, POLLIN, 0}};
    if (::poll(polled, 2, int((left + 999'999) / 1'000'000)) > 0 && polled[1].revents != 0) {
      drain(links_.get());
      return true;
    }
  }
  return false;
}

void PassiveWatch::compare(std::vector<run::CounterSet>& before, std::vector<run::CounterSet> now,
                           std::int64_t& at) {
  const std::int64_t time = ::time(nullptr);
  const auto changes = probe::rises(before, now);
  before = std::move(now);
  {
    const std::lock_guard lock(counts_mutex_);
    for (const run::CounterChange& change : changes) {
      const bool room = counts_.size() < max_counts || counts_.contains({change.device, change.counter});
      counts_[room ? std::pair(change.device, change.counter)
                   : std::pair<std::string, std::string>("other", "other")] +=
          change.reset ? change.after : change.after - change.before;
    }
  }
  const std::int64_t from = std::min(std::exchange(at, time), time);
  const std::lock_guard lock(mutex_);
  log_.add(changes, from, time);
}

void PassiveWatch::watch(const std::stop_token& stop) {
  std::vector<run::CounterSet> files, slow;
  std::int64_t files_at = ::time(nullptr), slow_at = files_at;
  std::int64_t find_due = 0, slow_due = now_ns() + ns(least_pause);
  while (!stop.stop_requested()) {
    const std::int64_t began = now_ns();
    if (began >= find_due) {
      counters_.find();
      find_due = began + ns(find_time);
    }
    compare(files, counters_.read(), files_at);
    if (slow_ && began >= slow_due) {
      if (auto told = slow_(stop); !told.empty()) compare(slow, std::move(told), slow_at);
      slow_due = now_ns() + ns(slow_time);
    }
    if (wait(stop, began + ns(sample_time))) wait(stop, now_ns() + ns(least_pause));
  }
}

PassiveWatch::Slow gpu_counters(std::string node) {
  if (::access("/dev/nvidiactl", F_OK) != 0) return nullptr;
  return [read = read_node(std::move(node))](const std::stop_token& stop) -> std::vector<run::CounterSet> {
    const auto recording = read({.fabric = false}, stop);  // all nodes of a fleet do this, again and again
    if (!recording) return {};
    auto sets = probe::probe_cluster(*recording).nodes.front().counters;
    std::erase_if(sets, [](const run::CounterSet& set) {
      return !set.device.starts_with("GPU") && !set.device.starts_with("NVSwitch");
    });
    return sets;
  };
}

}  // namespace ringtrue::daemon
