#include "engine/session.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "base/memory.h"
#include "collective/algorithm.h"
#include "collective/fault.h"
#include "collective/omnireduce/omnireduce.h"
#include "engine/call_reducer.h"
#include "engine/endpoint.h"
#include "engine/packet_channel.h"
#include "engine/packet_datagram.h"
#include "engine/packet_endpoint.h"
#include "engine/plan.h"
#include "engine/program.h"
#include "engine/values_job.h"
#include "transport/shm/transport.h"
#include "transport/tcp/transport.h"
#include "transport/udp/transport.h"

namespace ringtrue::engine {

namespace {

namespace shm = transport::shm;
namespace tcp = transport::tcp;
namespace udp = transport::udp;
using collective::Task;

constexpr std::int64_t spin_ns = 20'000;
// To wake another thread costs more than to work off this many bytes in all.
constexpr std::uint64_t one_thread_bytes = 128 * 1024;
// What a connection reads beyond the message in hand: little where messages are long, much where they are
// packets.
constexpr std::size_t read_ahead = 4096, read_ahead_for_packets = 64 * 1024;

class SessionImpl final : public Session, public FailureListener {
 public:
  explicit SessionImpl(Member member) : member_(std::move(member)) {}
  ~SessionImpl() override {
    forget_run();
    udp_.reset();
    tcp_.reset();
    if (memory_) ::munmap(memory_, mapped_);
  }

  Result<void> start() {
    const int cores = std::max(1, int(std::thread::hardware_concurrency()));
    const int threads = member_.processes > 1 ? 1 : member_.threads > 0 ? member_.threads : cores;
    for (int t = 0; t < threads; ++t) {
      const int doorbell = member_.processes > 1 ? member_.doorbells[std::size_t(member_.process)] : -1;
      auto loop = transport::Loop::make(doorbell);
      if (!loop) return tl::unexpected(loop.error());
      (*loop)->set_spin(threads * member_.processes <= cores ? spin_ns : 0);
      workers_.push_back(std::make_unique<Worker>());
      workers_.back()->loop = std::move(*loop);
    }
    return {};
  }

  Result<int> prepare(const Job& job) override;
  Result<void> connect(const std::vector<std::vector<Address>>& processes, Deadline deadline) override;
  Result<void> barrier(Deadline deadline) override;
  Result<void> run(Deadline deadline) override;
  Result<RunReport> collect() override;

  void abort() override {
    aborted_.store(true);
    for (const auto& worker : workers_) worker->loop->ring();
  }

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

  void failed(Error error) override {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
    failed_.store(true);
    for (const auto& worker : workers_) worker->loop->ring();
  }
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

Result<void> SessionImpl::validate(const Job& job) {
  const auto algorithm = collective::find_algorithm(job.algorithm);
  if (!algorithm) return tl::unexpected(algorithm.error());
  algorithm_ = *algorithm;
  auto faults = collective::parse_faults(job.fault);
  if (!faults) return tl::unexpected(faults.error());
  faults_ = std::move(*faults);
  if (job.seats.empty()) return fail(Cause::bad_input, "a job without ranks");
  if (job.iterations < 1 || job.warmup < 0) return fail(Cause::bad_input, "a job without iterations");
  if (job.call.lanes < 1 || job.call.lanes > 64) return fail(Cause::bad_input, "lanes must be 1 to 64");
  const bool datagrams = job.transport == "udp";
  if (job.transport != "auto" && job.transport != "shm" && job.transport != "tcp" && !datagrams)
    return fail(Cause::bad_input, fmt::format("no transport '{}' here", job.transport), {},
                "use auto, shm, tcp or udp");
  for (const collective::Fault& fault : faults_)
    if (fault.unreliable() && !datagrams)
      return fail(Cause::bad_input, fmt::format("{} needs a transport that may lose packets", to_text(fault)),
                  {}, "use --transport udp");
  if (!can_plan(job, member_.node))
    return fail(
        Cause::bad_input,
        fmt::format("{} ranks with {} lanes are more than this node can plan", job.ranks(), job.call.lanes),
        {}, "use fewer ranks per node or fewer --lanes");
  mine_.clear();
  bool several_nodes = false;
  for (Rank rank = 0; rank < job.ranks(); ++rank) {
    const Seat& seat = job.seats[std::size_t(rank)];
    if (seat.node < 0 || std::size_t(seat.node) >= job.nodes.size() || seat.process < 0 || seat.local < 0)
      return fail(Cause::bad_input, fmt::format("rank {} has no place", rank));
    several_nodes |= seat.node != job.seats[0].node;
    if (seat.node == member_.node && seat.process >= member_.processes)
      return fail(Cause::bad_input, fmt::format("rank {} is in a process that does not exist", rank));
    if (seat.node == member_.node && seat.process == member_.process) mine_.push_back(rank);
  }
  if (several_nodes && job.transport == "shm")
    return fail(Cause::bad_input, "shared memory does not reach other nodes", {},
                "use --transport auto or tcp");
  if (algorithm_->uses_packets())
    if (const auto fits = collective::check_omni(job.layout(), job.call); !fits) return fits;
  if (const auto fits = check_values(job); !fits) return fits;
  return datagrams ? check_datagrams(job, *algorithm_) : Result<void>();
}

Result<int> SessionImpl::prepare(const Job& job) {
  forget_run();
  if (const auto valid = validate(job); !valid) return tl::unexpected(valid.error());
  job_ = job;
  layout_ = job.layout();
  edges_ = edges_on_node(job, *algorithm_, member_.node);
  threads_ = one_thread_plays(job, member_.node) ? 1 : int(workers_.size());
  plan_ = plan_of(job, *algorithm_, member_.node, edges_, threads_);
  shared_layout_ = shm::lay_out(plan_);
  reducer_ = std::make_unique<CallReducer>(job_.call, job_.workers());
  values_ = values_of(job_, algorithm_->allreduce);
  if (const auto mapped = map_memory(); !mapped) return tl::unexpected(mapped.error());

  std::vector<tcp::SeatId> seats;
  for (const Rank rank : mine_) {
    const Seat& seat = job_.seats[std::size_t(rank)];
    seats.push_back({std::uint32_t(seat.node), std::uint32_t(seat.local)});
    for (const collective::Edge& edge : edges_[rank])
      (over_datagrams(job_, edge)             ? uses_udp_
       : over_shared_memory(job_, rank, edge) ? uses_shm_
                                              : uses_tcp_) = true;
  }
  if (!uses_tcp_ && !uses_udp_) return 0;
  if (const auto listening = listen(std::move(seats)); !listening) return tl::unexpected(listening.error());
  return tcp_->port();
}

// One port for both kinds of data, so that one number tells peers all.
Result<void> SessionImpl::listen(std::vector<tcp::SeatId> seats) {
  transport::Loop& loop = *workers_[0]->loop;
  const bool fresh = !tcp_;
  std::vector<std::unique_ptr<tcp::Transport>> passed_over;  // kept until the end, so that no port comes twice
  for (int tries = 0;; ++tries) {
    if (tcp_) {
      tcp_->set_seats(seats);
    } else {
      auto made = tcp::Transport::make(
          {member_.data_address, member_.port_low, member_.port_high, member_.secret, seats}, loop);
      if (!made) return tl::unexpected(made.error());
      tcp_ = std::move(*made);
    }
    if (!uses_udp_ || udp_) return {};
    auto made = udp::Transport::make({member_.data_address, tcp_->port(), member_.secret}, loop);
    if (made) {
      udp_ = std::move(*made);
      return {};
    }
    constexpr int most_tries = 16;
    if (!fresh || tries == most_tries || made.error().cause != Cause::unavailable)
      return tl::unexpected(made.error());
    passed_over.push_back(std::move(tcp_));
  }
}

Result<void> SessionImpl::map_memory() {
  const std::uint64_t bytes = shared_layout_.bytes;
  if (!memory_ || mapped_ < bytes) {
    if (memory_) ::munmap(memory_, mapped_);
    memory_ = nullptr;
    // What a shared mapping had before is resident still, and part of the larger one.
    const std::uint64_t held = member_.shared_memory >= 0 ? mapped_ : 0;
    const auto available = available_memory();
    const std::uint64_t room = available.value_or(0) + held;
    if (available && bytes > room)
      return fail(Cause::unavailable,
                  fmt::format("{} ranks of {} need {} of memory, {} are free", plan_.ranks.size(),
                              to_text(Bytes(job_.call.bytes())), to_text(Bytes(bytes)), to_text(Bytes(room))),
                  {}, "use a smaller --size or fewer ranks per node");
    const bool shared = member_.shared_memory >= 0;
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      shared ? member_.shared_memory : -1, 0);
    if (at == MAP_FAILED)
      return fail(Cause::unavailable,
                  fmt::format("cannot map {} of memory: {}", to_text(Bytes(bytes)), std::strerror(errno)), {},
                  "use a smaller --size or fewer ranks per node");
    memory_ = static_cast<std::byte*>(at);
    mapped_ = bytes;
    ::madvise(memory_, mapped_, MADV_HUGEPAGE);
  }
  // Others of the node use it only after they were told to connect, which is after all have prepared.
  if (member_.process == 0) std::memset(memory_, 0, shared_layout_.control_bytes);
  return {};
}

void SessionImpl::forget_run() {
  if (udp_) udp_->end_run();
  for (const auto& worker : workers_) {
    worker->loop->set_source(nullptr);
    worker->players.clear();
    worker->shared.reset();
    worker->loop->clear();
    worker->stopwatch.clear();
  }
  uses_shm_ = uses_tcp_ = uses_udp_ = false;
}

tcp::ConnectionKey SessionImpl::connection_key(Rank rank, const collective::Edge& edge) const {
  const Seat& self = job_.seats[std::size_t(rank)];
  const Seat& peer = job_.seats[std::size_t(edge.peer)];
  return {{std::uint32_t(self.node), std::uint32_t(self.local)},
          {std::uint32_t(peer.node), std::uint32_t(peer.local)},
          edge.lane};
}

Result<void> SessionImpl::connect(const std::vector<std::vector<Address>>& processes, Deadline deadline) {
  std::map<tcp::ConnectionKey, tcp::PeerAddress> wanted;
  for (const Rank rank : mine_)
    for (const collective::Edge& edge : edges_[rank]) {
      if (over_shared_memory(job_, rank, edge)) continue;
      const Seat& peer = job_.seats[std::size_t(edge.peer)];
      if (std::size_t(peer.node) >= processes.size() ||
          std::size_t(peer.process) >= processes[std::size_t(peer.node)].size())
        return fail(Cause::bad_input,
                    fmt::format("no data address of {}", job_.nodes[std::size_t(peer.node)]));
      const Address& address = processes[std::size_t(peer.node)][std::size_t(peer.process)];
      if (over_datagrams(job_, edge)) continue;
      wanted[connection_key(rank, edge)] = {address.host, address.port, job_.nodes[std::size_t(peer.node)]};
    }
  if (tcp_ && !wanted.empty()) {
    const auto connected = tcp_->connect(
        wanted, [this] { return over(); }, deadline);
    if (!connected) return connected;
  }
  if (uses_udp_) udp_->begin_run(faults_, collective::longest_packet(job_.call));

  std::vector<int> doorbells = member_.doorbells;
  if (member_.processes == 1) {
    doorbells.clear();
    for (const auto& worker : workers_) doorbells.push_back(worker->loop->doorbell());
  }
  for (std::size_t t = 0; t < std::size_t(threads_); ++t) {
    Worker& worker = *workers_[t];
    const int thread = member_.process * threads_ + int(t);
    if (uses_shm_) {
      worker.shared = std::make_unique<shm::Transport>(
          shm::Transport::Setup{memory_, &plan_, &shared_layout_, thread, doorbells});
      worker.shared->set_loop(worker.loop.get());
      worker.loop->set_source(worker.shared.get());
    }
    if (uses_tcp_) worker.staging.resize(tcp::Channel::staging_bytes);
    std::size_t count = 0;
    for (const Rank rank : mine_) count += plan_.thread_of[std::size_t(plan_.position(rank))] == thread;
    worker.players.resize(count);
    std::size_t next = 0;
    for (const Rank rank : mine_) {
      const auto place = std::size_t(plan_.position(rank));
      if (plan_.thread_of[place] != thread) continue;
      Player& player = worker.players[next++];
      player.endpoint = std::make_unique<RankEndpoint>(
          rank, layout_,
          RankEndpoint::Memory{memory_ + shared_layout_.data[place], memory_ + shared_layout_.scratch[place]},
          *worker.loop, *this);
      player.endpoint->keep_events(job_.events);
      if (algorithm_->uses_packets()) open_packets(player, worker, place);
      for (const collective::Edge& edge : edges_[rank]) {
        if (!over_datagrams(job_, edge)) {
          open_channel(player, worker, rank, edge);
          continue;
        }
        const Seat& peer = job_.seats[std::size_t(edge.peer)];
        const auto opened = open_datagrams(player, edge.peer,
                                           processes[std::size_t(peer.node)][std::size_t(peer.process)]);
        if (!opened) return opened;
      }
    }
  }
  return {};
}

void SessionImpl::open_packets(Player& player, Worker& worker, std::size_t place) {
  const Rank rank = player.endpoint->rank();
  PacketEndpoint::Setup setup;
  setup.call = &job_.call;
  setup.room =
      memory_ + shared_layout_.scratch[place] + scratch_before_packets(*algorithm_, layout_, rank, job_.call);
  setup.room_bytes = packet_room(*algorithm_, layout_, rank, job_.call);
  setup.describe = [this](Rank r) { return describe(r); };
  setup.node = [this](Rank r) { return node_of(r); };
  player.endpoint->set_packets(
      std::make_unique<PacketEndpoint>(*player.endpoint, *worker.loop, std::move(setup)));
}

Result<void> SessionImpl::open_datagrams(Player& player, Rank peer, const Address& address) {
  RankEndpoint& endpoint = *player.endpoint;
  auto route = std::make_unique<DatagramRoute>(endpoint.rank(), peer, *endpoint.packets(), *udp_);
  const udp::Player receiver{endpoint.rank(), route.get(), reducer_.get(), &endpoint};
  const auto opened = udp_->open(receiver, peer, {address.host, address.port, node_of(peer)});
  if (!opened) return opened;
  endpoint.packets()->add_route(std::move(route));
  return {};
}

void SessionImpl::open_channel(Player& player, Worker& worker, Rank rank, const collective::Edge& edge) {
  transport::Hop hop{rank, edge.peer, edge.lane, node_of(edge.peer)};
  // The barrier is ours, not the operator's traffic: scripts do not count its messages. Nor do they those
  // beside datagrams.
  transport::faulty::Script script;
  if (edge.lane != collective::barrier_lane && !uses_udp_) script = {faults_, rank, edge.peer};

  PacketEndpoint* packets = edge.lane == collective::packet_lane ? player.endpoint->packets() : nullptr;
  std::unique_ptr<ChannelRoute> route;
  transport::Owner* owner = player.endpoint.get();
  if (packets) {
    route = std::make_unique<ChannelRoute>(edge.peer, *packets, *player.endpoint, packets->take_buffer());
    owner = route.get();
  }
  transport::Channel* channel = nullptr;
  if (over_shared_memory(job_, rank, edge)) {
    auto& shared = worker.shared->open(hop, *owner, *reducer_, std::move(script));
    player.endpoint->add_channel(nullptr, &shared, worker.shared.get());
    channel = &shared;
  } else {
    player.channels.push_back(std::make_unique<tcp::Channel>(
        tcp_->descriptor(connection_key(rank, edge)), *worker.loop, worker.staging.data(), hop, *owner,
        *reducer_, std::move(script), packets ? read_ahead_for_packets : read_ahead));
    channel = player.channels.back().get();
    player.endpoint->add_channel(channel, nullptr, nullptr);
  }
  if (route) {
    route->attach(channel);
    packets->add_route(std::move(route));
  }
}

std::string SessionImpl::describe(Rank rank) const {
  if (!algorithm_->uses_packets()) return fmt::format("rank {} on {}", rank, node_of(rank));
  const Rank workers = job_.workers();
  return rank < workers ? fmt::format("worker {} on {}", rank, node_of(rank))
                        : fmt::format("aggregator {} on {} (rank {})", rank - workers, node_of(rank), rank);
}

Error SessionImpl::overdue(const char* phase) const {
  for (const auto& worker : workers_)
    for (const Player& player : worker->players) {
      if (player.finished) continue;
      const auto waiting = player.endpoint->waiting();
      if (waiting.peer < 0) continue;
      return Error{Cause::deadline,
                   fmt::format("the {} did not end in time: rank {} waited for {} {}", phase,
                               player.endpoint->rank(), describe(waiting.peer), waiting.what),
                   node_of(waiting.peer),
                   {}};
    }
  return Error{Cause::deadline,
               fmt::format("the {} did not end in time", phase),
               {},
               "raise --deadline, or use a smaller --size or fewer --iterations"};
}

template <class Make>
Result<void> SessionImpl::play_all(const char* phase, Deadline deadline, Make make) {
  std::atomic<bool> late{false};
  auto play_thread = [&](Worker& worker) {
    for (Player& player : worker.players) {
      player.finished = false;
      player.task = make(player, worker);
      player.task.start();
    }
    std::size_t first = 0;  // all before it are finished
    const bool stopped = worker.loop->run(
        [&] {
          while (first < worker.players.size() && worker.players[first].task.finished())
            worker.players[first++].finished = true;
          return first == worker.players.size() || over();
        },
        deadline);
    if (!stopped) late.store(true);
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < workers_.size(); ++t)
    if (!workers_[t]->players.empty()) threads.emplace_back([&, t] { play_thread(*workers_[t]); });
  play_thread(*workers_[0]);
  for (std::thread& thread : threads) thread.join();

  std::optional<Error> error;
  {
    const std::lock_guard lock(mutex_);
    error = error_;
  }
  if (!error && late) error = overdue(phase);
  if (!error && aborted_)
    error = Error{Cause::cancelled, fmt::format("cancelled during the {}", phase), {}, {}};
  // All threads have left their loops: nothing touches the frames or the buffers any more.
  for (const auto& worker : workers_)
    for (Player& player : worker->players) {
      if (PacketEndpoint* packets = player.endpoint->packets()) packets->abandon();
      player.task = Task();
    }
  if (error) return tl::unexpected(*error);
  return {};
}

Result<void> SessionImpl::barrier(Deadline deadline) {
  return play_all("barrier", deadline,
                  [](Player& player, Worker&) { return collective::barrier(*player.endpoint); });
}

Result<void> SessionImpl::run(Deadline deadline) {
  return play_all("run", deadline, [this](Player& player, Worker& worker) {
    player.report = {};
    player.run.reset(
        new RankRun{*player.endpoint, job_, *algorithm_, *values_, worker.stopwatch, player.report});
    return play(*player.run);
  });
}

Result<RunReport> SessionImpl::collect() {
  RunReport report;
  report.transport = uses_udp_ ? "udp" : uses_shm_ && uses_tcp_ ? "shm+tcp" : uses_tcp_ ? "tcp" : "shm";
  if (uses_tcp_ && !uses_udp_) report.congestion = tcp_->congestion();
  if (tcp_) report.strangers = tcp_->strangers();
  if (udp_) report.strangers += udp_->strangers();
  double calls = 1;
  for (const auto& worker : workers_) {
    report.cpu_s += worker->stopwatch.seconds();
    for (Player& player : worker->players) {
      calls = double(player.report.batch) * double(player.report.time_s.size());
      report.ranks.push_back(player.report);
      player.endpoint->add_hops(report.trace.hops);
      auto events = player.endpoint->take_events();
      std::move(events.begin(), events.end(), std::back_inserter(report.trace.events));
    }
  }
  report.cpu_s /= std::max(calls, 1.0);
  std::vector<RunReport> one;
  one.push_back(std::move(report));
  return merge(std::move(one));
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(Member member) {
  auto session = std::make_unique<SessionImpl>(std::move(member));
  if (const auto started = session->start(); !started) return tl::unexpected(started.error());
  return session;
}

bool Session::one_thread_plays(const Job& job, int node) {
  if (job.transport == "udp") return true;  // a process has one socket
  std::uint64_t ranks = 0;
  for (const Seat& seat : job.seats) ranks += seat.node == node;
  return job.call.bytes() * ranks <= one_thread_bytes;
}

bool Session::can_plan(const Job& job, int node) {
  constexpr std::uint64_t most_steps = 1 << 24;
  std::uint64_t here = 0;
  for (const Seat& seat : job.seats) here += seat.node == node;
  return here * std::uint64_t(job.seats.size()) <= most_steps / std::uint64_t(std::max(job.call.lanes, 1));
}

std::uint64_t Session::shared_bytes(const Job& job, int node) {
  const auto algorithm = collective::find_algorithm(job.algorithm);
  if (!algorithm) return 0;
  return shm::lay_out(plan_of(job, **algorithm, node, edges_on_node(job, **algorithm, node), 1)).bytes;
}

Result<RunReport> run_locally(const Job& job, Deadline deadline) {
  Member member;
  const auto nonce = tcp::make_nonce();
  member.secret.assign(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  member.data_address = "127.0.0.1";
  auto session = Session::open(member);
  if (!session) return tl::unexpected(session.error());
  const auto port = (*session)->prepare(job);
  if (!port) return tl::unexpected(port.error());
  if (auto r = (*session)->connect({{{"127.0.0.1", *port}}}, deadline); !r) return tl::unexpected(r.error());
  if (auto r = (*session)->barrier(deadline); !r) return tl::unexpected(r.error());
  if (auto r = (*session)->run(deadline); !r) return tl::unexpected(r.error());
  return (*session)->collect();
}

}  // namespace ringtrue::engine
