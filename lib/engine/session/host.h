// The phases of jobs that are played in the host's memory, or in what GPUs offer in its place
// (device/session.h). session.cc has those that play, connect.cc those before them, verbs.cc what of them is
// about RDMA.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/phase.h"
#include "collective/algorithm.h"
#include "collective/fault.h"
#include "engine/session/call_reducer.h"
#include "engine/session/endpoint.h"
#include "engine/session/plan.h"
#include "engine/session/program.h"
#include "engine/session/session.h"
#include "engine/values/job.h"
#include "run/job.h"
#include "run/member.h"
#include "run/rdma.h"
#include "run/report.h"
#include "transport/shm/transport.h"
#include "transport/tcp/transport.h"
#include "transport/udp/transport.h"
#include "transport/verbs/transport.h"

namespace ringtrue::engine {

namespace shm = transport::shm;
namespace tcp = transport::tcp;
namespace udp = transport::udp;
namespace verbs = transport::verbs;
using collective::Task;

class HostSession final : public FailureListener {
 public:
  explicit HostSession(run::Member member) : member_(std::move(member)) {}
  ~HostSession() override;

  Result<void> start();
  // As Session's.
  Result<int> prepare(const run::Job& job);
  Result<void> connect(const std::vector<std::vector<run::Address>>& processes, Deadline deadline);
  Result<void> barrier(Deadline deadline);
  Result<void> run(Deadline deadline);
  Result<run::RunReport> collect();
  void abort();

  // Whether the job makes sense; the first step of prepare().
  Result<void> validate(const run::Job& job);
  static std::uint64_t shared_bytes(const run::Job& job, int node);  // without what GPUs need

  void forget_run();  // with its channels and stores; connections stay

  // Between connect and run: where the data of each of this process's ranks that has any is, if not in the
  // memory that it is played in.
  using MakeStore = std::function<Result<std::unique_ptr<Store>>(const StoreSetup&)>;
  Result<void> keep_data(const MakeStore& make);
  // Instead of the host's memory, where all that the ranks send and receive goes over verbs: asked for so
  // many bytes in prepare(), which says by in_room() whether they could be registered. nullptr: none.
  using MakeRoom = std::function<Result<verbs::Buffer>(std::uint64_t bytes)>;
  void offer_room(MakeRoom make) {
    make_room_ = std::move(make);
    why_no_room_.clear();
  }
  bool in_room() const { return room_.has_value(); }
  const std::string& why_no_room() const { return why_no_room_; }
  // The memory that this process's ranks are played in, until the next prepare().
  std::span<std::byte> memory() const;

 private:
  struct Player {
    std::unique_ptr<RankEndpoint> endpoint;
    std::vector<std::unique_ptr<transport::Channel>> channels;
    run::RankReport report;
    std::unique_ptr<Store> store;
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

  // A hop whose ends settle whether it goes over verbs.
  struct Pairing {
    tcp::ConnectionKey key;
    Rank rank;
    collective::Edge edge;
    verbs::Greeting ours;
    run::Remark remark;           // why it does not; the reason is empty where it does
    std::optional<Error> failed;  // what of it is this end's
  };

  void failed(Error error) override;
  bool over() const {
    return failed_.load(std::memory_order_relaxed) || aborted_.load(std::memory_order_relaxed);
  }

  Result<void> map_memory();
  Result<void> listen(std::vector<tcp::SeatId> seats);
  Result<void> open_verbs();
  Result<void> meet(const std::vector<std::vector<run::Address>>& processes, Deadline deadline);
  verbs::Greeting offer(Pairing& pairing);
  std::string accept(Pairing& pairing, const verbs::Greeting& theirs, std::map<int, Error>& unreachable);
  Result<void> go_on(Deadline deadline, const std::map<int, Error>& unreachable) const;
  void add_unpaired(const Pairing& pairing);
  Error no_verbs(const Pairing& pairing) const;
  verbs::Buffer memory_of_ranks() const;
  std::pair<std::uint64_t, std::uint64_t> range_of_ranks() const;  // of the layout: begin, end
  void take_room();
  std::byte* place(std::uint64_t offset) const {  // of the layout
    return room_ ? room_->at + (offset - room_begin_) : memory_ + offset;
  }
  int thread_of(Rank rank) const;  // of this process's
  Result<void> begin_verbs(std::size_t hops, std::vector<std::string> others);
  void add_rdma(run::RunReport& report) const;
  tcp::ConnectionKey connection_key(Rank rank, const collective::Edge& edge) const;
  Result<void> trace_connections(const std::map<tcp::ConnectionKey, transport::PeerAddress>& wanted,
                                 Deadline deadline);
  Result<void> trace_flows(Deadline deadline);  // of RDMA
  void note_ways(const std::map<tcp::ConnectionKey, transport::TracedWay>& ways);
  Result<void> reach(const std::map<tcp::ConnectionKey, transport::PeerAddress>& wanted, Deadline deadline);
  void open_packets(Player& player, Worker& worker, std::size_t place);
  Result<void> open_datagrams(Player& player, Rank peer, const run::Address& address);
  void open_channel(Player& player, Worker& worker, Rank rank, const collective::Edge& edge);
  template <class Make>  // Make: (Player&, Worker&) -> Task
  Result<void> play_all(Phase phase, Deadline deadline, Make make);
  Error overdue(Phase phase) const;
  Error cancelled(Phase phase) const;
  const std::string& node_of(Rank rank) const {
    return job_.nodes[std::size_t(job_.seats[std::size_t(rank)].node)];
  }
  std::string describe(Rank rank) const;
  StoreSetup store_of(Player& player, Worker& worker);

  run::Member member_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<tcp::Transport> tcp_;
  std::unique_ptr<udp::Transport> udp_;  // on tcp_'s port
  std::unique_ptr<verbs::Transport> verbs_;
  run::RdmaSettings verbs_settings_;  // that it was, or could not be, opened with
  std::optional<Error> verbs_error_;  // why it could not

  run::Job job_;
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
  std::string no_verbs_;                     // why this process has none in this run; empty: it has
  bool verbs_run_ = false;                   // between begin_run() and end_run()
  std::set<tcp::ConnectionKey> over_verbs_;  // hops
  std::vector<run::Remark> remarks_;
  std::vector<run::Way> ways_;
  std::vector<run::Reach> reaches_;
  std::vector<run::Network> networks_;

  MakeRoom make_room_;
  std::optional<verbs::Buffer> room_;
  std::uint64_t room_begin_ = 0;  // of the layout: what room_ begins with
  std::string why_no_room_;

  std::byte* memory_ = nullptr;
  std::uint64_t mapped_ = 0;

  std::atomic<bool> failed_{false}, aborted_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace ringtrue::engine
