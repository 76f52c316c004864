// A lease's stream: commands in, events out, heartbeats both ways.
#include <fmt/format.h>

#include <deque>
#include <mutex>

#include "base/ip.h"
#include "base/text.h"
#include "daemon/call.h"
#include "daemon/client_limits.h"
#include "daemon/grpc_log.h"
#include "wire/parts.h"

namespace ringtrue::daemon {
namespace {

constexpr int missed_heartbeats = 3;

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

void accept_leases(CallContext& context) {
  std::make_shared<LeaseCall>(context)->wait();
}

}  // namespace ringtrue::daemon
