// The calls of the service as state machines on one completion queue.
#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>
#include <grpc/support/time.h>
#include <grpcpp/server_context.h>
#include <unistd.h>

#include <deque>
#include <mutex>

#include "base/ip.h"
#include "base/text.h"
#include "daemon/client_limits.h"
#include "daemon/grpc_log.h"
#include "daemon/refusal_log.h"
#include "daemon/service.h"
#include "pki/pki.h"
#include "wire/parts.h"

namespace ringtrue::daemon {
namespace {

constexpr int missed_heartbeats = 3;
constexpr Seconds max_window{60};

// One operation on the queue; keeps its call alive until it is done.
class Op {
 public:
  using Handler = std::function<void(bool ok)>;
  // The tag for gRPC. An op is started again only after it was done.
  void* start(std::shared_ptr<void> call, Handler handler) {
    call_ = std::move(call);
    handler_ = std::move(handler);
    return this;
  }
  void done(bool ok) {
    // Moved out first: the handler may start the op again.
    const std::shared_ptr<void> call = std::move(call_);
    const Handler handler = std::move(handler_);
    handler(ok);
  }
  // It will not be done.
  void forget() {
    const std::shared_ptr<void> call = std::move(call_);
    handler_ = {};
  }

 private:
  std::shared_ptr<void> call_;
  Handler handler_;
};

// Who is at the other end, by certificate or by the kernel's word; nothing that the client says itself.
struct Peer {
  std::string connection;  // gRPC's name of it
  Source source;
  pki::Role role = pki::Role::none;
  std::string name;         // "alice (10.0.0.5)", "user alice"
  std::string identity;     // what counts as one: "alice", "user alice"
  std::string certificate;  // empty without TLS
  std::string refusal;      // why its certificate does not count; empty: it does
};

Peer peer_of(const grpc::ServerContext& context, const CallContext& call) {
  Peer peer;
  peer.connection = context.peer();
  peer.source = call.connections->source(peer.connection);
  peer.name = peer.identity = peer.source.text;
  const auto auth = context.auth_context();
  const auto types = auth->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  const bool tls = !types.empty() && types.front() == GRPC_SSL_TRANSPORT_SECURITY_TYPE;
  if (!tls) {
    // The Unix socket's mode, or --insecure, has let this client in.
    peer.role = pki::Role::run;
    return peer;
  }
  const auto pem = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (!pem.empty()) peer.certificate = std::string(pem.front().data(), pem.front().size());
  const auto identity = call.certificates->identify(peer.certificate);
  if (!identity) {
    peer.refusal = identity.error().what;
    return peer;
  }
  peer.role = identity->role;
  peer.identity = one_line(identity->name, 64);
  peer.name = fmt::format("{} ({})", one_line(identity->name, 64), peer.source.text);
  return peer;
}

// Whether the peer may do what takes the role; if not, it is logged, and its connection is of no more use.
Result<void> may(const Peer& peer, pki::Role needed, const CallContext& context) {
  using pki::Role;
  if (peer.role == Role::run || (peer.role == Role::read && needed == Role::read)) return {};
  Error error{Cause::refused, peer.refusal, context.node, "renew it: ringtrue pki issue --role ROLE"};
  if (peer.refusal.empty()) {
    error.what = fmt::format("this needs a certificate with the role '{}', the one shown has '{}'",
                             key_of(needed), key_of(peer.role));
    error.next = fmt::format("have one made with `ringtrue pki issue --role {}`", key_of(needed));
  }
  log_refusal(peer.source, "refused {}: {}", peer.name, error.what);
  if (peer.role != Role::read) context.connections->drop(peer.connection);
  return tl::unexpected(error);
}

// A request with one answer, for whoever may read; `request_next` is the service's RequestNAME.
template <class Call, class Request, class Reply, auto request_next>
class UnaryCall : public std::enable_shared_from_this<Call> {
 public:
  explicit UnaryCall(CallContext& context) : context_(context), responder_(&grpc_) {}

  void wait() {
    // Comes once the call is over for the client, however that came about, if the call has begun at all.
    grpc_.AsyncNotifyWhenDone(done_.start(this->shared_from_this(), [this](bool) {
      gone_ = grpc_.IsCancelled();
      if (gone_) static_cast<Call*>(this)->cancelled();
    }));
    (context_.service.*request_next)(&grpc_, &request_, &responder_, context_.queue.get(),
                                     context_.queue.get(),
                                     op_.start(this->shared_from_this(), [this](bool ok) { arrived(ok); }));
  }

 protected:
  // From any thread.
  void finish(const Reply& reply) {
    responder_.Finish(reply, grpc::Status::OK, op_.start(this->shared_from_this(), [this](bool) { over(); }));
  }
  // Its connection goes if the answer has not been taken by then.
  void finish_within(Seconds time) {
    context_.after(time, [self = this->weak_from_this(), &context = context_, connection = peer_.connection] {
      if (const auto call = self.lock(); call && !call->over_) context.connections->drop(connection);
    });
  }

  void cancelled() {}

  bool gone_ = false;  // perhaps even before the call was seen to have come
  CallContext& context_;
  Request request_;
  Peer peer_;

 private:
  void arrived(bool ok) {
    if (!ok) return done_.forget();
    if (!context_.stopping) std::make_shared<Call>(context_)->wait();
    peer_ = peer_of(grpc_, context_);
    if (const auto allowed = may(peer_, pki::Role::read, context_); !allowed) {
      over_ = true;
      responder_.FinishWithError({grpc::StatusCode::PERMISSION_DENIED, allowed.error().what},
                                 op_.start(this->shared_from_this(), [](bool) {}));
      return;
    }
    context_.connections->call_begins(peer_.connection, peer_.certificate);
    static_cast<Call*>(this)->answer();
  }
  void over() {
    over_ = true;
    context_.connections->call_ends(peer_.connection);
  }

  grpc::ServerContext grpc_;
  grpc::ServerAsyncResponseWriter<Reply> responder_;
  Op op_, done_;
  bool over_ = false;
};

class DescribeCall : public UnaryCall<DescribeCall, rpc::DescribeRequest, rpc::DescribeReply,
                                      &rpc::Node::AsyncService::RequestDescribe> {
 public:
  using UnaryCall::UnaryCall;

  void answer() {
    finish_within(describe_time);
    const LeaseManager::Status status = context_.manager.status();
    rpc::DescribeReply reply;
    const wire::Program& here = wire::this_program();
    reply.set_protocol(here.protocol);
    reply.set_oldest_protocol(here.oldest);
    reply.set_version(here.version);
    reply.set_node(context_.node);
    reply.set_holder(status.holder);
    reply.set_held_s(status.held.value);
    reply.set_phase(status.phase);
    reply.set_role(std::string(key_of(peer_.role)));
    reply.set_cores(std::int32_t(::sysconf(_SC_NPROCESSORS_ONLN)));
    reply.set_memory_bytes(std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGESIZE)));
    reply.set_refused_handshakes(refused_handshakes());
    reply.set_rejected_connections(status.rejected_connections);
    finish(reply);
  }
};

// A reading takes as long as a few requests may wait; meanwhile the next asker is served.
class InspectCall : public UnaryCall<InspectCall, rpc::InspectRequest, rpc::InspectReply,
                                     &rpc::Node::AsyncService::RequestInspect> {
 public:
  using UnaryCall::UnaryCall;

  void answer() {
    const double window = request_.window_s();
    if (!(window >= 0 && window <= max_window.value)) {
      told(fail(Cause::bad_input, fmt::format("a window of {} s", window), "",
                fmt::format("take at most {}", to_text(max_window))));
      return;
    }
    finish_within(Seconds(window) + inspect_time);
    if (gone_) return told(fail(Cause::cancelled, "the asker is gone"));
    ticket_ = context_.inspector.ask(
        {Seconds(window), request_.wake_gpus()}, peer_.identity,
        [self = shared_from_this()](const Inspector::Answer& answer) { self->told(answer); });
  }

 private:
  // From any thread.
  void told(const Inspector::Answer& answer) {
    rpc::InspectReply reply;
    reply.set_node(context_.node);
    if (answer) {
      reply.set_recording(*answer);
    } else {
      Error error = answer.error();
      if (error.where.node.empty()) error.where.node = context_.node;
      *reply.mutable_error() = wire::to_wire(error);
    }
    finish(reply);
  }

  friend UnaryCall;
  // It has no use for an answer any more.
  void cancelled() { context_.inspector.leave(ticket_); }

  Inspector::Ticket ticket_ = 0;
};

class LeaseCall : public LeaseManager::Client, public std::enable_shared_from_this<LeaseCall> {
 public:
  explicit LeaseCall(CallContext& context) : context_(context), stream_(&grpc_) {}

  void wait() {
    context_.service.RequestLease(&grpc_, &stream_, context_.queue.get(), context_.queue.get(),
                                  read_.start(shared_from_this(), [this](bool ok) { arrived(ok); }));
  }

  void send(rpc::Event event) override {
    std::lock_guard lock(mutex_);
    if (closing_) return;
    answered_ = true;
    queue_.push_back(std::move(event));
    write_locked();
  }

  void ended(const Error& why) override {
    ticket_ = 0;
    context_.connections->leases(peer_.connection, false);
    const auto code =
        why.cause == Cause::stopping ? grpc::StatusCode::ABORTED : grpc::StatusCode::UNAVAILABLE;
    close(why.what.empty() ? grpc::Status::OK : grpc::Status(code, why.what));
  }

  bool is_local() const override {
    const auto address = parse_ip(peer_.source.text);
    return peer_.source.local || (address && is_loopback(*address));
  }

 private:
  void arrived(bool ok) {
    if (!ok) return;
    if (!context_.stopping) std::make_shared<LeaseCall>(context_)->wait();
    peer_ = peer_of(grpc_, context_);
    heard_ = now_ns();
    if (const auto allowed = may(peer_, pki::Role::run, context_); !allowed) {
      refuse(0, allowed.error());
      return;
    }
    context_.connections->call_begins(peer_.connection, peer_.certificate);
    begun_ = true;
    read_next();
    after(first_command_time, [this] {
      if (!acquired_) give_up(first_command_time);
    });
  }

  // Does not keep the call: what is over costs nothing until then.
  void after(Seconds time, std::function<void()> act) {
    context_.after(time, [self = weak_from_this(), act = std::move(act)] {
      if (const auto alive = self.lock()) act();
    });
  }

  void read_next() {
    stream_.Read(&command_, read_.start(shared_from_this(), [this](bool ok) { received(ok); }));
  }

  void received(bool ok) {
    heard_ = now_ns();
    if (!ok) {
      leave("the operator's stream ended");
      close(grpc::Status::OK);
      return;
    }
    context_.connections->message_read(peer_.connection, command_.ByteSizeLong());
    take(command_);
    command_ = {};  // not Clear(), which keeps what the largest one took
    if (!refused_) read_next();
  }

  void take(rpc::Command& command) {
    if (acquired_) {
      if (command.has_heartbeat()) return;
      if (command.has_part()) {
        auto whole = assembly_.add(command.part());
        if (!whole) {
          refuse(command.sequence(), whole.error());
          leave("the operator sent " + whole.error().what);
          return;
        }
        if (!*whole) return;
        command = std::move(**whole);
      }
      if (command.has_acquire() || command.has_open() || command.has_part() ||
          command.body_case() == rpc::Command::BODY_NOT_SET) {
        refuse(command.sequence(),
               {Cause::bad_input, "a command that a lease does not know", context_.node, ""});
        leave("the operator sent a command that a lease does not know");
        return;
      }
      context_.manager.command(ticket_, std::move(command));
      return;
    }
    if (!command.has_acquire()) {
      refuse(command.sequence(), {Cause::bad_input, "a lease begins with acquire", context_.node, ""});
      return;
    }
    if (auto taken = acquire(command); !taken) {
      Error error = taken.error();
      if (error.where.node.empty()) error.where.node = context_.node;
      log_refusal(peer_.source, "refused {} a lease: {}", peer_.name, error.what);
      refuse(command.sequence(), error);
    }
  }

  Result<void> acquire(const rpc::Command& command) {
    const rpc::Acquire& message = command.acquire();
    // Before anything else is looked at: another version may mean other things by it.
    if (const wire::Program theirs = wire::program_of(message);
        !wire::compatible(wire::this_program(), theirs))
      return tl::unexpected(wire::version_mismatch(wire::this_program(), theirs));
    auto acquire = wire::from_wire(message);
    if (!acquire) return tl::unexpected(acquire.error());
    if (!(command.deadline_s() > 0 && command.deadline_s() < 1e6))
      return fail(Cause::bad_input, "a command without a deadline");
    if (acquire->heartbeat.value > longest_heartbeat.value)
      return fail(Cause::refused, fmt::format("a heartbeat every {} is promised, {} is the longest here",
                                              to_text(acquire->heartbeat), to_text(longest_heartbeat)));
    interval_ = acquire->heartbeat;
    acquire->holder = peer_.name;
    // Its peers reach this node as the operator does. What is bound to a link alone needs its zone as well.
    acquire->member.listen_address.clear();
    if (const auto here = parse_ip(peer_.source.here); here && !is_link_local(*here))
      acquire->member.listen_address = peer_.source.here;
    auto ticket = context_.manager.acquire(std::move(*acquire), command.sequence(),
                                           Deadline::in(Seconds(command.deadline_s())), shared_from_this());
    if (!ticket) return tl::unexpected(ticket.error());
    acquired_ = true;
    ticket_ = *ticket;
    context_.connections->leases(peer_.connection, true);
    if (context_.certificates) context_.certificates->warn_of_expiry();
    beat_later();
    return {};
  }

  void refuse(std::uint64_t sequence, const Error& error) {
    refused_ = true;
    rpc::Event event;
    event.set_sequence(sequence);
    *event.mutable_error() = wire::to_wire(error);
    send(std::move(event));
    close(grpc::Status::OK);
    // A client that takes nothing would keep the stream for ever.
    after(parting_time, [this] { cut(); });
  }

  void leave(const std::string& why) {
    const LeaseManager::Ticket ticket = ticket_.exchange(0);
    if (ticket != 0) context_.manager.leave(ticket, why);
  }

  void beat_later() {
    after(interval_, [this] { beat(); });
  }

  void beat() {
    {
      std::lock_guard lock(mutex_);
      if (finished_) return;
      if (closing_ && seconds_since(closed_at_) > parting_time) return grpc_.TryCancel();
    }
    if (!peer_.certificate.empty()) {
      if (const auto still = context_.certificates->identify(peer_.certificate); !still) {
        leave(still.error().what);
        return cut();
      }
    }
    if (const Seconds silence = seconds_since(heard_); silence >= interval_ * (0.99 * missed_heartbeats)) {
      give_up(silence);
      return;
    }
    {
      std::lock_guard lock(mutex_);
      if (answered_ && !closing_ && queue_.empty() && !writing_) {
        queue_.emplace_back().mutable_heartbeat();
        write_locked();
      }
    }
    beat_later();
  }

  void cut() {
    std::lock_guard lock(mutex_);
    if (!finished_) grpc_.TryCancel();
  }

  void give_up(Seconds silence) {
    leave(fmt::format("nothing was heard of the operator for {:.1f} s", silence.value));
    // A client that takes nothing either would hold up the orderly end for ever.
    cut();
  }

  // After what is queued has been written, the call is finished with `status`.
  void close(grpc::Status status) {
    std::lock_guard lock(mutex_);
    if (closing_) return;
    closing_ = true;
    closed_at_ = now_ns();
    status_ = std::move(status);
    write_locked();
  }

  void write_locked() {
    if (writing_ || finishing_) return;
    if (!queue_.empty()) {
      writing_ = true;
      stream_.Write(queue_.front(), write_.start(shared_from_this(), [this](bool ok) { written(ok); }));
    } else if (closing_) {
      finishing_ = true;
      stream_.Finish(status_, write_.start(shared_from_this(), [this](bool) {
        std::lock_guard lock(mutex_);
        finished_ = true;
        if (begun_) context_.connections->call_ends(peer_.connection);
        // Done is what gRPC has taken over: a client without a window for it would keep the stream.
        context_.after(parting_time, [self = shared_from_this()] { self->grpc_.TryCancel(); });
      }));
    }
  }

  void written(bool ok) {
    std::lock_guard lock(mutex_);
    writing_ = false;
    queue_.pop_front();
    if (!ok) queue_.clear();  // nobody reads any more; the pending read tells
    write_locked();
  }

  CallContext& context_;
  grpc::ServerContext grpc_;
  grpc::ServerAsyncReaderWriter<rpc::Event, rpc::Command> stream_;
  rpc::Command command_;
  wire::Assembly assembly_;
  Op read_, write_;

  // Of the queue's thread.
  Peer peer_;
  std::int64_t heard_ = 0;
  Seconds interval_{0};
  bool begun_ = false;  // counted as a call of its connection
  bool acquired_ = false;
  bool refused_ = false;

  std::atomic<LeaseManager::Ticket> ticket_ = 0;

  std::mutex mutex_;  // of what follows
  std::deque<rpc::Event> queue_;
  bool answered_ = false;  // acquired has been sent, heartbeats may follow
  bool writing_ = false;
  bool closing_ = false;  // nothing more is taken for sending
  std::int64_t closed_at_ = 0;
  bool finishing_ = false;  // Finish has been called
  bool finished_ = false;   // ... and done
  grpc::Status status_;
};

}  // namespace

void serve_queue(CallContext& context) {
  const auto due = [&context] {
    while (!context.timers.empty() && context.timers.begin()->first <= now_ns()) {
      const auto timer = context.timers.extract(context.timers.begin());
      timer.mapped()();
    }
    // Monotonic: a wall clock that is set must not end a lease.
    return context.timers.empty() ? gpr_inf_future(GPR_CLOCK_MONOTONIC)
                                  : gpr_time_from_nanos(context.timers.begin()->first, GPR_CLOCK_MONOTONIC);
  };
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    const auto next = context.queue->AsyncNext(&tag, &ok, due());
    if (next == grpc::CompletionQueue::SHUTDOWN) break;
    if (next == grpc::CompletionQueue::GOT_EVENT) static_cast<Op*>(tag)->done(ok);
  }
  context.timers.clear();  // they keep calls
}

void accept_calls(CallContext& context) {
  std::make_shared<DescribeCall>(context)->wait();
  std::make_shared<LeaseCall>(context)->wait();
  std::make_shared<InspectCall>(context)->wait();
}

}  // namespace ringtrue::daemon
