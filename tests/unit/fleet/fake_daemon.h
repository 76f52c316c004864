// A daemon that answers by script, on loopback or on a Unix socket.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fleet/fleet.h"
#include "pki/pki.h"
#include "run/job.h"
#include "run/report.h"
#include "wire/convert.h"
#include "wire/node.grpc.pb.h"

namespace ringtrue::fleet {

class FakeDaemon final : private rpc::Node::Service {
 public:
  enum class Do {
    answer,      // as a healthy daemon does
    error,       // with the scripted error
    stay_quiet,  // heartbeats, but no answer, not even to an abort
    freeze,      // nothing at all any more
    hang_up,     // ends the stream
    part,        // gives the scripted error as its last words, and ends the stream
    wait,        // no answer until an abort comes: then "cancelled"
  };

  // On loopback, TLS where there are credentials; or on a Unix socket.
  explicit FakeDaemon(std::string node, const pki::PemBundle* credentials = nullptr,
                      const std::string& socket = {})
      : node_(std::move(node)), socket_(socket), how_(grpc::InsecureServerCredentials()) {
    if (credentials) {
      grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      options.pem_root_certs = credentials->ca;
      options.pem_key_cert_pairs.push_back({credentials->key, credentials->cert});
      how_ = grpc::SslServerCredentials(options);
    }
    start_again();
  }
  ~FakeDaemon() override { stop(); }

  void stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    server_.reset();
  }
  // Where it was.
  void start_again() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(socket_.empty() ? "127.0.0.1:" + std::to_string(port_) : "unix:" + socket_, how_,
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  Target target() const { return {node_, "127.0.0.1", port_, socket_}; }
  void script(Phase phase, Do what, Error error = {}) { script_[phase] = {what, std::move(error)}; }

  // The name that it says it has; and whether its reports hold no ranks.
  void claim(std::string name) { claimed_ = std::move(name); }
  void leave_ranks_out() { no_ranks_ = true; }
  // Which program it says it is; before it is asked.
  void speak_as(wire::Program program) { program_ = std::move(program); }
  // Where it wants its data.
  void allow_ranks(int most) { most_ranks_ = most; }
  void want_data_at(std::string address) { data_address_ = std::move(address); }

  // What it answers to an Inspect, packed or not.
  void tell(std::string told) {
    const std::lock_guard lock(mutex_);
    told_ = std::move(told);
  }

  // The connections that a Describe came over.
  std::set<std::string> askers() const {
    const std::lock_guard lock(mutex_);
    return askers_;
  }

  std::vector<Phase> log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  bool leased() const {
    const std::lock_guard lock(mutex_);
    return !holder_.empty();
  }
  wire::Acquire acquired() const {
    const std::lock_guard lock(mutex_);
    return acquire_;
  }
  run::Job job() const {
    const std::lock_guard lock(mutex_);
    return job_;
  }
  wire::Addresses addresses() const {
    const std::lock_guard lock(mutex_);
    return addresses_;
  }

 private:
  struct Line {
    Do what = Do::answer;
    Error error;
  };
  using Stream = grpc::ServerReaderWriter<rpc::Event, rpc::Command>;

  grpc::Status Describe(grpc::ServerContext* context, const rpc::DescribeRequest*,
                        rpc::DescribeReply* reply) override {
    const std::lock_guard lock(mutex_);
    askers_.insert(context->peer());
    reply->set_version(program_.version);
    reply->set_protocol(program_.protocol);
    reply->set_oldest_protocol(program_.oldest);
    reply->set_node(node_);
    reply->set_holder(holder_);
    return grpc::Status::OK;
  }

  // Without a recording this daemon is one of a version that knows no Inspect.
  grpc::Status Inspect(grpc::ServerContext* context, const rpc::InspectRequest*,
                       rpc::InspectReply* reply) override {
    const Line line = line_of(Phase::inspect);
    if (line.what == Do::freeze) freeze(context);
    if (line.what == Do::error) *reply->mutable_error() = wire::to_wire(line.error);
    const std::lock_guard lock(mutex_);
    if (told_.empty() && line.what == Do::answer) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    reply->set_recording(told_);
    return grpc::Status::OK;
  }

  static void freeze(const grpc::ServerContext* context) {
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  grpc::Status Lease(grpc::ServerContext* context, Stream* stream) override {
    rpc::Command command;
    bool mine = false;
    std::uint64_t waiting = 0;  // sequence of the phase that waits
    bool quiet = false;
    while (stream->Read(&command)) {
      rpc::Event event;
      event.set_sequence(command.sequence());
      if (command.has_heartbeat()) {
        event.mutable_heartbeat();
        stream->Write(event);
        continue;
      }
      const Phase phase = wire::phase_of(command);
      note(phase);
      if (quiet) continue;
      if (command.has_abort() && waiting != 0) {
        rpc::Event stopped;
        stopped.set_sequence(waiting);
        *stopped.mutable_error() = wire::to_wire(Error{Cause::cancelled, "stopped on request", node_, ""});
        stream->Write(stopped);
        waiting = 0;
      }
      const Line line = line_of(phase);
      if (line.what == Do::hang_up) break;
      if (line.what == Do::part) {
        event.set_sequence(0);
        *event.mutable_error() = wire::to_wire(line.error);
        stream->Write(event);
        break;
      }
      if (line.what == Do::freeze) {
        freeze(context);
        break;
      }
      quiet = line.what == Do::stay_quiet;
      if (line.what == Do::wait) waiting = command.sequence();
      if (quiet || line.what == Do::wait) continue;
      if (line.what == Do::error)
        *event.mutable_error() = wire::to_wire(line.error);
      else
        perform(command, event, mine);
      stream->Write(event);
    }
    const std::lock_guard lock(mutex_);
    if (mine) holder_.clear();
    return grpc::Status::OK;
  }

  Line line_of(Phase phase) const {
    const std::lock_guard lock(mutex_);
    const auto found = script_.find(phase);
    return found == script_.end() ? Line{} : found->second;
  }

  void note(Phase phase) {
    const std::lock_guard lock(mutex_);
    log_.push_back(phase);
  }

  void perform(const rpc::Command& command, rpc::Event& event, bool& mine) {
    const std::lock_guard lock(mutex_);
    if (command.has_acquire()) {
      auto acquire = wire::from_wire(command.acquire());
      if (!acquire || !holder_.empty()) {
        const std::string why = acquire ? "the node is leased to " + holder_ : acquire.error().what;
        *event.mutable_error() = wire::to_wire(Error{Cause::refused, why, node_, ""});
        return;
      }
      acquire_ = *acquire;
      holder_ = acquire->holder;
      mine = true;
      event.mutable_acquired()->set_node(claimed_);
      event.mutable_acquired()->set_ranks_per_node(
          std::min(acquire->ranks_per_node + acquire->spare_ranks, most_ranks_));
      event.mutable_acquired()->set_protocol(program_.protocol);
      event.mutable_acquired()->set_oldest_protocol(program_.oldest);
      event.mutable_acquired()->set_version(program_.version);
    } else if (command.has_prepare()) {
      job_ = *wire::from_wire(command.prepare().job());
      for (int p = 0; p < acquire_.member.processes; ++p)
        event.mutable_prepared()->add_ports(unsigned(5000 + p));
      event.mutable_prepared()->set_data_address(data_address_);
    } else if (command.has_connect()) {
      addresses_ = *wire::from_wire(command.connect());
      event.mutable_done();
    } else if (command.has_collect()) {
      run::RunReport report;
      report.transports = {run::Transport::tcp};
      report.cpu_s = 0.5;
      for (std::size_t r = 0; r < job_.seats.size(); ++r)
        if (job_.seats[r].node == acquire_.member.node && !no_ranks_)
          report.ranks.push_back({collective::Rank(r), 1, {0.25 + 0.125 * double(r)}, 0, 0, {}});
      *event.mutable_report() = wire::to_wire(report);
    } else {
      event.mutable_done();
    }
  }

  const std::string node_;
  std::string claimed_ = node_;
  bool no_ranks_ = false;
  wire::Program program_ = wire::this_program();
  std::string data_address_;
  int most_ranks_ = 4096;
  const std::string socket_;
  std::shared_ptr<grpc::ServerCredentials> how_;
  int port_ = 0;
  std::set<std::string> askers_;
  std::map<Phase, Line> script_;
  mutable std::mutex mutex_;
  std::vector<Phase> log_;
  std::string holder_, told_;
  wire::Acquire acquire_;
  run::Job job_;
  wire::Addresses addresses_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace ringtrue::fleet
