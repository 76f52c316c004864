// How daemons are dialled, and asked one question each. gRPC stays behind this header (ask.cc, dialer.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "pki/pki.h"
#include "probe/request.h"
#include "run/device_event.h"

namespace ringtrue::fleet {

// `pki`: the folder of the certificates, which Unix sockets do without; empty for --insecure. A daemon that
// has not been reached after most of `deadline` fails with the reason.
Result<std::shared_ptr<Dialer>> make_dialer(const std::vector<Target>& targets, const std::string& pki,
                                            Seconds deadline);
std::shared_ptr<Dialer> make_dialer(std::shared_ptr<const pki::PemBundle> own, Seconds connect_time);

// Asks every daemon what it is, 256 at a time, each for at most `deadline`; returns when all have answered.
// `told` is called once a target, from any thread; `gently`: from this one, which does all of it.
void ask_all(Dialer& dialer, const std::vector<Target>& targets, Seconds deadline,
             const std::function<void(std::size_t target, Result<NodeState> state)>& told,
             const Gently* gently = nullptr);

// The same for a recording of its node.
void inspect_all(Dialer& dialer, const std::vector<Target>& targets, const probe::ReadRequest& question,
                 Seconds deadline,
                 const std::function<void(std::size_t target, Result<std::string> recording)>& told);

// The same for what its devices did in the last so many seconds.
void events_of_all(Dialer& dialer, const std::vector<Target>& targets, std::int64_t seconds, Seconds deadline,
                   const std::function<void(std::size_t target, Result<run::DeviceEvents> events)>& told);

}  // namespace ringtrue::fleet
