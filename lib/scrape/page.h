// The page that Prometheus scrapes: /metrics, /-/healthy and /-/ready, in one thread for all clients.
//
// Who comes is taken for a stranger until a request of theirs was answered. We accept ourselves and hand to
// the HTTP library only as many connections as it may hold: the oldest stranger goes for the newest client,
// so that whoever opens connections and says nothing keeps nobody out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/listen.h"
#include "base/result.h"
#include "base/units.h"

namespace ringtrue::scrape {

inline constexpr int default_port = 9464;

// What clients may take of the page, whoever they are.
struct Limits {
  std::size_t connections = 16;
  std::size_t request_bytes = 8 << 10;  // a request, its headers included; none has a body
  Seconds opening{5};                   // from accept(2) to the end of the first request
  Seconds answer{10};                   // to take an answer
  Seconds idle{300};                    // between two requests
  int accepts_per_second = 100;         // handshakes take a processor's time; the others wait
};

struct Credentials {
  std::string ca, cert, key;     // PEM
  std::uint64_t generation = 0;  // rises when they change: new connections use the new ones, old ones end
};

struct Settings {
  ListenAddress address;
  std::string flag = "--metrics";     // for errors
  std::function<std::string()> page;  // from the page's thread: must not wait
  // Both or none. TLS 1.3, with a certificate from every client that `admit` takes (PEM); its errors are
  // told to the client and end the connection.
  std::function<Credentials()> credentials{};
  std::function<Result<void>(const std::string& certificate)> admit{};
  Limits limits{};
};

// Since the start.
struct Counts {
  std::uint64_t answered = 0;  // pages
  std::uint64_t refused = 0;   // answers with an error: of clients, paths, methods
  std::uint64_t cut = 0;       // connections that took too long, or made room
};

class Http;
struct Tally;

class Page {
 public:
  // Errors: the address is not to be had; bad_input where the certificates are no use.
  static Result<std::unique_ptr<Page>> start(Settings settings);
  ~Page();

  int port() const;
  Counts counts() const;

 private:
  Page(Settings settings, OwnedFd listener, OwnedFd wake);
  void serve();
  void accept_all();
  bool make_room();
  void renew();

  const Settings settings_;
  const OwnedFd listener_, wake_;
  const std::shared_ptr<Tally> tally_;
  std::unique_ptr<Http> http_;
  std::uint64_t generation_ = 0;
  double may_accept_;  // connections, as of accepted_at_ (now_ns)
  std::int64_t accepted_at_ = 0;
  std::int64_t accept_again_ = 0;  // now_ns, after too many, or after accept(2) failed for lack of something
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace ringtrue::scrape
