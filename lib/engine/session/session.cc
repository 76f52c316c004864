#include "engine/session/session.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <thread>

#include "engine/device/session.h"
#include "engine/packets/endpoint.h"
#include "engine/session/host.h"

namespace ringtrue::engine {

namespace {

constexpr std::int64_t spin_ns = 20'000;
// To wake another thread costs more than to work off this many bytes in all.
constexpr std::uint64_t one_thread_bytes = 128 * 1024;

}  // namespace

HostSession::~HostSession() {
  forget_run();
  verbs_.reset();
  udp_.reset();
  tcp_.reset();
  if (memory_) ::munmap(memory_, mapped_);
}

Result<void> HostSession::start() {
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

void HostSession::abort() {
  aborted_.store(true);
  for (const auto& worker : workers_) worker->loop->ring();
}

void HostSession::failed(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  failed_.store(true);
  for (const auto& worker : workers_) worker->loop->ring();
}

std::string HostSession::describe(Rank rank) const {
  if (!algorithm_->uses_packets()) return fmt::format("rank {} on {}", rank, node_of(rank));
  const Rank workers = job_.workers();
  return rank < workers ? fmt::format("worker {} on {}", rank, node_of(rank))
                        : fmt::format("aggregator {} on {} (rank {})", rank - workers, node_of(rank), rank);
}

Error HostSession::overdue(Phase phase) const {
  for (const auto& worker : workers_)
    for (const Player& player : worker->players) {
      if (player.finished) continue;
      const auto waiting = player.endpoint->waiting();
      if (waiting.peer < 0) continue;
      return Error{Cause::deadline,
                   fmt::format("the {} did not end in time: rank {} waited for {} {}", key_of(phase),
                               player.endpoint->rank(), describe(waiting.peer), waiting.what),
                   node_of(waiting.peer),
                   {}};
    }
  return Error{Cause::deadline,
               fmt::format("the {} did not end in time", key_of(phase)),
               {},
               "raise --deadline, or use a smaller --size or fewer --iterations"};
}

// Told to stop. Whom a rank waited for then may be the one that does not even answer this.
Error HostSession::cancelled(Phase phase) const {
  for (const auto& worker : workers_)
    for (const Player& player : worker->players) {
      const Rank peer = player.finished ? -1 : player.endpoint->waiting().peer;
      if (peer < 0 || node_of(peer) == job_.nodes[std::size_t(member_.node)]) continue;
      return Error{Cause::cancelled,
                   fmt::format("cancelled during the {}, while rank {} waited for {}", key_of(phase),
                               player.endpoint->rank(), describe(peer)),
                   node_of(peer),
                   {}};
    }
  return Error{Cause::cancelled, fmt::format("cancelled during the {}", key_of(phase)), {}, {}};
}

template <class Make>
Result<void> HostSession::play_all(Phase phase, Deadline deadline, Make make) {
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
  if (!error && aborted_) error = cancelled(phase);
  // All threads have left their loops: nothing touches the frames or the buffers any more.
  for (const auto& worker : workers_)
    for (Player& player : worker->players) {
      if (PacketEndpoint* packets = player.endpoint->packets()) packets->abandon();
      player.task = Task();
    }
  if (error) return tl::unexpected(*error);
  return {};
}

Result<void> HostSession::barrier(Deadline deadline) {
  if (job_.reach) return {};
  return play_all(Phase::barrier, deadline,
                  [](Player& player, Worker&) { return collective::barrier(*player.endpoint); });
}

StoreSetup HostSession::store_of(Player& player, Worker& worker) {
  return {*player.endpoint, *worker.loop, *this, job_, *values_};
}

Result<void> HostSession::keep_data(const MakeStore& make) {
  for (const auto& worker : workers_)
    for (Player& player : worker->players) {
      if (player.endpoint->rank() >= job_.workers()) continue;  // an aggregator
      if (auto made = assign(player.store, make(store_of(player, *worker))); !made) return made;
    }
  return {};
}

std::span<std::byte> HostSession::memory() const {
  const verbs::Buffer all = memory_of_ranks();
  return {static_cast<std::byte*>(all.at), all.bytes};
}

Result<void> HostSession::run(Deadline deadline) {
  if (job_.reach) return {};
  return play_all(Phase::run, deadline, [this](Player& player, Worker& worker) {
    player.report = {};
    if (!player.store) player.store = std::make_unique<HostStore>(store_of(player, worker));
    player.run.reset(
        new RankRun{*player.endpoint, job_, *algorithm_, *player.store, worker.stopwatch, player.report});
    return play(*player.run);
  });
}

Result<run::RunReport> HostSession::collect() {
  run::RunReport report;
  add_rdma(report);
  report.ways = ways_;
  report.reaches = reaches_;
  report.networks = networks_;
  if (tcp_) report.rejected_connections = tcp_->rejected();
  if (udp_) report.rejected_connections += udp_->rejected();
  double calls = 1;
  for (const auto& worker : workers_) {
    report.cpu_s += worker->stopwatch.seconds();
    for (Player& player : worker->players) {
      calls = double(player.report.batch) * double(player.report.time_s.size());
      report.ranks.push_back(player.report);
      player.endpoint->add_hops(report.trace.hops);
      if (player.endpoint->too_many_events())
        return fail(Cause::bad_input,
                    fmt::format("the run has more messages than a process records ({})", max_events), "",
                    "run fewer iterations or a smaller size with --events");
      auto events = player.endpoint->take_events();
      std::move(events.begin(), events.end(), std::back_inserter(report.trace.events));
    }
  }
  report.cpu_s /= std::max(calls, 1.0);
  std::vector<run::RunReport> one;
  one.push_back(std::move(report));
  return merge(std::move(one));
}

Result<std::unique_ptr<Session>> Session::open(run::Member member) {
  auto session = std::make_unique<HostSession>(member);
  if (const auto started = session->start(); !started) return tl::unexpected(started.error());
  return std::make_unique<DeviceSession>(std::move(member), std::move(session));
}

bool Session::one_thread_plays(const run::Job& job, int node) {
  if (job.transport == run::Transport::udp) return true;  // a process has one socket
  std::uint64_t ranks = 0;
  for (const run::Seat& seat : job.seats) ranks += seat.node == node;
  return job.call.bytes() * ranks <= one_thread_bytes;
}

bool Session::can_plan(const run::Job& job, int node) {
  constexpr std::uint64_t max_steps = 1 << 24;
  std::uint64_t here = 0;
  for (const run::Seat& seat : job.seats) here += seat.node == node;
  return here * std::uint64_t(job.seats.size()) <= max_steps / std::uint64_t(std::max(job.call.lanes, 1));
}

std::uint64_t Session::shared_bytes(const run::Job& job, int node) {
  return DeviceSession::shared_bytes(job, node);
}

std::uint64_t HostSession::shared_bytes(const run::Job& job, int node) {
  const collective::Algorithm& algorithm = collective::algorithm_of(job.algorithm);
  return shm::lay_out(plan_of(job, algorithm, node, edges_on_node(job, algorithm, node), 1)).bytes;
}

Result<run::RunReport> run_locally(const run::Job& job, Deadline deadline, transport::verbs::Library* verbs,
                                   transport::cuda::Driver* cuda, const std::stop_token& stop) {
  run::Member member;
  member.verbs = verbs;
  member.cuda = cuda;
  const auto nonce = tcp::make_nonce();
  member.secret.assign(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  member.data_address = "127.0.0.1";
  auto session = Session::open(member);
  if (!session) return tl::unexpected(session.error());
  const std::stop_callback abort(stop, [&running = **session] { running.abort(); });
  const auto port = (*session)->prepare(job);
  if (!port) return tl::unexpected(port.error());
  if (auto r = (*session)->connect({{{"127.0.0.1", *port}}}, deadline); !r) return tl::unexpected(r.error());
  if (auto r = (*session)->barrier(deadline); !r) return tl::unexpected(r.error());
  if (auto r = (*session)->run(deadline); !r) return tl::unexpected(r.error());
  return (*session)->collect();
}

}  // namespace ringtrue::engine
