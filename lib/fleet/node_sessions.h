// The streams to the daemons of one fleet: phases over them, who is late, and the way out.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "fleet/culprit.h"
#include "fleet/fleet.h"
#include "fleet/link.h"

namespace ringtrue::fleet {

// How long things may take beyond a phase's own deadline; all of it together stays below five seconds.
inline constexpr Seconds answer_grace{2};        // a daemon answers at most a second after the deadline
inline constexpr Seconds settle_own{0.3};        // for further answers once somebody failed by itself
inline constexpr Seconds settle_peer_lost{2};    // ... once somebody lost a peer
inline constexpr Seconds abort_grace{0.6};       // for the answers to an abort
inline constexpr Seconds release_grace{0.6};     // for a release to be answered
inline constexpr Seconds silence_is_loss{4};     // without a heartbeat: not awaited any longer
inline constexpr Seconds silence_is_suspect{3};  // without a heartbeat: named, if something else failed
// For a daemon to take the connection, where only such are awaited. A first packet that is lost twice makes
// it three seconds.
inline constexpr Seconds connect_patience{4};

// Whether a fleet goes on with so many of its nodes. Where most fall silent, it may be this side that is cut
// off.
constexpr bool enough_to_go_on(std::size_t living, std::size_t of) {
  return living >= 2 && 2 * living >= of;
}

class NodeSessions {
 public:
  // `outlive_the_dead`: the lease leaves out nodes that are dead, if enough answer, and their errors say what
  // they did last.
  NodeSessions(std::vector<std::string> nodes, std::function<void(Phase, int, int)> progress,
               bool outlive_the_dead = false);
  ~NodeSessions();  // releases what is still held; at most about a second

  // Opens a stream to these nodes and keeps it alive from now on.
  void open(Dialer& dialer, const std::vector<Target>& targets, const std::vector<int>& who);

  // Sends a command to the nodes of `who` and gathers their answers, in that order; `adapt` makes it a node's
  // own. On the first failure, and on cancel(), the others are told to stop, and these sessions are fit only
  // for destruction.
  FleetResult<std::vector<Reply>> phase(const std::vector<int>& who, Seconds deadline, rpc::Command command,
                                        const std::function<void(rpc::Command&, int node)>& adapt = nullptr);

  // Whom the lease left out; their replies are empty.
  const std::vector<Failure>& left_out() const { return left_out_; }

  void cancel();  // from any thread

 private:
  struct Member {
    std::shared_ptr<Link> link;
    std::optional<Reply> reply;  // to the present command
    bool over = false;           // its stream
    Error end;                   // why it is over
    std::int64_t ended_at = 0;
    bool connected = false;
    std::int64_t heard = 0;    // when it last said something
    Phase done = Phase::none;  // what it did last
    std::int64_t done_at = 0;
  };
  // Shared with the streams, which may outlive them by a moment.
  struct State final : Listener {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Member> members;
    std::uint64_t awaited = 0;  // sequence of the present command
    Phase phase = Phase::none;  // its phase
    bool cancelled = false;
    bool leaving = false;
    std::int64_t awake = 0;  // when this side last looked

    void heard(int node) override;
    void replied(int node, Reply reply) override;
    void ended(int node, Error why) override;
  };
  // How a phase stands.
  struct Standing {
    int answered = 0;
    bool failed_itself = false;
    bool lost_peer = false;
    std::int64_t next_silence = INT64_MAX;  // when a node may next be found silent
    int unconnected = 0;                    // of those that have not answered
  };
  using Lock = std::unique_lock<std::mutex>;

  Standing standing(const std::vector<int>& who, Phase phase) const;
  // Waits until all have answered, the time is up, or a failure has settled. Returns whether the time was up.
  bool await(Lock& lock, Phase phase, const std::vector<int>& who, Seconds deadline);
  void stop_the_rest(Lock& lock, const std::vector<int>& who);
  std::vector<Answer> answers(Phase phase, const std::vector<int>& who, bool time_up,
                              std::int64_t begun) const;
  // Whether the lease goes on without those that failed; they are left out then.
  bool leave_out(const std::vector<Failure>& failures, const std::vector<int>& who);
  std::string last_done(const std::string& node) const;
  bool wait_until(Lock& lock, std::int64_t at_ns) const;
  bool answered(int node) const;
  void note_awake();
  void beat();
  void release();
  // True once the condition holds.
  template <class Condition>
  bool wait_for(Lock& lock, Seconds time, Condition condition) const;

  const std::vector<std::string> nodes_;
  const std::function<void(Phase, int, int)> progress_;
  const bool outlive_the_dead_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::uint64_t sequence_ = 0;  // of the last command
  std::vector<Failure> left_out_;
  std::thread heart_;
};

}  // namespace ringtrue::fleet
