// Requests with one answer each: who the daemon is, what is in its node, what it has seen.
#include <fmt/format.h>
#include <unistd.h>

#include "daemon/call.h"
#include "daemon/client_limits.h"
#include "daemon/grpc_log.h"
#include "daemon/passive_watch.h"
#include "run/json.h"
#include "wire/convert.h"

namespace ringtrue::daemon {
namespace {

constexpr Seconds max_window{60};

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
      const Error& refusal = allowed.error();
      responder_.FinishWithError({grpc::StatusCode::PERMISSION_DENIED, refusal.what, refusal.next},
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
    probe::ReadRequest asked{Seconds(window), request_.wake_gpus()};
    if (request_.routes()) asked = {.routes = true};  // all alike: whoever asks at once shares one reading
    ticket_ = context_.inspector.ask(
        asked, peer_.identity,
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

class EventsCall : public UnaryCall<EventsCall, rpc::EventsRequest, rpc::EventsReply,
                                    &rpc::Node::AsyncService::RequestEvents> {
 public:
  using UnaryCall::UnaryCall;

  void answer() {
    finish_within(describe_time);
    rpc::EventsReply reply;
    reply.set_node(context_.node);
    if (!context_.watch)
      *reply.mutable_error() =
          wire::to_wire({Cause::unavailable, "this daemon does not watch its devices", context_.node, ""});
    else
      reply.set_record(
          run::to_packed_json(context_.watch->last(std::max<std::int64_t>(request_.seconds(), 0))));
    finish(reply);
  }
};

}  // namespace

void accept_unary_calls(CallContext& context) {
  std::make_shared<DescribeCall>(context)->wait();
  std::make_shared<InspectCall>(context)->wait();
  std::make_shared<EventsCall>(context)->wait();
}

}  // namespace ringtrue::daemon
