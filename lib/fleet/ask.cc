#include "fleet/ask.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#if __has_include(<absl/base/internal/sysinfo.h>)
#include <absl/base/internal/sysinfo.h>
#endif
#if __has_include(<absl/synchronization/mutex.h>)
#include <absl/synchronization/mutex.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/dialer.h"
#include "fleet/unreachable.h"
#include "pki/expiry.h"
#include "run/json.h"
#include "wire/convert.h"
#include "wire/node.grpc.pb.h"

namespace ringtrue::fleet {

namespace {

constexpr int max_description_bytes = 64 << 10;
constexpr int max_recording_bytes = 8 << 20;  // a machine of eight GPUs takes some 100 KiB, packed

// How daemons are asked: by so many threads, so many at once by all of them, until `ended` says so.
struct Asking {
  std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u), at_once = 256;
  std::function<bool()> ended{};
  bool keep = false;  // the connections, for the next time: by one thread alone
};

template <class Request, class Reply>
using AsyncCall = std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> (rpc::Node::Stub::*)(
    grpc::ClientContext*, const Request&, grpc::CompletionQueue*);
template <class Reply>
using Told = std::function<void(std::size_t target, Result<Reply>, const grpc::ClientContext&)>;

// Asks every daemon something, each for at most `deadline`: `call` is a method of the stub, `told` takes what
// came of it, in any thread. Returns when all have answered. A thread waits for many of them at once, because
// switching between threads is half of what a question costs.
template <class Request, class Reply>
void ask(Dialer& dialer, const std::vector<Target>& targets, Seconds deadline, const Request& request,
         AsyncCall<Request, Reply> call, int max_answer_bytes, const Told<Reply>& told,
         const Asking& how = {}) {
  struct Question {
    explicit Question(std::size_t of) : target(of) {}
    const std::size_t target;
    bool again = false;  // over a connection of before
    grpc::ClientContext context;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<rpc::Node::Stub> stub;
    Reply reply;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader;
  };
  const std::size_t threads = std::clamp<std::size_t>(targets.size(), 1, how.threads);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    constexpr std::chrono::milliseconds look_up{200};
    grpc::CompletionQueue queue;
    std::vector<std::unique_ptr<Question>> open;
    const auto start = [&](std::size_t i) {
      Question& q = *open.emplace_back(std::make_unique<Question>(i));
      q.context.set_deadline(std::chrono::system_clock::now() +
                             std::chrono::microseconds(std::int64_t(deadline.value * 1e6)));
      if (how.keep) q.channel = dialer.kept(targets[i]);
      q.again = q.channel != nullptr;
      if (!q.again) q.channel = dialer.dial(targets[i], max_answer_bytes);
      q.stub = rpc::Node::NewStub(q.channel);
      q.reader = (q.stub.get()->*call)(&q.context, request, &queue);
      q.reader->Finish(&q.reply, &q.status, &q);
    };
    const auto start_next = [&] {
      if (const std::size_t i = next++; i < targets.size()) start(i);
    };
    for (std::size_t i = 0; i < std::max<std::size_t>(how.at_once / threads, 1); ++i) start_next();
    while (!open.empty()) {
      void* tag = nullptr;
      bool ok = false;
      const auto until = how.ended ? std::chrono::system_clock::now() + look_up
                                   : std::chrono::system_clock::time_point::max();
      const auto came = queue.AsyncNext(&tag, &ok, until);
      if (how.ended && how.ended()) {
        next = targets.size();
        for (const auto& question : open) question->context.TryCancel();
      }
      if (came != grpc::CompletionQueue::GOT_EVENT) continue;
      const auto place = std::ranges::find_if(open, [&](const auto& each) { return each.get() == tag; });
      const std::unique_ptr<Question> q = std::move(*place);
      *place = std::move(open.back());
      open.pop_back();
      if (how.keep && q->status.ok()) dialer.keep(targets[q->target], q->channel);
      if (how.keep && !q->status.ok()) dialer.forget(targets[q->target]);
      // It may have been closed since, which says nothing of the daemon: once more, over a new one. So it may
      // where nobody answers, of which a connection to a machine that started anew hears nothing.
      const bool closed = q->status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                          q->status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
      if (q->again && closed && !(how.ended && how.ended())) {
        start(q->target);
        continue;
      }
      start_next();
      if (q->status.ok())
        told(q->target, std::move(q->reply), q->context);
      else
        told(q->target, tl::unexpected(error_of(q->status, targets[q->target], dialer.own.get())),
             q->context);
    }
    queue.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue.Next(&tag, &ok);) {
    }
  };
  if (threads == 1) return work();
  std::vector<std::jthread> others;
  while (others.size() < threads) others.emplace_back(work);
}

// That the certificate that the other end showed will expire soon.
std::string expiry_of(const grpc::ClientContext& context) {
  const auto authority = context.auth_context();
  if (!authority) return {};
  const auto shown = authority->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return shown.empty() ? "" : pki::expiry_warning({shown[0].data(), shown[0].size()}, ::time(nullptr));
}

// gRPC before 1.61 reads errno some calls after connect(2), a lock among them (grpc/grpc#35064), and the
// first lock of a process that threads fight for has Abseil look for a file that few kernels have. One node
// of many would fail with "No such file or directory"; so Abseil looks before gRPC connects.
void let_abseil_look() {
#if __has_include(<absl/base/internal/sysinfo.h>)
  absl::base_internal::NominalCPUFrequency();
#endif
}

// Debian's Abseil draws a graph of who waits for which lock, to report circles; that is for those who develop
// gRPC, and takes a fourth of what a question to a daemon costs.
void no_graph_of_locks() {
#if __has_include(<absl/synchronization/mutex.h>)
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

void set_up_grpc() {
  // What gRPC has to say goes to nobody's terminal: every failure comes back as an error of ours.
  gpr_set_log_function([](gpr_log_func_args* said) { log_debug("grpc: {}", said->message); });
  let_abseil_look();
  no_graph_of_locks();
}

}  // namespace

Error error_of(const grpc::Status& status, const Target& target, const pki::PemBundle* credentials) {
  const std::string said =
      status.error_message().empty() ? "no reason given" : one_line(status.error_message(), 1000);
  const auto error = [&](Cause cause, std::string what, std::string next = {}) {
    return Error{cause, std::move(what), target.node, std::move(next)};
  };
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return error(Cause::peer_lost, "its daemon ended the lease");
    case grpc::StatusCode::CANCELLED:
      return error(Cause::cancelled, "the stream was cancelled");
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return error(Cause::deadline, "no answer from " + to_text(target) + " in time");
    case grpc::StatusCode::UNIMPLEMENTED:
      return error(
          Cause::refused,
          to_text(target) + " does not know this request: another version of ringtrued, or another program",
          "install the same version on both");
    case grpc::StatusCode::PERMISSION_DENIED:
      return error(Cause::refused, said, one_line(status.error_details(), 1000));
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return error(Cause::refused, said);
    case grpc::StatusCode::INVALID_ARGUMENT:
      return error(Cause::bad_input, said);
    case grpc::StatusCode::ABORTED:  // a lease's last word
      return error(Cause::stopping, said, "try again once it runs");
    case grpc::StatusCode::UNAVAILABLE:
      if (said.starts_with("failed to connect")) return why_unreachable(target, credentials, said);
      return error(Cause::peer_lost, "its daemon is gone (" + said + ")");
    default:
      return error(Cause::peer_lost, said);
  }
}

std::shared_ptr<Dialer> make_dialer(std::shared_ptr<const pki::PemBundle> own, Seconds connect_time) {
  static std::once_flag once;
  std::call_once(once, set_up_grpc);
  auto dialer = std::make_shared<Dialer>();
  dialer->connect_time = connect_time;
  dialer->descriptors = raise_descriptor_limit();
  dialer->credentials =
      own ? grpc::SslCredentials({own->ca, own->key, own->cert}) : grpc::InsecureChannelCredentials();
  dialer->own = std::move(own);
  return dialer;
}

Result<std::shared_ptr<Dialer>> make_dialer(const std::vector<Target>& targets, const std::string& pki,
                                            Seconds deadline) {
  const Seconds connect_time = deadline * 0.8;  // what is left is for saying why there is no connection
  const bool tcp = std::ranges::any_of(targets, [](const Target& t) { return t.socket.empty(); });
  if (!tcp || pki.empty()) return make_dialer(nullptr, connect_time);
  auto own = pki::load_operator_credentials(pki);
  if (!own) return tl::unexpected(own.error());
  return make_dialer(std::make_shared<pki::PemBundle>(std::move(*own)), connect_time);
}

void ask_all(Dialer& dialer, const std::vector<Target>& targets, Seconds deadline,
             const std::function<void(std::size_t, Result<NodeState>)>& told, const Gently* gently) {
  rpc::DescribeRequest request;
  const wire::Program& here = wire::this_program();
  request.set_protocol(here.protocol);
  request.set_oldest_protocol(here.oldest);
  request.set_version(here.version);
  ask<rpc::DescribeRequest, rpc::DescribeReply>(
      dialer, targets, deadline, request, &rpc::Node::Stub::AsyncDescribe, max_description_bytes,
      [&](std::size_t i, const Result<rpc::DescribeReply>& reply, const grpc::ClientContext& context) {
        told(i, reply.map([&](const rpc::DescribeReply& r) {
          const wire::Program theirs = wire::program_of(r);
          return NodeState{.node = targets[i].node,
                           .reachable = true,
                           .version = theirs.version,
                           .lease = one_line(r.holder(), 200),
                           .cause = "",
                           .expiry = expiry_of(context),
                           .compatible = wire::compatible(theirs, wire::this_program())};
        }));
      },
      gently != nullptr ? Asking{1, gently->at_once, gently->ended, gently->keep} : Asking());
}

void inspect_all(Dialer& dialer, const std::vector<Target>& targets, const probe::ReadRequest& question,
                 Seconds deadline, const std::function<void(std::size_t, Result<std::string>)>& told) {
  rpc::InspectRequest request;
  request.set_window_s(question.window.value);
  request.set_wake_gpus(question.wake_gpus);
  request.set_routes(question.routes);
  ask<rpc::InspectRequest, rpc::InspectReply>(
      dialer, targets, deadline, request, &rpc::Node::Stub::AsyncInspect,
      question.routes ? wire::max_message_bytes : max_recording_bytes,
      [&](std::size_t i, Result<rpc::InspectReply> reply, const grpc::ClientContext&) {
        if (!reply)
          told(i, tl::unexpected(reply.error()));
        else if (reply->has_error())
          told(i, tl::unexpected(wire::from_wire(reply->error())));
        else
          told(i, std::move(*reply->mutable_recording()));
      });
}

void events_of_all(Dialer& dialer, const std::vector<Target>& targets, std::int64_t seconds, Seconds deadline,
                   const std::function<void(std::size_t, Result<run::DeviceEvents>)>& told) {
  rpc::EventsRequest request;
  request.set_seconds(seconds);
  ask<rpc::EventsRequest, rpc::EventsReply>(
      dialer, targets, deadline, request, &rpc::Node::Stub::AsyncEvents, max_recording_bytes,
      [&](std::size_t i, const Result<rpc::EventsReply>& reply, const grpc::ClientContext&) {
        if (!reply) return told(i, tl::unexpected(reply.error()));
        if (reply->has_error()) return told(i, tl::unexpected(wire::from_wire(reply->error())));
        auto events = run::from_json<run::DeviceEvents>(reply->record());
        if (!events)
          return told(i, fail(Cause::corrupted, "what its daemon told cannot be read: " + events.error().what,
                              targets[i].node, "install the same version on both"));
        told(i, std::move(events));
      });
}

}  // namespace ringtrue::fleet
