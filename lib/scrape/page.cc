#include "scrape/page.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "scrape/http.h"

namespace ringtrue::scrape {
namespace {

constexpr int backlog = 128;
constexpr std::int64_t accept_pause_ns = 100'000'000;

}  // namespace

Page::Page(Settings settings, OwnedFd listener, OwnedFd wake)
    : settings_(std::move(settings)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      tally_(std::make_shared<Tally>()),
      may_accept_(settings_.limits.accepts_per_second) {}

Result<std::unique_ptr<Page>> Page::start(Settings settings) {
  auto listener = listen_on(settings.address, settings.flag, backlog);
  if (!listener) return tl::unexpected(listener.error());
  OwnedFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail(Cause::unavailable, "no eventfd");
  std::unique_ptr<Page> page(new Page(std::move(settings), std::move(*listener), std::move(wake)));
  const Credentials credentials = page->settings_.credentials ? page->settings_.credentials() : Credentials{};
  page->generation_ = credentials.generation;
  auto http = Http::start(page->settings_, credentials, page->tally_);
  if (!http) return tl::unexpected(http.error());
  page->http_ = std::move(*http);
  page->accepted_at_ = now_ns();
  // Signals are for the program's other threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  page->thread_ = std::thread([self = page.get()] { self->serve(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return page;
}

Page::~Page() {
  stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

int Page::port() const {
  return port_of(listener_.get());
}

Counts Page::counts() const {
  const Tally& tally = *tally_;
  return {tally.answered, tally.refused, tally.cut};
}

void Page::serve() {
  while (!stopping_) {
    const std::int64_t now = now_ns();
    const bool accepts = now >= accept_again_;
    const std::int64_t due = std::min(http_->next_due(), accepts ? INT64_MAX : accept_again_);
    const int wait_ms =
        due == INT64_MAX ? -1 : int(std::clamp<std::int64_t>((due - now + 999'999) / 1'000'000, 0, 60'000));
    pollfd polled[] = {
        {wake_.get(), POLLIN, 0}, {http_->fd(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
    ::poll(polled, 3, wait_ms);
    if (stopping_) break;
    if (polled[2].revents != 0) accept_all();
    http_->run();
  }
}

bool Page::make_room() {
  return http_->count() < settings_.limits.connections || http_->drop_one();
}

// Certificates that are no use leave the former ones as they are.
void Page::renew() {
  if (!settings_.credentials) return;
  Credentials credentials = settings_.credentials();
  if (credentials.generation == generation_) return;
  generation_ = credentials.generation;
  if (auto http = Http::start(settings_, std::move(credentials), tally_)) http_ = std::move(*http);
}

void Page::accept_all() {
  const std::int64_t now = now_ns();
  const double rate = settings_.limits.accepts_per_second;
  may_accept_ = std::min(rate, may_accept_ + double(now - accepted_at_) * 1e-9 * rate);
  accepted_at_ = now;
  for (;;) {
    if (may_accept_ < 1) {
      accept_again_ = now + std::int64_t(1e9 / rate);
      return;
    }
    OwnedFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
      // Out of descriptors or memory: the connection stays in the queue, and poll() would return at once.
      if (errno != EAGAIN && errno != EWOULDBLOCK) accept_again_ = now + accept_pause_ns;
      return;
    }
    --may_accept_;
    renew();
    if (!make_room()) continue;  // closes it
    const int one = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    http_->add(std::move(fd));
  }
}

}  // namespace ringtrue::scrape
