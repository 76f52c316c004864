// One instance of the HTTP library, with one set of certificates, and the connections that it holds. All of
// it belongs to the page's thread but for the counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "scrape/page.h"

struct MHD_Daemon;
struct MHD_Connection;

namespace ringtrue::scrape {

struct Tally {
  std::atomic<std::uint64_t> answered = 0, refused = 0, cut = 0;
};

class Http {
 public:
  // bad_input where the certificates are no use.
  static Result<std::unique_ptr<Http>> start(const Settings& settings, Credentials credentials,
                                             std::shared_ptr<Tally> tally);
  ~Http();  // ends the connections

  int fd() const;  // readable when run() has something to do
  // From the first of these on it has, whatever fd() says: now_ns; INT64_MAX: never.
  std::int64_t next_due() const;
  void run();

  // Takes over a connection that does not block.
  void add(OwnedFd fd);
  std::size_t count() const { return connections_.size(); }
  // Ends the oldest connection that no request came over, or else the one that was idle for longest. False:
  // all are being answered.
  bool drop_one();

 private:
  enum class State : std::uint8_t { stranger, answering, idle };
  struct Connection {
    State state = State::stranger;
    std::int64_t since = 0;  // now_ns, of the state
    bool cut = false;
  };
  friend struct Callbacks;

  Http(const Settings& settings, Credentials credentials, std::shared_ptr<Tally> tally);
  Connection* find(MHD_Connection* of);
  std::int64_t due(const Connection& connection) const;
  void cut(int fd, Connection& connection);
  bool answer(MHD_Connection* to, const std::string& method, const std::string& path, bool first);
  Result<void> admit(MHD_Connection* client) const;

  const Settings& settings_;
  const Credentials credentials_;  // the library does not copy them
  const std::shared_ptr<Tally> tally_;
  MHD_Daemon* daemon_ = nullptr;
  std::map<int, Connection> connections_;  // by descriptor
};

}  // namespace ringtrue::scrape
