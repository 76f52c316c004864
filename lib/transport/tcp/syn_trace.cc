#include "transport/tcp/syn_trace.h"

#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ringtrue::transport::tcp {

SynTrace::SynTrace(Loop& loop, Ends ends) : loop_(loop), ends_(std::move(ends)) {}

SynTrace::~SynTrace() {
  drop();
}

void SynTrace::begin() {
  attempt();
}

void SynTrace::drop() {
  loop_.cancel(timer_);
  if (fd_ && !over_) loop_.forget(fd_.get(), this);
  if (!over_) fd_ = OwnedFd();
}

void SynTrace::end(std::string why) {
  if (over_) return;
  loop_.cancel(timer_);
  if (fd_) loop_.forget(fd_.get(), this);
  over_ = true;
  if (why.empty()) return;
  why_ = std::move(why);
  fd_ = OwnedFd();
}

void SynTrace::attempt() {
  drop();
  const bool v4 = ends_.from.ipv4();
  fd_ = OwnedFd(::socket(ends_.from.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd_) return end(std::strerror(errno));
  set_option(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (ends_.shares_port) set_option(fd_.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  if (hops_ > 0) set_time_to_live(fd_.get(), v4, hops_);
  tell_packet_errors(fd_.get(), v4, hops_ > 0);
  const auto* from = reinterpret_cast<const sockaddr*>(&ends_.from.storage);
  const auto* to = reinterpret_cast<const sockaddr*>(&ends_.to.storage);
  if (auto watched = loop_.watch(fd_.get(), 0, this); !watched) return end(watched.error().what);
  if (::bind(fd_.get(), from, ends_.from.size) != 0 ||
      (::connect(fd_.get(), to, ends_.to.size) != 0 && errno != EINPROGRESS))
    return errno == ECONNREFUSED && !ends_.listens ? (void)(way_.known = true, end("refused"))
                                                   : end(std::strerror(errno));
  loop_.change(fd_.get(), EPOLLOUT, this);
  if (hops_ > 0) timer_ = loop_.at(now_ns() + hop_patience_ns, [this] { silent(); });
}

void SynTrace::silent() {
  if (over_) return;
  ++tries_ < max_tries_per_hop ? attempt() : give_up();
}

void SynTrace::give_up() {
  way_.known = false;
  if (!ends_.listens || hops_ == 0) return end("no answer");
  hops_ = 0;
  attempt();
}

std::optional<std::string> SynTrace::router() {
  const auto error = next_packet_error(fd_.get());
  if (!error || error->kind != PacketError::Kind::expired || error->from.empty()) return std::nullopt;
  return error->from;
}

void SynTrace::ready(std::uint32_t events) {
  if (over_ || !fd_) return;
  if (hops_ > 0) {
    if (auto who = router()) {
      way_.routers.push_back(std::move(*who));
      tries_ = 0;
      if (++hops_ > max_hops) return give_up();
      return attempt();
    }
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0 && !(events & EPOLLOUT)) return;
  const bool arrived = error == 0 || (error == ECONNREFUSED && !ends_.listens);
  if (arrived) {
    way_.known = hops_ > 0;
    if (!ends_.listens) return end("refused");
    tell_packet_errors(fd_.get(), ends_.from.ipv4(), false);
    set_time_to_live(fd_.get(), ends_.from.ipv4(), -1);
    return end({});
  }
  if (hops_ > 0 && error != ECONNREFUSED) return give_up();  // a router says something else
  end(std::strerror(error));
}

}  // namespace ringtrue::transport::tcp
