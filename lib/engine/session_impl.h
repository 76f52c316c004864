// A session as it is made: what it holds, and who holds what. session.cc has the phases that play,
// session_connect.cc those before them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collective/algorithm.h"
#include "collective/fault.h"
#include "engine/call_reducer.h"
#include "engine/endpoint.h"
#include "engine/plan.h"
#include "engine/program.h"
#include "engine/session.h"
#include "engine/values_job.h"
#include "transport/shm/transport.h"
#include "transport/tcp/transport.h"
#include "transport/udp/transport.h"

namespace ringtrue::engine {

namespace shm = transport::shm;
namespace tcp = transport::tcp;
namespace udp = transport::udp;
using collective::Task;

class SessionImpl final : public Session, public FailureListener {
 public:
  explicit SessionImpl(Member member) : member_(std::move(member)) {}
  ~SessionImpl() override;

  Result<void> start();
  Result<int> prepare(const Job& job) override;
  Result<void> connect(const std::vector<std::vector<Address>>& processes, Deadline deadline) override;
  Result<void> barrier(Deadline deadline) override;
  Result<void> run(Deadline deadline) override;
  Result<RunReport> collect() override;

  void abort() override;

 private:
  struct Player {
    std::unique_ptr<RankEndpoint> endpoint;
    std::vector<std::unique_ptr<tcp::Channel>> channels;
    RankReport report;
    std::unique_ptr<RankRun> run;
    Task task;
    bool finished = false;
  };
  struct Worker {
    std::unique_ptr<transport::Loop> loop;
    std::unique_ptr<shm::Transport> shared;
    std::vector<std::byte> staging;
    Stopwatch stopwatch;
    std::vector<Player> players;
  };

  void failed(Error error) override;
  bool over() const {
    return failed_.load(std::memory_order_relaxed) || aborted_.load(std::memory_order_relaxed);
  }

  Result<void> validate(const Job& job);
  Result<void> map_memory();
  Result<void> listen(std::vector<tcp::SeatId> seats);
  void forget_run();
  tcp::ConnectionKey connection_key(Rank rank, const collective::Edge& edge) const;
  void open_packets(Player& player, Worker& worker, std::size_t place);
  Result<void> open_datagrams(Player& player, Rank peer, const Address& address);
  void open_channel(Player& player, Worker& worker, Rank rank, const collective::Edge& edge);
  template <class Make>  // Make: (Player&, Worker&) -> Task
  Result<void> play_all(const char* phase, Deadline deadline, Make make);
  Error overdue(const char* phase) const;
  Error cancelled(const char* phase) const;
  const std::string& node_of(Rank rank) const {
    return job_.nodes[std::size_t(job_.seats[std::size_t(rank)].node)];
  }
  std::string describe(Rank rank) const;

  Member member_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<tcp::Transport> tcp_;
  std::unique_ptr<udp::Transport> udp_;  // on tcp_'s port

  Job job_;
  const collective::Algorithm* algorithm_ = nullptr;
  std::vector<collective::Fault> faults_;
  collective::Layout layout_;
  Edges edges_;  // of all ranks on this node
  shm::Plan plan_;
  shm::Layout shared_layout_;
  std::vector<Rank> mine_;
  std::unique_ptr<CallReducer> reducer_;
  std::unique_ptr<JobValues> values_;
  int threads_ = 1;  // that play ranks in this job
  bool uses_shm_ = false, uses_tcp_ = false, uses_udp_ = false;

  std::byte* memory_ = nullptr;
  std::uint64_t mapped_ = 0;

  std::atomic<bool> failed_{false}, aborted_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace ringtrue::engine
