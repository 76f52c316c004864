// What a counter's name says: whether its rise is an error, congestion or mere traffic, and its words for
// people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/keys.h"
#include "run/counter_window.h"
#include "topology/model.h"

namespace ringtrue::topology {

enum class CounterClass {
  unknown,
  traffic,     // bytes and packets: says how busy
  congestion,  // pauses, marks, waits, full queues: says that something is shared, not that it is broken
  error,       // something was damaged, lost, repeated or went down
};

// Of a run::CounterSet's names: the kernel's for ports and netdevs, "nvlink3_replay", "aer_fatal", ...
CounterClass counter_class(std::string_view counter);

// Which end of an RDMA hop a counter shows the loss of a packet to. Of each packet that is lost the receiver
// counts one out of sequence, and the sender the one negative acknowledgement that answers it (mlx5 and rxe).
enum class Loss { none, sending, receiving };
Loss loss_seen(std::string_view counter);

// "symbol errors"; a name without words of its own stays as it is.
std::string counter_words(std::string_view counter);
// How wide it is; 64 where that is not known.
int counter_bits(std::string_view counter);
// "mlx5_0/1" -> "mlx5_0 port 1"; others stay.
std::string device_words(std::string_view device);

// How far it rose; after a reset what it counted since.
std::uint64_t rise(const run::CounterChange& change);
// "mlx5_0 port 1: 412 symbol errors", "mlx5_0 port 1: symbol errors stand at the counter's end, 65535",
// "eth0: at least 3 carrier changes (the counter was reset)"
std::string text(const run::CounterChange& change);

}  // namespace ringtrue::topology

namespace ringtrue {

template <>
inline constexpr const char* keys_of<topology::CounterClass>[] = {"unknown", "traffic", "congestion",
                                                                  "error"};

}  // namespace ringtrue
