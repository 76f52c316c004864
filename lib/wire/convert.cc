#include "wire/convert.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "run/json.h"
#include "run/member.h"

namespace ringtrue::wire {

namespace {

tl::unexpected<Error> bad(std::string what) {
  return fail(Cause::bad_input, "a message holds " + std::move(what));
}

bool in_range(std::int64_t value, std::int64_t low, std::int64_t high) {
  return low <= value && value <= high;
}

// Letters, digits and marks of ASCII: names and addresses, never blanks or control characters.
bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

// At least one name, none twice, each 1 to 255 printable characters.
Result<std::vector<std::string>> node_names(const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (!in_range(names.size(), 1, max_nodes)) return bad(fmt::format("{} node names", names.size()));
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > 255 || !printable(name)) return bad("invalid node name");
    if (!seen.insert(name).second) return bad("the node '" + name + "' twice");
  }
  return std::vector<std::string>(names.begin(), names.end());
}

// What a peer sends must not fill our log: protobuf would write a line of its own for each bad string.
[[maybe_unused]] const auto former_handler = google::protobuf::SetLogHandler(nullptr);

}  // namespace

rpc::Acquire to_wire(const Acquire& a) {
  rpc::Acquire m;
  m.set_protocol(a.program.protocol);
  m.set_oldest_protocol(a.program.oldest);
  m.set_version(a.program.version);
  m.set_holder(a.holder);
  for (const std::string& node : a.nodes) m.add_nodes(node);
  *m.mutable_member() = to_wire(a.member);
  m.set_ranks_per_node(a.ranks_per_node);
  m.set_spare_ranks(a.spare_ranks);
  m.set_data_interface(a.data_interface);
  m.set_heartbeat_s(a.heartbeat.value);
  return m;
}

Result<Acquire> from_wire(const rpc::Acquire& m) {
  Acquire a;
  a.program = program_of(m);
  if (m.holder().empty()) return bad("a lease without a holder");
  a.holder = one_line(m.holder(), 200);
  auto nodes = node_names(m.nodes());
  if (!nodes) return tl::unexpected(nodes.error());
  a.nodes = std::move(*nodes);
  auto member = from_wire(m.member());
  if (!member) return tl::unexpected(member.error());
  a.member = std::move(*member);
  if (a.member.node >= int(a.nodes.size())) return bad("a node index outside the list of nodes");
  if (a.member.secret.size() < 16) return bad("a secret of less than 16 bytes");
  if (!in_range(m.ranks_per_node(), 1, max_ranks))
    return bad(fmt::format("{} ranks a node; 1 to {} are possible", m.ranks_per_node(), max_ranks));
  a.ranks_per_node = m.ranks_per_node();
  if (!in_range(m.spare_ranks(), 0, max_ranks))
    return bad(fmt::format("{} spare ranks a node; 0 to {} are possible", m.spare_ranks(), max_ranks));
  a.spare_ranks = m.spare_ranks();
  if (m.data_interface().size() > 15 || !printable(m.data_interface()) ||
      m.data_interface().find('/') != std::string::npos)
    return bad("a data interface that is not an interface's name");
  a.data_interface = m.data_interface();
  if (m.heartbeat_s() != 0) {
    if (!(m.heartbeat_s() >= 0.1 && m.heartbeat_s() <= 60)) return bad("a heartbeat that is not 0.1 to 60 s");
    a.heartbeat = Seconds(m.heartbeat_s());
  }
  return a;
}

Program program_of(const rpc::Acquire& m) {
  return {one_line(m.version(), 64), m.protocol(), m.oldest_protocol()};
}
Program program_of(const rpc::Acquired& m) {
  return {one_line(m.version(), 64), m.protocol(), m.oldest_protocol()};
}
Program program_of(const rpc::DescribeReply& m) {
  return {one_line(m.version(), 64), m.protocol(), m.oldest_protocol()};
}

Result<void> sendable(const run::Job& job) {
  std::uint64_t bytes = 0;
  if (job.input) {
    for (const auto& row : job.input->rows) bytes += row.size();
  }
  if (bytes <= max_input_bytes) return {};
  return fail(Cause::bad_input,
              fmt::format("the input holds {}; at most {} go to other processes", to_text(Bytes(bytes)),
                          to_text(Bytes(max_input_bytes))),
              {}, "use --local in one process, or generated data (--density, --overlap)");
}

rpc::Job to_wire(const run::Job& job) {
  rpc::Job m;
  m.set_record(run::to_packed_json(job));
  if (job.input) {
    rpc::Input& input = *m.mutable_input();
    input.set_type(std::string(key_of(job.input->type)));
    input.set_elements(job.input->elements);
    for (const auto& row : job.input->rows) input.add_rows(row.data(), row.size());
  }
  return m;
}

Result<run::Job> from_wire(const rpc::Job& m) {
  auto job = run::from_json<run::Job>(m.record());
  if (!job || !m.has_input()) return job;
  const auto type = collective::parse_type(m.input().type());
  if (!type) return bad("an input of an unknown type");
  auto input = std::make_shared<run::Input>();
  input->type = *type;
  input->elements = m.input().elements();
  for (const std::string& row : m.input().rows()) {
    const auto* begin = reinterpret_cast<const std::byte*>(row.data());
    input->rows.emplace_back(begin, begin + row.size());
  }
  job->input = std::move(input);
  if (auto fine = run::check(*job); !fine) return tl::unexpected(fine.error());
  if (auto fits = sendable(*job); !fits) return tl::unexpected(fits.error());
  return job;
}

rpc::RunReport to_wire(const run::RunReport& report) {
  rpc::RunReport m;
  m.set_record(run::to_packed_json(report));
  return m;
}

Result<run::RunReport> from_wire(const rpc::RunReport& m) {
  return run::from_json<run::RunReport>(m.record());
}

rpc::Connect to_wire(const Addresses& addresses) {
  rpc::Connect m;
  for (const auto& node : addresses) {
    rpc::NodeAddresses* n = m.add_nodes();
    for (const run::Address& address : node) {
      rpc::Address* a = n->add_processes();
      a->set_host(address.host);
      a->set_port(std::uint32_t(address.port));
    }
  }
  return m;
}

Result<Addresses> from_wire(const rpc::Connect& m) {
  if (m.nodes_size() > max_nodes) return bad("addresses of too many nodes");
  Addresses addresses(std::size_t(m.nodes_size()));
  for (int n = 0; n < m.nodes_size(); ++n) {
    const rpc::NodeAddresses& node = m.nodes(n);
    if (node.processes_size() > max_processes) return bad("addresses of too many processes");
    for (const rpc::Address& a : node.processes()) {
      if (a.port() > 65'535) return bad(fmt::format("port {} in an address", a.port()));
      if (a.host().size() > 255 || !printable(a.host())) return bad("an address that names no host");
      if (a.host().empty() && a.port() != 0) return bad("an address without a host");
      addresses[std::size_t(n)].push_back({a.host(), int(a.port())});
    }
  }
  return addresses;
}

rpc::Prepared to_wire(const Prepared& prepared) {
  rpc::Prepared m;
  for (int port : prepared.ports) m.add_ports(std::uint32_t(port));
  m.set_data_address(prepared.data_address);
  return m;
}

Result<Prepared> from_wire(const rpc::Prepared& m) {
  if (m.ports_size() > max_processes) return bad("ports of too many processes");
  Prepared p;
  for (std::uint32_t port : m.ports()) {
    if (port > 65'535) return bad(fmt::format("port {} of a worker", port));
    p.ports.push_back(int(port));
  }
  if (m.data_address().size() > 255 || !printable(m.data_address())) return bad("invalid data address");
  p.data_address = m.data_address();
  return p;
}

rpc::Subject to_wire(const Subject& subject) {
  rpc::Subject m;
  m.set_node(one_line(subject.node, 500));
  m.set_device(one_line(subject.device, 500));
  if (subject.rank >= 0) m.set_rank(subject.rank);
  m.set_phase(key_of(subject.phase));
  return m;
}

Subject from_wire(const rpc::Subject& m) {
  Subject s(one_line(m.node(), 500), parse_key<Phase>(m.phase()).value_or(Phase::none));
  s.device = one_line(m.device(), 500);
  if (m.has_rank() && in_range(m.rank(), 0, max_ranks - 1)) s.rank = m.rank();
  return s;
}

rpc::Error to_wire(const Error& error) {
  rpc::Error m;
  m.set_cause(rpc::Cause(int(error.cause) + 1));
  m.set_what(one_line(error.what, 2'000));
  if (!error.where.empty()) *m.mutable_where() = to_wire(error.where);
  m.set_next(one_line(error.next, 1'000));
  return m;
}

Error from_wire(const rpc::Error& m) {
  Error e;
  const int cause = int(m.cause()) - 1;
  e.cause = in_range(cause, 0, int(Cause::stopping)) ? Cause(cause) : Cause::internal;
  e.what = m.what().empty() ? "an error without a text" : one_line(m.what(), 2'000);
  e.where = from_wire(m.where());
  e.next = one_line(m.next(), 1'000);
  return e;
}

rpc::Member to_wire(const run::Member& member) {
  rpc::Member m;
  m.set_node(member.node);
  m.set_process(member.process);
  m.set_processes(member.processes);
  m.set_threads(member.threads);
  m.set_secret(member.secret);
  m.set_data_address(member.data_address);
  m.set_node_address(member.node_address);
  m.set_listen_address(member.listen_address);
  m.set_any_peers(!member.peers);
  if (member.peers)
    for (const IpNetwork& network : *member.peers) m.add_peers(to_text(network));
  m.set_port_low(std::uint32_t(member.port_low));
  m.set_port_high(std::uint32_t(member.port_high));
  return m;
}

Result<run::Member> from_wire(const rpc::Member& m) {
  if (!in_range(m.node(), 0, max_nodes - 1)) return bad("a node index out of range");
  if (!in_range(m.processes(), 1, max_processes))
    return bad(fmt::format("{} processes a node; 1 to {} are possible", m.processes(), max_processes));
  if (!in_range(m.process(), 0, m.processes() - 1)) return bad("a process index out of range");
  if (!in_range(m.threads(), 0, 65'536)) return bad("a number of threads out of range");
  if (m.secret().size() > 64) return bad("a secret that is too long");
  for (const std::string* address : {&m.data_address(), &m.node_address(), &m.listen_address()})
    if (address->size() > 255 || !printable(*address)) return bad("invalid data address");
  if (m.port_high() > 65'535 || m.port_low() > m.port_high() || (m.port_low() == 0 && m.port_high() != 0))
    return bad(fmt::format("the port range {}-{}", m.port_low(), m.port_high()));
  run::Member member;
  member.node = m.node();
  member.process = m.process();
  member.processes = m.processes();
  member.threads = m.threads();
  member.secret = m.secret();
  member.data_address = m.data_address();
  member.node_address = m.node_address();
  member.listen_address = m.listen_address();
  if (!m.any_peers()) member.peers.emplace();
  for (const std::string& text : m.peers()) {
    if (!member.peers) return bad("any peers, and networks of peers");
    const auto network = parse_network(text);
    if (!network) return bad("a network of peers that is none");
    member.peers->push_back(*network);
  }
  member.port_low = int(m.port_low());
  member.port_high = int(m.port_high());
  return member;
}

rpc::Command plain_command(Phase phase) {
  rpc::Command command;
  if (phase == Phase::barrier) command.mutable_barrier();
  if (phase == Phase::run) command.mutable_run();
  if (phase == Phase::collect) command.mutable_collect();
  if (phase == Phase::release) command.mutable_release();
  if (phase == Phase::heartbeat) command.mutable_heartbeat();
  if (phase == Phase::abort) command.mutable_abort();
  return command;
}

Phase phase_of(const rpc::Command& command) {
  static_assert(int(Phase::open) - int(Phase::lease) == rpc::Command::kOpen - rpc::Command::kAcquire);
  const int body = command.body_case();
  return body == 0 ? Phase::none : Phase(body - rpc::Command::kAcquire + int(Phase::lease));
}

}  // namespace ringtrue::wire
