// The connections between clients and gRPC. Every byte goes through here, so that gRPC never sees more
// clients, requests or bytes than it can bear (client_limits.h), and a connection can be ended from outside.
//
//   client ==TCP or Unix socket== a thread of ours ==socket pair== gRPC
//
// gRPC calls a connection by the name of our end of its pair (grpc::ServerContext::peer()), which is unique.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "daemon/client_limits.h"

namespace ringtrue::daemon {

// Where a client is from: "10.0.0.5", "user alice".
struct Source {
  std::string text;
  std::string key;  // what limits count by: an address, the first half of an IPv6 one, a user
  bool local = false;
  std::string here{};  // our address that it reached; of the Unix socket: loopback's
};
Source source_of(int socket);
// Of a client that there is no room for: one that has begun a TLS handshake is told so, by an alert that its
// own library reports. It would take its certificate for the cause otherwise.
void say_busy(int socket);

class Connections {
 public:
  // Takes gRPC's end of a pair.
  using HandOver = std::function<void(int door, int listener, int fd)>;

  explicit Connections(HandOver hand_over);
  ~Connections();  // ends all

  // A new client; `door` and `listener` are handed over with it.
  void add(int door, int listener, int fd);

  // ---- from any thread, by gRPC's name of the connection; nothing where it is gone

  Source source(const std::string& peer) const;
  // A call over it that is permitted has begun, by the client's certificate (PEM). It is not idle until as
  // many have ended.
  void call_begins(const std::string& peer, const std::string& certificate);
  void call_ends(const std::string& peer);
  // It holds a lease, or does so no longer; and a message of the lease has been read.
  void leases(const std::string& peer, bool does);
  void message_read(const std::string& peer, std::size_t bytes);
  // Ends it once what is for it has been flushed.
  void drop(const std::string& peer);
  // Those over TCP by whose certificate this is false; no call has come yet: an empty one.
  void keep_only(const std::function<bool(const std::string& certificate)>& condition);

  std::size_t count() const;

 private:
  struct Connection;
  using Table = std::map<std::string, std::unique_ptr<Connection>>;

  void serve();
  void take_new();
  bool make_room(const Source& source);                 // false: the new one cannot stay
  bool move(Connection& connection, std::int64_t now);  // false: it is over
  void wake();
  Connection* find(const std::string& peer) const;

  const HandOver hand_over_;
  OwnedFd wake_;
  mutable std::mutex mutex_;
  struct Arrival {
    int door, listener;
    OwnedFd fd;
  };
  std::vector<Arrival> arrivals_;
  Table table_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ringtrue::daemon
