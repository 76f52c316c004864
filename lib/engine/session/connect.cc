#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/memory.h"
#include "base/plural.h"
#include "collective/omnireduce/omnireduce.h"
#include "engine/packets/channel.h"
#include "engine/packets/datagram.h"
#include "engine/packets/endpoint.h"
#include "engine/session/host.h"
#include "run/job.h"
#include "run/member.h"
#include "transport/interfaces.h"

namespace ringtrue::engine {

namespace {

// What a connection reads beyond the message in hand: little where messages are long, much where they are
// packets.
constexpr std::size_t read_ahead = 4096, read_ahead_for_packets = 64 * 1024;

// With a peer that does not answer: a call is made five times until then, a long packet sent four times.
constexpr Seconds reach_patience{2};

// A process of aggregators alone has no use for the pattern of the data, whose size no cap on memory bounds.
run::Job with_data_for(const std::vector<Rank>& ranks, run::Job job) {
  const Rank workers = job.workers();
  if (std::any_of(ranks.begin(), ranks.end(), [workers](Rank rank) { return rank < workers; })) return job;
  job.sparsity = {};
  job.input.reset();
  return job;
}

}  // namespace

Result<void> HostSession::validate(const run::Job& job) {
  algorithm_ = &collective::algorithm_of(job.algorithm);
  if (auto parsed = assign(faults_, collective::parse_faults(job.fault)); !parsed) return parsed;
  if (job.seats.empty()) return fail(Cause::bad_input, "a job without ranks");
  if (job.iterations < 1 || job.warmup < 0) return fail(Cause::bad_input, "a job without iterations");
  if (job.call.lanes < 1 || job.call.lanes > 64) return fail(Cause::bad_input, "lanes must be 1 to 64");
  const bool datagrams = job.transport == run::Transport::udp;
  if (job.transport == run::Transport::cuda)
    return fail(Cause::bad_input, fmt::format("no transport '{}' here", key_of(job.transport)), {},
                "use auto, shm, tcp, udp or verbs");
  if (const auto settings = run::check(job.verbs); !settings) return settings;
  if (!job.ports.empty() && job.ports.size() != job.seats.size())
    return fail(Cause::bad_input, "RDMA ports for some of the ranks only");
  for (const collective::Fault& fault : faults_)
    if (fault.unreliable() && !datagrams)
      return fail(Cause::bad_input, fmt::format("{} needs a transport that may lose packets", to_text(fault)),
                  {}, "use --transport udp");
  if (!Session::can_plan(job, member_.node))
    return fail(
        Cause::bad_input,
        fmt::format("{} ranks with {} lanes are more than this node can plan", job.ranks(), job.call.lanes),
        {}, "use fewer ranks per node or fewer --lanes");
  mine_.clear();
  bool several_nodes = false;
  for (Rank rank = 0; rank < job.ranks(); ++rank) {
    const run::Seat& seat = job.seats[std::size_t(rank)];
    if (seat.node < 0 || std::size_t(seat.node) >= job.nodes.size() || seat.process < 0 || seat.local < 0)
      return fail(Cause::bad_input, fmt::format("rank {} has no place", rank));
    several_nodes |= seat.node != job.seats[0].node;
    if (seat.node == member_.node && seat.process >= member_.processes)
      return fail(Cause::bad_input, fmt::format("rank {} is in a process that does not exist", rank));
    if (seat.node == member_.node && seat.process == member_.process) mine_.push_back(rank);
  }
  if (several_nodes && job.transport == run::Transport::shm)
    return fail(Cause::bad_input, "shared memory does not reach other nodes", {},
                "use --transport auto or tcp");
  if (!algorithm_->uses_packets() && job.workers() != job.ranks())
    return fail(Cause::bad_input, fmt::format("{} has no aggregators", algorithm_->name));
  if (algorithm_->uses_packets())
    if (const auto fits = collective::check_omni(job.layout(), job.call); !fits) return fits;
  if (const auto fits = check_values(job); !fits) return fits;
  return datagrams ? check_datagrams(job, *algorithm_) : Result<void>();
}

Result<int> HostSession::prepare(const run::Job& job) {
  forget_run();
  if (const auto valid = validate(job); !valid) return tl::unexpected(valid.error());
  job_ = job;
  layout_ = job.layout();
  edges_ = edges_on_node(job, *algorithm_, member_.node);
  threads_ = Session::one_thread_plays(job, member_.node) ? 1 : int(workers_.size());
  plan_ = plan_of(job, *algorithm_, member_.node, edges_, threads_);
  shared_layout_ = shm::lay_out(plan_);
  reducer_ = std::make_unique<CallReducer>(job_.call, job_.workers());
  values_ = values_of(with_data_for(mine_, job_), algorithm_->allreduce);
  if (const auto mapped = map_memory(); !mapped) return tl::unexpected(mapped.error());

  std::vector<tcp::SeatId> seats;
  for (const Rank rank : mine_) {
    const run::Seat& seat = job_.seats[std::size_t(rank)];
    seats.push_back({std::uint32_t(seat.node), std::uint32_t(seat.local)});
    for (const collective::Edge& edge : edges_[rank])
      (over_datagrams(job_, edge)             ? uses_udp_
       : over_shared_memory(job_, rank, edge) ? uses_shm_
                                              : uses_tcp_) = true;
  }
  if (!uses_tcp_ && !uses_udp_) return 0;
  if (const auto listening = listen(std::move(seats)); !listening) return tl::unexpected(listening.error());
  if (const auto opened = open_verbs(); !opened) return tl::unexpected(opened.error());
  return tcp_->port();
}

// One port for both kinds of data, so that one number tells peers all.
Result<void> HostSession::listen(std::vector<tcp::SeatId> seats) {
  transport::Loop& loop = *workers_[0]->loop;
  const std::string& at = member_.data_address.empty() ? member_.listen_address : member_.data_address;
  const bool fresh = !tcp_;
  std::vector<std::unique_ptr<tcp::Transport>>
      passed_over;  // kept until the end, so that no port comes twice
  for (int tries = 0;; ++tries) {
    if (tcp_) {
      tcp_->set_seats(seats);
    } else {
      auto made =
          tcp::Transport::make({at, member_.port_low, member_.port_high, member_.secret, seats}, loop);
      if (!made) return tl::unexpected(made.error());
      tcp_ = std::move(*made);
    }
    if (!uses_udp_ || udp_) return {};
    auto made = udp::Transport::make({at, tcp_->port(), member_.secret}, loop);
    if (made) {
      udp_ = std::move(*made);
      return {};
    }
    constexpr int max_tries = 16;
    if (!fresh || tries == max_tries || made.error().cause != Cause::unavailable)
      return tl::unexpected(made.error());
    passed_over.push_back(std::move(tcp_));
  }
}

Result<void> HostSession::map_memory() {
  const std::uint64_t bytes = shared_layout_.bytes;
  if (!memory_ || mapped_ < bytes) {
    if (memory_ && verbs_) (void)verbs_->use({});  // nothing of it stays registered
    if (memory_) ::munmap(memory_, mapped_);
    memory_ = nullptr;
    // What a shared mapping had before is resident still, and part of the larger one.
    const std::uint64_t held = member_.shared_memory >= 0 ? mapped_ : 0;
    const auto available = available_memory();
    const std::uint64_t room = available.value_or(0) + held;
    if (available && bytes > room)
      return fail(Cause::unavailable,
                  fmt::format("{} of memory for {} of {}: {} are free", to_text(Bytes(bytes)),
                              plural(plan_.ranks.size(), "rank"), to_text(Bytes(job_.call.bytes())),
                              to_text(Bytes(room))),
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

void HostSession::forget_run() {
  if (udp_) udp_->end_run();
  for (const auto& worker : workers_) {
    worker->loop->clear_sources();
    worker->players.clear();
    worker->shared.reset();
    worker->loop->clear();
    worker->stopwatch.clear();
  }
  if (tcp_) tcp_->end_reach();
  if (std::exchange(verbs_run_, false)) verbs_->end_run();
  if (std::exchange(room_, std::nullopt)) (void)verbs_->use({});
  over_verbs_.clear();
  remarks_.clear();
  ways_.clear();
  reaches_.clear();
  networks_.clear();
  uses_shm_ = uses_tcp_ = uses_udp_ = false;
}

tcp::ConnectionKey HostSession::connection_key(Rank rank, const collective::Edge& edge) const {
  const run::Seat& self = job_.seats[std::size_t(rank)];
  const run::Seat& peer = job_.seats[std::size_t(edge.peer)];
  return {{std::uint32_t(self.node), std::uint32_t(self.local)},
          {std::uint32_t(peer.node), std::uint32_t(peer.local)},
          edge.lane};
}

Result<void> HostSession::connect(const std::vector<std::vector<run::Address>>& processes,
                                  Deadline deadline) {
  std::map<tcp::ConnectionKey, transport::PeerAddress> wanted;
  for (const Rank rank : mine_)
    for (const collective::Edge& edge : edges_[rank]) {
      if (over_shared_memory(job_, rank, edge)) continue;
      const run::Seat& peer = job_.seats[std::size_t(edge.peer)];
      if (std::size_t(peer.node) >= processes.size() ||
          std::size_t(peer.process) >= processes[std::size_t(peer.node)].size())
        return fail(Cause::bad_input,
                    fmt::format("no data address of {}", job_.nodes[std::size_t(peer.node)]));
      const run::Address& address = processes[std::size_t(peer.node)][std::size_t(peer.process)];
      if (over_datagrams(job_, edge) && !job_.reach) continue;
      wanted[connection_key(rank, edge)] = {address.host, address.port, job_.nodes[std::size_t(peer.node)]};
    }
  if (job_.reach) return reach(wanted, deadline);
  if (tcp_ && !wanted.empty()) {
    const bool over_rdma = job_.transport == run::Transport::verbs;
    if (job_.trace && !over_rdma)
      if (const auto traced = trace_connections(wanted, deadline); !traced) return traced;
    if (job_.trace && over_rdma && verbs_) verbs_->pin_ports();
    const auto connected = tcp_->connect(
        wanted, [this] { return over(); }, deadline);
    if (!connected) return connected;
    if (const auto met = meet(processes, deadline); !met) return met;
    if (job_.trace && over_rdma)
      if (const auto traced = trace_flows(deadline); !traced) return traced;
  }
  if (uses_udp_) udp_->begin_run(faults_, collective::max_packet(job_.call), job_.run);

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
      worker.loop->add_source(worker.shared.get());
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
          RankEndpoint::Memory{this->place(shared_layout_.data[place]),
                               this->place(shared_layout_.scratch[place]), room_ ? room_->copier : nullptr},
          *worker.loop, *this);
      player.endpoint->keep_events(job_.events ? std::size_t(max_events) / mine_.size() : 0);
      if (algorithm_->uses_packets()) open_packets(player, worker, place);
      for (const collective::Edge& edge : edges_[rank]) {
        if (!over_datagrams(job_, edge)) {
          open_channel(player, worker, rank, edge);
          continue;
        }
        const run::Seat& peer = job_.seats[std::size_t(edge.peer)];
        const auto opened =
            open_datagrams(player, edge.peer, processes[std::size_t(peer.node)][std::size_t(peer.process)]);
        if (!opened) return opened;
      }
    }
  }
  return {};
}

// The first lane's: others are other connections, whose ways may be other ones.
Result<void> HostSession::trace_connections(
    const std::map<tcp::ConnectionKey, transport::PeerAddress>& wanted, Deadline deadline) {
  auto first = wanted;
  std::erase_if(first, [](const auto& each) { return each.first.lane != 0; });
  auto ways = tcp_->trace(
      first, [this] { return over(); }, deadline);
  if (!ways) return tl::unexpected(ways.error());
  note_ways(*ways);
  return {};
}

// All lanes of a hop have one label, and so one way.
Result<void> HostSession::trace_flows(Deadline deadline) {
  std::map<tcp::ConnectionKey, std::unique_ptr<verbs::FlowTrace>> traces;
  std::map<tcp::ConnectionKey, transport::TracedWay> ways;
  std::vector<transport::WayTrace*> all;
  for (const tcp::ConnectionKey& key : over_verbs_) {
    if (key.lane != 0) continue;
    ways[key] = {};
    const auto flow = verbs_->flow(key);
    if (!flow) continue;
    auto& trace = traces[key] = std::make_unique<verbs::FlowTrace>(*workers_[0]->loop, *flow);
    all.push_back(trace.get());
  }
  const auto played = transport::play(
      *workers_[0]->loop, all, [this] { return over(); }, deadline);
  if (!played) return played;
  for (const auto& [key, trace] : traces) ways[key] = trace->way();
  note_ways(ways);
  return {};
}

void HostSession::note_ways(const std::map<tcp::ConnectionKey, transport::TracedWay>& ways) {
  for (const Rank rank : mine_)
    for (const collective::Edge& edge : edges_[rank]) {
      const auto way = ways.find(connection_key(rank, edge));
      if (way != ways.end()) ways_.push_back({rank, edge.peer, way->second.known, way->second.routers});
    }
}

// One connection a pair of processes: ranks of one share its port.
Result<void> HostSession::reach(const std::map<tcp::ConnectionKey, transport::PeerAddress>& wanted,
                                Deadline deadline) {
  if (!tcp_ || wanted.empty()) return {};
  using Process = std::pair<int, int>;  // node, process
  std::map<tcp::SeatId, Rank> ranks;
  for (Rank rank = 0; rank < job_.ranks(); ++rank) {
    const run::Seat& seat = job_.seats[std::size_t(rank)];
    ranks[{std::uint32_t(seat.node), std::uint32_t(seat.local)}] = rank;
  }
  // Both ends take the same one: the least, with the lower seat first.
  std::map<Process, tcp::ConnectionKey> first;
  const auto lower_first = [](const tcp::ConnectionKey& key) {
    return std::pair(std::min(key.self, key.peer), std::max(key.self, key.peer));
  };
  std::set<Process> talk_by_datagrams;
  for (const Rank rank : mine_)
    for (const collective::Edge& edge : edges_[rank]) {
      const run::Seat& seat = job_.seats[std::size_t(edge.peer)];
      if (over_datagrams(job_, edge)) talk_by_datagrams.emplace(seat.node, seat.process);
    }
  for (const auto& [key, peer] : wanted) {
    const run::Seat& seat = job_.seats[std::size_t(ranks.at(key.peer))];
    if (seat.node == member_.node) continue;
    const auto [known, fresh] = first.try_emplace({seat.node, seat.process}, key);
    if (!fresh && lower_first(key) < lower_first(known->second)) known->second = key;
  }
  std::map<tcp::ConnectionKey, transport::PeerAddress> tried;
  std::map<udp::Ends, transport::PeerAddress> by_datagrams;
  const std::vector<transport::Interface> all = transport::interfaces();
  for (const auto& [process, key] : first) {
    const transport::PeerAddress& peer = tried[key] = wanted.at(key);
    if (talk_by_datagrams.contains(process)) by_datagrams[{ranks.at(key.self), ranks.at(key.peer)}] = peer;
    const auto address = transport::resolve(peer.host, peer.port, SOCK_STREAM);
    const auto outlet = address ? transport::outlet_to(*address) : std::nullopt;
    auto network = outlet ? transport::network_of(*outlet, all) : std::nullopt;
    if (!network) continue;
    network->receive_buffer = transport::largest_receive_buffer();
    network->node = job_.nodes[std::size_t(member_.node)];
    const auto same = std::find_if(networks_.begin(), networks_.end(),
                                   [&](const run::Network& n) { return n.address == network->address; });
    if (same == networks_.end())
      networks_.push_back(std::move(*network));
    else
      same->path_mtu = std::min(same->path_mtu, network->path_mtu);
  }
  const Seconds patience(std::min(reach_patience.value, double(deadline.left_ms()) / 1e3));
  if (!by_datagrams.empty())
    if (auto begun = udp_->begin_reach(by_datagrams, collective::max_packet(job_.call), job_.run); !begun)
      return begun;
  auto seen = tcp_->reach(
      tried, [this] { return over(); }, patience, [this] { return !udp_ || udp_->reaches_all(); });
  if (udp_) reaches_ = udp_->end_reach();
  if (!seen) return tl::unexpected(seen.error());
  for (auto& [key, reach] : *seen) {
    reach.self = ranks.at(key.self), reach.peer = ranks.at(key.peer);
    reaches_.push_back(std::move(reach));
  }
  return {};
}

void HostSession::open_packets(Player& player, Worker& worker, std::size_t place) {
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

Result<void> HostSession::open_datagrams(Player& player, Rank peer, const run::Address& address) {
  RankEndpoint& endpoint = *player.endpoint;
  const udp::Player player_of{endpoint.rank(), endpoint.packets(), reducer_.get(), &endpoint};
  const auto opened = udp_->open(player_of, peer, {address.host, address.port, node_of(peer)});
  if (!opened) return opened;
  endpoint.packets()->add_route(std::make_unique<DatagramRoute>(endpoint.rank(), peer, *udp_));
  return {};
}

void HostSession::open_channel(Player& player, Worker& worker, Rank rank, const collective::Edge& edge) {
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
    channel = &worker.shared->open(hop, *owner, *reducer_, std::move(script));
  } else {
    const tcp::ConnectionKey key = connection_key(rank, edge);
    const int connection = tcp_->descriptor(key);
    if (over_verbs_.contains(key)) {
      player.channels.push_back(verbs_->open_channel(key, connection, *owner, *reducer_, std::move(script)));
    } else {
      player.channels.push_back(std::make_unique<tcp::Channel>(
          connection, *worker.loop, worker.staging.data(), hop, *owner, *reducer_, std::move(script),
          packets ? read_ahead_for_packets : read_ahead));
    }
    channel = player.channels.back().get();
  }
  player.endpoint->add_channel(*channel);
  if (route) {
    route->attach(channel);
    packets->add_route(std::move(route));
  }
}

}  // namespace ringtrue::engine
