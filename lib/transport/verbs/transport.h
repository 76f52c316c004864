// The RDMA side of one process: its devices, registered memory, and the queue pairs of its hops, made anew
// for each run so that no run begins with what another one left.
//
//   open -> { use, begin_run, offer*, accept*, open_channel*, ..., end_run }*
//
// All of it on the session's thread; channels belong to their loops.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "run/rdma.h"
#include "transport/loop.h"
#include "transport/tcp/transport.h"
#include "transport/verbs/channel.h"
#include "transport/verbs/errors.h"
#include "transport/verbs/flow_trace.h"
#include "transport/verbs/greeting.h"
#include "transport/verbs/library.h"
#include "transport/verbs/memory.h"
#include "transport/verbs/queues.h"
#include "transport/verbs/rails.h"

namespace ringtrue::transport::verbs {

class Transport {
 public:
  struct Setup {
    std::string node;          // this one's name, for errors
    std::string data_address;  // Addresses::own
    run::RdmaSettings settings;
  };
  // Errors: unavailable, with the reason in one line: no device, no active port, no libibverbs.
  static Result<std::unique_ptr<Transport>> open(Library& library, Setup setup);
  ~Transport();

  // The ranks' memory of the runs to come; see Memory::use.
  Result<Way> use(const Buffer& memory);

  struct Run {
    std::vector<Loop*> loops;       // by thread; the first one hears of events
    std::size_t hops = 0;           // that will be offered
    std::uint64_t max_message = 0;  // bytes
    // Told on the first loop's thread of events that end the run.
    std::function<void(Error)> failed;
    std::vector<std::string> others = {};  // Addresses::others
  };
  // Looks at the ports anew. Errors: unavailable, as open().
  Result<void> begin_run(Run run);
  // Queue pairs and a ring for one hop end, of a rank that `thread` plays. `ports`: its rails; empty: the
  // setup's. Errors: refused (memlock), unavailable.
  Result<Greeting> offer(const tcp::ConnectionKey& key, const Hop& hop, int thread,
                         const std::vector<run::RdmaPort>& ports = {});
  // Connects them to the peer's, which mismatch() finds nothing against.
  Result<void> accept(const tcp::ConnectionKey& key, const Greeting& peer);
  // Hops that are accepted from now on leave from source ports that are the same in all runs, on RoCE and
  // where the device takes them from the flow label.
  void pin_ports() { pinned_ = true; }
  // What an accepted hop sends, where that is one flow of a pinned port.
  std::optional<Flow> flow(const tcp::ConnectionKey& key) const;
  // Of an accepted hop: this end's ports that the peer has none for.
  std::vector<run::RdmaPort> unpaired(const tcp::ConnectionKey& key) const;
  // Ports whose packets carry no GRH, and so no traffic class.
  const std::set<run::RdmaPort>& without_grh() const { return without_grh_; }
  void withdraw(const tcp::ConnectionKey& key);  // the hop goes another way
  // Once both ends are ready. `control`: the hop's control connection, watched for its end.
  std::unique_ptr<Channel> open_channel(const tcp::ConnectionKey& key, int control, Owner& owner,
                                        const Reducer& reducer, faulty::Script script);
  // After all channels are gone.
  void end_run();

  // As offered without ports of their own.
  const std::vector<Rail>& rails() const { return choice_.rails; }
  const std::vector<LeftOut>& left_out() const { return choice_.left_out; }
  Way way() const { return way_; }
  const std::string& why_staged() const { return memory_->why_staged(); }

 private:
  struct Offered;
  class Events;  // of one device
  // What a hop end gets: as much as settings and run ask for, while all of them together stay bounded.
  struct Shape {
    std::uint32_t slots = 0, slot_bytes = 0, staging = 0;
  };
  explicit Transport(Setup setup);
  Shape shape() const;
  Result<void> choose(const std::optional<std::vector<std::string>>& others);
  Result<std::vector<std::size_t>> device_indices(const std::vector<Rail>& rails);  // in used_
  Result<Queues*> queues_of(std::size_t device, int thread);
  Result<void> watch(Device& device);
  bool pins(const Rail& rail, std::size_t device) const;
  std::optional<Ends> ends_of(const std::string& device, std::uint32_t queue_pair) const;

  Setup setup_;
  Devices devices_;            // all of the node
  std::vector<Device*> used_;  // in the order of Memory's
  Choice choice_;
  std::unique_ptr<Memory> memory_;
  Buffer buffer_;
  Way way_ = Way::staged;
  Run run_;
  Shape shape_;
  std::set<run::RdmaPort> ports_;  // that the run's hops go through
  std::set<run::RdmaPort> without_grh_;
  bool failed_ = false;  // the run, by an event
  bool pinned_ = false;
  std::map<std::string, std::unique_ptr<Events>> events_;
  std::map<std::pair<std::size_t, int>, std::unique_ptr<Queues>> queues_;  // by device and thread
  std::map<tcp::ConnectionKey, std::unique_ptr<Offered>> offered_;
};

}  // namespace ringtrue::transport::verbs
