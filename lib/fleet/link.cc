#include "fleet/link.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "fleet/dialer.h"
#include "pki/x509.h"
#include "wire/node.grpc.pb.h"
#include "wire/parts.h"

namespace ringtrue::fleet {

namespace {

// Whether a daemon has the name that the operator used. Addresses and sockets are no names.
bool is_named(const std::string& daemon, const Target& target) {
  const std::string name = certificate_name(target);
  return !target.socket.empty() || pki::is_address(name) || name == "localhost" ||
         pki::certificate_is_for({daemon}, name);
}

Result<Reply> reply_of(rpc::Event& event, const Target& target) {
  Reply reply;
  reply.sequence = event.sequence();
  reply.at = now_ns();
  if (event.has_error()) reply.error = wire::from_wire(event.error());
  if (event.has_acquired() && !wire::compatible(wire::program_of(event.acquired()), wire::this_program()))
    reply.error = wire::version_mismatch(wire::program_of(event.acquired()), wire::this_program());
  else if (event.has_acquired() && !is_named(event.acquired().node(), target))
    reply.error = Error{Cause::refused, "its daemon calls itself " + one_line(event.acquired().node(), 255),
                        target.node, "give --hosts the name that the daemon has by --node"};
  if (event.has_acquired()) reply.ranks = event.acquired().ranks_per_node();
  if (event.has_prepared()) {
    auto prepared = wire::from_wire(event.prepared());
    if (!prepared) return tl::unexpected(prepared.error());
    reply.prepared = std::move(*prepared);
  }
  if (event.has_report()) {
    auto report = wire::from_wire(event.report());
    if (!report) return tl::unexpected(report.error());
    reply.report = std::move(*report);
  }
  return reply;
}

// Streams that are over. gRPC joins its callback threads where the last channel is destroyed, so that must
// not happen on one of them: streams are put here at their end and destroyed by whoever comes along.
class Retired {
 public:
  static Retired& all() {
    static auto* const retired = new Retired;  // never destroyed: streams may end while the process does
    return *retired;
  }
  void add(std::shared_ptr<Link> link) {
    const std::lock_guard lock(mutex_);
    links_.push_back(std::move(link));
  }
  void sweep() {
    std::vector<std::shared_ptr<Link>> old;
    {
      const std::lock_guard lock(mutex_);
      old.swap(links_);
    }
    // Destroyed without the lock: a callback thread that is being joined may want it.
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Link>> links_;
};

class Stream final : public Link, private grpc::ClientBidiReactor<rpc::Command, rpc::Event> {
 public:
  Stream(Target target, int node, std::shared_ptr<Listener> listener)
      : target_(std::move(target)), node_(node), listener_(std::move(listener)) {}

  void start(const Dialer& dialer, std::shared_ptr<Stream> self) {
    self_ = std::move(self);
    own_ = dialer.own;
    channel_ = dialer.dial(target_, wire::max_message_bytes);
    stub_ = rpc::Node::NewStub(channel_);
    stub_->async()->Lease(&context_, this);
    AddHold();  // writes are started from outside of reactions
    StartRead(&event_);
    StartCall();
  }

  void send(CommandPtr command) override {
    const std::lock_guard lock(mutex_);
    if (over_ || closing_) return;
    queue_.push_back(std::move(command));
    if (queue_.size() == 1) StartWrite(queue_.front().get());
  }

  void heartbeat() override {
    static const auto beat = std::make_shared<const rpc::Command>(wire::plain_command(Phase::heartbeat));
    {
      const std::lock_guard lock(mutex_);
      if (!queue_.empty()) return;  // what is under way says as much
    }
    send(beat);
  }

  void close() override {
    const std::lock_guard lock(mutex_);
    if (over_ || closing_) return;
    closing_ = true;
    if (queue_.empty()) StartWritesDone();
  }

  void cancel() override { context_.TryCancel(); }

  bool connected() const override { return channel_->GetState(false) == GRPC_CHANNEL_READY; }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      const std::lock_guard lock(mutex_);
      over_ = true;
      RemoveHold();
      return;
    }
    listener_->heard(node_);
    if (event_.has_error() && event_.sequence() == 0) {  // to no command: why the stream will end
      parting_ = wire::from_wire(event_.error());
    } else if (!event_.has_heartbeat()) {
      auto reply = reply_of(event_, target_);
      if (!reply) {
        Reply broken;
        broken.sequence = event_.sequence();
        broken.at = now_ns();
        broken.error = Error{Cause::corrupted, "its daemon sent an invalid message: " + reply.error().what,
                             target_.node, "install the same version on both"};
        reply = std::move(broken);
      }
      listener_->replied(node_, std::move(*reply));
    }
    event_.Clear();
    StartRead(&event_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    queue_.pop_front();
    if (!ok || over_) {
      queue_.clear();
      return;
    }
    if (!queue_.empty())
      StartWrite(queue_.front().get());
    else if (closing_)
      StartWritesDone();
  }

  void OnDone(const grpc::Status& status) override {
    listener_->ended(node_, parting_ ? *parting_ : error_of(status, target_, own_.get()));
    Retired::all().add(std::move(self_));
  }

  const Target target_;
  const int node_;
  const std::shared_ptr<Listener> listener_;
  std::shared_ptr<const pki::PemBundle> own_;
  std::shared_ptr<Stream> self_;  // until gRPC is done with it
  grpc::ClientContext context_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<rpc::Node::Stub> stub_;
  rpc::Event event_;
  std::optional<Error> parting_;  // why the daemon ends the stream

  std::mutex mutex_;
  std::deque<CommandPtr> queue_;  // the front is being written
  bool closing_ = false;
  bool over_ = false;
};

}  // namespace

std::shared_ptr<Link> open_link(Dialer& dialer, const Target& target, int node,
                                std::shared_ptr<Listener> listener) {
  Retired::all().sweep();
  auto stream = std::make_shared<Stream>(target, node, std::move(listener));
  stream->start(dialer, stream);
  return stream;
}

void sweep_links() {
  Retired::all().sweep();
}

}  // namespace ringtrue::fleet
