// RDMA in a session's phases: which hops go over queue pairs is settled between their two ends, over the
// connection that they have in any case.
#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>

#include "collective/omnireduce/omnireduce.h"
#include "engine/packets/channel.h"
#include "engine/session/host.h"
#include "run/member.h"
#include "run/rdma.h"
#include "run/report.h"

namespace ringtrue::engine {

namespace {

std::string reason_of(const Error& error) {
  return error.next.empty() ? error.what : fmt::format("{}; {}", error.what, error.next);
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::size_t max_reason = 1024;  // bytes

// "10.1.0.7", where the host has such a name; nothing where it has none.
void add_numbers(const std::string& host, std::vector<std::string>& numbers) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return;
  for (const addrinfo* each = found; each; each = each->ai_next)
    if (char text[NI_MAXHOST];
        ::getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      numbers.emplace_back(text);
  ::freeaddrinfo(found);
}

}  // namespace

int HostSession::thread_of(Rank rank) const {
  return plan_.thread_of[std::size_t(plan_.position(rank))] - member_.process * threads_;
}

// All that is mapped, so that calls of other sizes register nothing anew; beside other processes of the node
// no more than our own ranks', because registered memory is limited.
verbs::Buffer HostSession::memory_of_ranks() const {
  if (member_.processes == 1) return {memory_, mapped_, false, {}};
  const auto [begin, end] = range_of_ranks();
  return begin < end ? verbs::Buffer{memory_ + begin, end - begin, false, {}} : verbs::Buffer{};
}

std::pair<std::uint64_t, std::uint64_t> HostSession::range_of_ranks() const {
  std::uint64_t begin = UINT64_MAX, end = 0;
  for (const Rank rank : mine_) {
    const auto place = std::size_t(plan_.position(rank));
    for (const auto& [at, bytes] : {std::pair(shared_layout_.data[place], plan_.data_bytes[place]),
                                    std::pair(shared_layout_.scratch[place], plan_.scratch_bytes[place])}) {
      if (bytes == 0) continue;
      begin = std::min(begin, at);
      end = std::max(end, at + bytes);
    }
  }
  return {begin, end};
}

void HostSession::take_room() {
  const auto [begin, end] = range_of_ranks();
  if (begin >= end) return;
  const auto room = make_room_(end - begin);
  const auto way = room ? verbs_->use(*room) : tl::unexpected(room.error());
  why_no_room_ = !way ? reason_of(way.error()) : *way == verbs::Way::staged ? verbs_->why_staged() : "";
  if (!why_no_room_.empty()) return;
  room_ = *room;
  room_begin_ = begin;
}

Result<void> HostSession::open_verbs() {
  no_verbs_.clear();
  const auto here = [&](Rank rank) {
    return std::any_of(edges_[rank].begin(), edges_[rank].end(),
                       [&](const collective::Edge& edge) { return may_be_verbs(job_, rank, edge); });
  };
  if (std::none_of(mine_.begin(), mine_.end(), here)) return {};
  if ((verbs_ || verbs_error_) && verbs_settings_ != job_.verbs) {
    verbs_.reset();
    verbs_error_.reset();
  }
  if (!verbs_ && !verbs_error_) {
    verbs_settings_ = job_.verbs;
    auto opened = verbs::Transport::open(
        member_.verbs ? *member_.verbs : verbs::system_library(),
        {job_.nodes[std::size_t(member_.node)],
         member_.data_address.empty() ? member_.node_address : member_.data_address, job_.verbs});
    if (opened) {
      verbs_ = std::move(*opened);
    } else {
      verbs_error_ = std::move(opened.error());
    }
  }
  std::optional<Error> error = verbs_error_;
  if (!error && make_room_) take_room();
  if (!error && !room_)
    if (const auto used = verbs_->use(memory_of_ranks()); !used) error = used.error();
  if (!error) return {};
  if (job_.transport == run::Transport::verbs) {
    if (error->next.empty()) error->next = "use --transport auto, or tcp";
    return tl::unexpected(std::move(*error));
  }
  no_verbs_ = reason_of(*error);
  return {};
}

verbs::Greeting HostSession::offer(Pairing& m) {
  verbs::Greeting none;
  none.why_not = no_verbs_;
  if (!no_verbs_.empty()) return none;
  auto offered =
      verbs_->offer(m.key, {m.rank, m.edge.peer, m.edge.lane, node_of(m.edge.peer)}, thread_of(m.rank),
                    job_.ports.empty() ? std::vector<run::RdmaPort>() : job_.ports[std::size_t(m.rank)]);
  if (offered) return std::move(*offered);
  none.why_not = reason_of(offered.error());
  m.failed = offered.error();
  return none;
}

// Why the hop cannot go over verbs as this end sees it; empty: it can, once the other end agrees.
std::string HostSession::accept(Pairing& m, const verbs::Greeting& theirs,
                                std::map<int, Error>& unreachable) {
  const bool first = m.key.self < m.key.peer;  // so that both ends say it in the same words
  std::string why = first ? verbs::mismatch(m.ours, theirs) : verbs::mismatch(theirs, m.ours);
  const std::string outside =
      why.empty() && member_.peers ? verbs::outside(m.ours, theirs, *member_.peers) : "";
  if (!why.empty()) {
    m.remark.peer = node_of(first ? m.edge.peer : m.rank);
    m.remark.node = node_of(first ? m.rank : m.edge.peer);
  } else {
    // On RoCE the kernel looks for the peer's address, for a second where nobody answers: once a node is
    // enough.
    const int there = job_.seats[std::size_t(m.edge.peer)].node;
    const auto known = unreachable.find(there);
    if (!outside.empty())
      m.failed = {Cause::refused, fmt::format("{} is said to be at {}", node_of(m.edge.peer), outside),
                  node_of(m.rank),
                  fmt::format("if it is there, add its network to peers under [daemon] in {}'s configuration",
                              node_of(m.rank))};
    else if (known != unreachable.end())
      m.failed = known->second;
    else if (const auto accepted = verbs_->accept(m.key, theirs); !accepted)
      m.failed = accepted.error();
    if (m.failed) {
      if (m.failed->cause == Cause::unreachable) unreachable.emplace(there, *m.failed);
      m.remark.node = node_of(m.rank);
      why = reason_of(*m.failed).substr(0, max_reason);
    }
  }
  m.remark.why = why;
  return why;
}

// Between one hop and the next. Whoever could not be reached is why it took so long.
Result<void> HostSession::go_on(Deadline deadline, const std::map<int, Error>& unreachable) const {
  if (over()) return fail(Cause::cancelled, "cancelled while RDMA was connected");
  if (!deadline.passed()) return {};
  if (unreachable.empty())
    return fail(Cause::deadline, "RDMA was not connected in time", {}, "raise --deadline");
  const auto& [node, why] = *unreachable.begin();
  return fail(Cause::deadline, fmt::format("RDMA was not connected in time: {}", why.what),
              job_.nodes[std::size_t(node)], why.next);
}

Result<void> HostSession::meet(const std::vector<std::vector<run::Address>>& processes, Deadline deadline) {
  std::vector<Pairing> pairings;
  for (const Rank rank : mine_)
    for (const collective::Edge& edge : edges_[rank])
      if (may_be_verbs(job_, rank, edge))
        pairings.push_back({connection_key(rank, edge), rank, edge, {}, {}, {}});
  if (pairings.empty()) return {};
  std::vector<std::string> others;  // a few are enough to tell whether this node's devices are its own
  for (std::size_t node = 0; node < processes.size() && others.size() < 4; ++node)
    if (int(node) != member_.node && !processes[node].empty()) add_numbers(processes[node][0].host, others);
  if (const auto begun = begin_verbs(pairings.size(), std::move(others)); !begun) return begun;

  const auto stop = [this] { return over(); };
  tcp::Transport::Messages messages;
  for (Pairing& m : pairings) {
    if (const auto on = go_on(deadline, {}); !on) return on;
    m.ours = offer(m);
    messages[m.key] = {verbs::encode(m.ours), node_of(m.edge.peer)};
  }
  auto answers = tcp_->exchange(std::move(messages), verbs::max_greeting, "RDMA addresses", stop, deadline);
  if (!answers) return tl::unexpected(answers.error());

  messages.clear();
  std::map<int, Error> unreachable;  // by node
  for (Pairing& m : pairings) {
    if (const auto on = go_on(deadline, unreachable); !on) return on;
    const std::string& there = node_of(m.edge.peer);
    const auto theirs = verbs::decode((*answers)[m.key].bytes);
    if (!theirs)
      return fail(Cause::corrupted, fmt::format("{} sent no RDMA addresses that can be read", there), there);
    if (!m.ours.why_not.empty()) {
      m.remark = {run::Remark::Kind::over_tcp, node_of(m.rank), {}, m.ours.why_not};
    } else if (!theirs->why_not.empty()) {
      m.remark = {run::Remark::Kind::over_tcp, there, {}, theirs->why_not};
    } else {
      messages[m.key] = {bytes_of(accept(m, *theirs, unreachable)), there};
    }
  }
  answers =
      tcp_->exchange(std::move(messages), max_reason, "confirmation that RDMA is ready", stop, deadline);
  if (!answers) return tl::unexpected(answers.error());

  for (Pairing& m : pairings) {
    const auto answer = answers->find(m.key);
    if (m.remark.why.empty()) m.remark.why = text_of(answer->second.bytes);
    if (m.remark.why.empty()) {
      over_verbs_.insert(m.key);
      add_unpaired(m);
      continue;
    }
    if (m.remark.node.empty()) m.remark.node = node_of(m.edge.peer);
    if (job_.transport == run::Transport::verbs) return tl::unexpected(no_verbs(m));
    if (m.ours.why_not.empty()) verbs_->withdraw(m.key);
    remarks_.push_back(std::move(m.remark));
  }
  return {};
}

// Said of the node that has no partner for them.
void HostSession::add_unpaired(const Pairing& m) {
  std::string ports;
  for (const run::RdmaPort& port : verbs_->unpaired(m.key))
    ports += (ports.empty() ? "" : ", ") + run::to_text(port);
  run::Remark remark{run::Remark::Kind::unpaired, node_of(m.edge.peer), {}, ports.substr(0, max_reason)};
  if (!ports.empty() && std::find(remarks_.begin(), remarks_.end(), remark) == remarks_.end())
    remarks_.push_back(std::move(remark));
}

// Where verbs were asked for by name: an error, and whose.
Error HostSession::no_verbs(const Pairing& m) const {
  if (!m.remark.peer.empty())
    return {Cause::unavailable,
            fmt::format("no RDMA between {} and {}: {}", m.remark.node, m.remark.peer, m.remark.why),
            node_of(m.edge.peer),
            {}};
  return m.failed ? *m.failed : Error{Cause::unavailable, m.remark.why, m.remark.node, {}};
}

Result<void> HostSession::begin_verbs(std::size_t hops, std::vector<std::string> others) {
  if (!no_verbs_.empty()) return {};
  verbs::Transport::Run run;
  for (int t = 0; t < threads_; ++t) run.loops.push_back(workers_[std::size_t(t)]->loop.get());
  run.hops = hops;
  run.others = std::move(others);
  run.max_message = job_.call.bytes();
  if (algorithm_->uses_packets())
    run.max_message =
        std::max({run.max_message, max_enveloped(job_.call), collective::max_packet(job_.call)});
  run.failed = [this](Error error) { failed(std::move(error)); };
  const auto begun = verbs_->begin_run(std::move(run));
  verbs_run_ = begun.has_value();
  if (begun || job_.transport == run::Transport::verbs) return begun;
  no_verbs_ = reason_of(begun.error());
  return {};
}

void HostSession::add_rdma(run::RunReport& report) const {
  bool data_over_tcp = false;
  for (const Rank rank : mine_)
    for (const collective::Edge& edge : edges_.at(rank))
      data_over_tcp |= edge.lane != collective::barrier_lane && !over_shared_memory(job_, rank, edge) &&
                       !over_verbs_.contains(connection_key(rank, edge));
  // Beside queue pairs tcp carries barriers, which is no news.
  const bool barriers_alone =
      !data_over_tcp && (!over_verbs_.empty() || job_.transport == run::Transport::verbs);
  const bool tcp = uses_tcp_ && !uses_udp_ && !barriers_alone;
  const bool shm = !uses_udp_ && (uses_shm_ || !uses_tcp_);
  const std::pair<bool, run::Transport> ran[] = {{shm, run::Transport::shm},
                                                 {tcp, run::Transport::tcp},
                                                 {uses_udp_, run::Transport::udp},
                                                 {!over_verbs_.empty(), run::Transport::verbs}};
  for (const auto& [yes, transport] : ran)
    if (yes) report.transports.push_back(transport);
  if (tcp) report.congestion = tcp_->congestion();
  report.remarks = remarks_;
  if (over_verbs_.empty()) return;
  std::set<run::RdmaPort> ports;
  for (const Rank rank : mine_)
    if (!job_.ports.empty())
      ports.insert(job_.ports[std::size_t(rank)].begin(), job_.ports[std::size_t(rank)].end());
  run::RdmaUse use;
  use.node = job_.nodes[std::size_t(member_.node)];
  use.memory = key_of(verbs_->way());
  for (const verbs::Rail& rail : verbs_->rails()) {
    if (ports.empty()) use.ports.push_back(rail.name);
    if (use.gid.empty() && rail.port.layer == verbs::LinkLayer::ethernet) use.gid = verbs::to_text(rail.gid);
    const int mtu = job_.verbs.mtu > 0 ? std::min(job_.verbs.mtu, rail.port.mtu) : rail.port.mtu;
    use.mtu = use.mtu > 0 ? std::min(use.mtu, mtu) : mtu;
  }
  use.ports.insert(use.ports.end(), ports.begin(), ports.end());
  if (!verbs_->why_staged().empty())
    report.remarks.push_back({run::Remark::Kind::staged, use.node, {}, verbs_->why_staged()});
  if (job_.verbs.traffic_class != 0 && !verbs_->without_grh().empty()) {
    const std::string port = run::to_text(*verbs_->without_grh().begin());
    report.remarks.push_back(
        {run::Remark::Kind::no_effect,
         use.node,
         {},
         fmt::format(
             "traffic class {}: packets of {} go by LID and carry none; set --gid-index or --service-level",
             job_.verbs.traffic_class, port)});
  }
  for (const bool other_kind : {false, true}) {
    std::string whys;
    for (const verbs::LeftOut& each : verbs_->left_out())
      if (each.other_kind == other_kind) whys += (whys.empty() ? "" : "; ") + each.why;
    if (whys.empty()) continue;
    const auto kind = other_kind ? run::Remark::Kind::other_ports : run::Remark::Kind::left_out;
    report.remarks.push_back({kind, use.node, {}, whys.substr(0, max_reason)});
  }
  report.rdma.push_back(std::move(use));
}

}  // namespace ringtrue::engine
