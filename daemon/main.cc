// ringtrued: waits, answers what this node is and what is in it, and lends it to one operator at a time.
//
// Threads: the main one (signals and sockets), gRPC's queue (never blocks), the lease manager's (a lease's
// phases), that of the page of metrics, that of the passive watch, which reads some files every 5 s, and
// while this node is read, the inspector's. The others sleep while nothing happens.
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/grpc_log.h"
#include "daemon/listener.h"
#include "daemon/metrics.h"
#include "daemon/options.h"
#include "daemon/passive_watch.h"
#include "daemon/service.h"
#include "daemon/state_dir.h"
#include "daemon/systemd.h"
#include "run/member.h"

namespace ringtrue::daemon {
namespace {

constexpr Seconds drain_time{10};  // for the run in progress; with stop_time below the unit's TimeoutStopSec
constexpr std::int64_t drain_poll_ns = 20'000'000;
constexpr Seconds stop_time{1};  // for calls to end
constexpr Seconds trim_after{10};

class Daemon {
 public:
  explicit Daemon(Options options) : options_(std::move(options)) {}

  Result<void> start();
  void serve_until_stopped();

 private:
  Result<void> listen_on_tcp(const ListenAddress& address);
  void reload();
  void drain();
  void stop();

  Options options_;
  std::unique_ptr<StateDir> state_;
  std::shared_ptr<Certificates> certificates_;
  std::unique_ptr<LeaseManager> leases_;
  std::unique_ptr<Inspector> inspector_;
  std::unique_ptr<PassiveWatch> watch_;
  std::unique_ptr<Service> service_;
  std::vector<Listener> listeners_;
  std::unique_ptr<SelfInspection> inspection_;  // for the page
  std::unique_ptr<MetricsPage> metrics_;
  OwnedFd signals_;
  Watchdog watchdog_;
  std::optional<Deadline> stop_by_;  // it has been told to stop
};

Result<void> Daemon::start() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int s : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, s);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before any thread, so that all have it
  signals_ = OwnedFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return fail(Cause::unavailable, "no signalfd");

  auto state = StateDir::open(options_.state);
  if (!state) return tl::unexpected(state.error());
  state_ = std::make_unique<StateDir>(std::move(*state));

  auto worker = worker::find_worker();
  if (!worker) return tl::unexpected(worker.error());
  ListenAddress page;
  if (!options_.metrics.empty()) {
    auto address = ringtrue::parse_listen(options_.metrics, scrape::default_port, "--metrics");
    if (!address) return tl::unexpected(address.error());
    page = *address;
  }
  ListenAddress listen;  // a node with several RDMA ports is reached at one of them
  if (!options_.listen.empty()) {
    auto address = parse_listen(options_.listen);
    if (!address) return tl::unexpected(address.error());
    listen = *address;
  }
  const bool open_page = !options_.metrics.empty() && !is_loopback(page);
  if ((!options_.listen.empty() || open_page) && !options_.insecure) {
    if (options_.pki.empty()) {
      return fail(Cause::bad_input, "no certificates, so TCP stays closed",
                  options_.listen.empty() ? "--metrics" : "--listen",
                  "give --pki DIR (see `ringtrue pki`), or --insecure to accept any client");
    }
    certificates_ = std::make_shared<Certificates>(options_.pki, options_.node);
    if (auto loaded = certificates_->load(); !loaded) {
      Error error = loaded.error();
      if (error.where.empty()) error.where = "--pki";
      return tl::unexpected(error);
    }
  }
  leases_ = std::make_unique<LeaseManager>(
      options_.node, options_.limits,
      [program = *worker, address = listen.host](run::Member member, Deadline deadline, worker::Told told) {
        member.node_address = address;
        return worker::start_workers(program, member, deadline, std::move(told));
      });
  take_over_grpc_log();
  inspector_ = std::make_unique<Inspector>(read_node(options_.node));
  watch_ = std::make_unique<PassiveWatch>(options_.events, gpu_counters(options_.node));
  watch_->start();
  service_ = std::make_unique<Service>(options_.node, *leases_, *inspector_, watch_.get());
  if (auto started = service_->start(certificates_); !started) return started;

  if (!options_.listen.empty()) {
    if (auto listening = listen_on_tcp(listen); !listening) return listening;
  }
  if (!options_.metrics.empty()) {
    inspection_ = std::make_unique<SelfInspection>(read_node(options_.node), leases_->tally());
    auto serving = MetricsPage::start(page, {leases_->tally(), *watch_, *inspection_, certificates_});
    if (!serving) return tl::unexpected(serving.error());
    metrics_ = std::move(*serving);
  }
  auto local = Listener::unix_socket(state_->socket(), [this](int listener, int fd) {
    service_->serve(Service::Door::local, listener, fd);
  });
  if (!local) return tl::unexpected(local.error());
  listeners_.push_back(std::move(*local));
  log_info("{} on node {}: listening on {}{}{}", RINGTRUE_VERSION, options_.node, state_->socket(),
           options_.listen.empty() ? "" : " and " + options_.listen,
           options_.listen.empty() ? ""
           : certificates_         ? " (mutual TLS)"
                                   : " (INSECURE: without TLS)");
  if (metrics_)
    log_info("metrics on {}{}", options_.metrics,
             !open_page      ? " (HTTP)"
             : certificates_ ? " (mutual TLS)"
                             : " (INSECURE: without TLS)");
  notify_systemd("READY=1");
  return {};
}

Result<void> Daemon::listen_on_tcp(const ListenAddress& address) {
  const Service::Door door = certificates_ ? Service::Door::tls : Service::Door::local;
  auto listener =
      Listener::tcp(address, certificates_ ? Listener::Opening::tls : Listener::Opening::plaintext,
                    [this, door](int from, int fd) { service_->serve(door, from, fd); });
  if (!listener) return tl::unexpected(listener.error());
  listeners_.push_back(std::move(*listener));
  return {};
}

void Daemon::reload() {
  notify_systemd("RELOADING=1");
  if (auto reloaded = daemon::reload(options_); reloaded) {
    leases_->set_limits(reloaded->limits);
    log_info("reloaded the configuration");
    if (!reloaded->kept.empty())
      log_warn("changed, but needs a restart: {}", fmt::join(reloaded->kept, ", "));
  } else {
    log_error("kept the former configuration: {}", reloaded.error().text());
  }
  if (certificates_) {
    if (auto loaded = certificates_->load(); loaded) {
      service_->certificates_changed();
      log_info("reloaded the certificates");
    } else {
      log_error("kept the former certificates: {}", loaded.error().text());
    }
  }
  notify_systemd("READY=1");
}

// Meanwhile operators are answered: that the node is about to stop. Told twice, it stops at once.
void Daemon::drain() {
  if (stop_by_) {
    stop_by_ = Deadline::in(Seconds(0));
    return;
  }
  notify_systemd("STOPPING=1");
  log_info("stopping");
  leases_->drain();
  stop_by_ = Deadline::in(drain_time);
}

void Daemon::stop() {
  metrics_.reset();
  inspection_.reset();
  leases_->stop();
  inspector_->stop();
  watch_->stop();
  service_->stop(Deadline::in(stop_time));
  listeners_.clear();
  state_->clear();
}

void Daemon::serve_until_stopped() {
  std::vector<pollfd> polled;
  std::int64_t trim_at = 0;  // now_ns; 0: nothing has come since memory was last given back
  for (;;) {
    polled.assign(1, {signals_.get(), POLLIN, 0});
    watchdog_.tell_if_due();
    std::int64_t due = std::min(trim_at == 0 ? INT64_MAX : trim_at, watchdog_.due().at_ns());
    for (const Listener& listener : listeners_) {
      listener.add_to(polled);
      due = std::min(due, listener.next_due().at_ns());
    }
    if (stop_by_) due = std::min(due, now_ns() + drain_poll_ns);
    const Deadline wake =
        due == INT64_MAX ? Deadline::never()
                         : Deadline::in(Seconds(double(std::max<std::int64_t>(due - now_ns(), 0)) * 1e-9));
    if (stop_by_ && (leases_->is_free() || stop_by_->passed())) break;
    const int ready = ::poll(polled.data(), polled.size(), wake.left_ms());
    if (ready > 0 && polled.front().revents) {
      signalfd_siginfo signal{};
      while (::read(signals_.get(), &signal, sizeof signal) == ssize_t(sizeof signal)) {
        if (signal.ssi_signo == SIGHUP) {
          reload();
        } else {
          drain();
        }
      }
    }
    if (trim_at != 0 && now_ns() >= trim_at) {
      ::malloc_trim(0);
      trim_at = 0;
    }
    if (ready > 0 && trim_at == 0) trim_at = now_ns() + std::int64_t(trim_after.value * 1e9);
    for (Listener& listener : listeners_) listener.serve();
  }
  stop();
}

void set_process_up() {
  // Two arenas do for what little is allocated, and keep the memory that a flood of clients leaves behind
  // small.
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_TRIM_THRESHOLD, 256 * 1024);
  ::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  ::signal(SIGPIPE, SIG_IGN);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

constexpr int stays_wrong = 3, may_pass = 1;  // exit codes

int refuse_to_start(const Error& error, int exit_code) {
  log_error("{}", error.text());
  notify_systemd("STATUS=" + error.text());
  return exit_code;
}

}  // namespace
}  // namespace ringtrue::daemon

int main(int argc, char** argv) {
  using namespace ringtrue;
  fill_standard_files();
  set_log_program("ringtrued");
  daemon::set_process_up();
  auto options = daemon::read_options(argc, argv);
  if (!options) return daemon::refuse_to_start(options.error(), daemon::stays_wrong);
  if (const int* status = std::get_if<int>(&*options)) return *status;
  daemon::Daemon node(std::move(std::get<daemon::Options>(*options)));
  if (auto started = node.start(); !started)
    return daemon::refuse_to_start(
        started.error(), started.error().cause == Cause::bad_input ? daemon::stays_wrong : daemon::may_pass);
  node.serve_until_stopped();
  log_info("stopped");
  return 0;
}
