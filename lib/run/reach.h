// Whether nodes reach each other at all, and over what: told before anything is measured (Job::reach).
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace ringtrue::run {

// How two processes of different nodes reach each other, as one end saw it.
struct Reach {
  std::int32_t self = 0, peer = 0;  // ranks of theirs
  bool called = false;              // our call of the peer's data port was answered by the peer itself
  bool taken = false;               // the peer's call of ours came, and proved itself
  bool knocked = false;             // the peer's call came as far as our kernel, whose answer did not arrive
  std::string why;      // our call ended by that, "Connection refused"; empty: by itself, with no answer
  std::string address;  // that we called, "10.0.0.7:41234"
  // The longest packets that this end sends: bytes of IP; 0: no connection was there to send any on.
  int packet = 0;
  bool acknowledged = false;  // by the peer's kernel, none of them cut any shorter
  // Of UDP, where both ends send a short datagram and a long one: these bits then mean that the short one
  // came (called, taken) or the long one (acknowledged, long_taken), ours by the peer's word and the peer's
  // here.
  bool datagrams = false;
  bool long_taken = false;
  bool operator==(const Reach&) const = default;
};

// An interface that a process's data goes over.
struct Network {
  std::string node, interface, address;
  int mtu = 0;          // bytes of IP, the interface's
  int path_mtu = 0;     // the least that the kernel knows of a way to a peer; 0: unknown
  BytesPerSecond rate;  // one way, as its driver says; 0: unknown, as of virtual devices
  // Another interface of the node that has an address and is faster; empty: none is known.
  std::string faster;
  BytesPerSecond faster_rate;
  // The most that a TCP socket of the node receives into (net.ipv4.tcp_rmem), which bounds its window; 0:
  // unknown.
  std::uint64_t receive_buffer = 0;
  auto operator<=>(const Network&) const = default;
};

}  // namespace ringtrue::run
