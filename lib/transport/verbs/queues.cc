#include "transport/verbs/queues.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>

namespace ringtrue::transport::verbs {

namespace {

constexpr int max_at_once = 8;  // receives a post

}  // namespace

Result<std::unique_ptr<Queues>> Queues::make(Device& device, Loop& loop, Shape shape) {
  const DeviceLimits& limits = device.limits();
  std::unique_ptr<Queues> queues(new Queues(device, loop, shape));
  queues->shape_.sends = std::min(shape.sends, limits.work_requests);
  const int pairs = shape.hops * shape.lines;
  const bool share = pairs > 1 && limits.shared_queues > 0;
  const int own = std::min(shape.receives + max_at_once, limits.work_requests);
  const int shared = std::min(shape.hops * shape.receives + max_at_once, limits.shared_work_requests);
  if (!share) queues->own_receives_ = own;
  queues->refill_at_ = std::clamp((share ? shared : own) / 2, 1, max_at_once);

  // As many as can be outstanding at a time: a completion queue that overflows is lost.
  const int completions = pairs * queues->shape_.sends + (share ? shared : pairs * own);
  if (completions > limits.completions)
    return fail(Cause::unavailable,
                fmt::format("{} queue pairs need {} completions in one queue, {} has {}", pairs, completions,
                            device.name(), limits.completions),
                {}, "use fewer ranks per node, --lanes, queue pairs or slots");
  Result<void> made = assign(queues->completions_, device.make_completion_queue(completions));
  if (made && share) made = assign(queues->shared_, device.make_shared_receive_queue(shared));
  if (made && share) made = queues->shared_->post(shared);
  if (made) made = loop.watch(queues->completions_->descriptor(), EPOLLIN, queues.get());
  if (!made) return tl::unexpected(made.error());
  loop.add_source(queues.get());
  return queues;
}

Queues::~Queues() {
  loop_.remove_source(this);
  if (completions_) loop_.forget(completions_->descriptor(), this);
}

Result<std::unique_ptr<QueuePair>> Queues::make_queue_pair(int port, int pkey_index, int inline_bytes) {
  auto made = device_.make_queue_pair(*completions_, shared_.get(), port, shape_.sends, own_receives_,
                                      inline_bytes, pkey_index);
  if (made && !shared_)
    if (const auto posted = (*made)->post_receives(own_receives_); !posted)
      return tl::unexpected(posted.error());
  return made;
}

void Queues::open(std::uint32_t queue_pair, User* user, std::size_t number) {
  Line& line = lines_.at(queue_pair);
  line.user = user;
  line.number = number;
  for (const Completion& completion : std::exchange(line.early, {})) user->completed(number, completion);
  if (broken_) user->broken(*broken_);
}

void Queues::close(std::uint32_t queue_pair) {
  const auto line = lines_.find(queue_pair);
  if (line == lines_.end()) return;
  line->second.user = nullptr;
  line->second.closed = true;
}

bool Queues::work() {
  const bool polled = poll();
  if (takers_.empty()) return polled;
  User* const user = takers_.front();
  takers_.pop_front();
  if (user->take()) soon(user);
  return true;
}

// Armed anew only after an event, so that many short waits without one cost nothing.
bool Queues::prepare_to_sleep() {
  if (broken_) return true;
  if (!armed_) {
    if (const auto armed = completions_->arm(); !armed) {
      break_down(armed.error());
      return false;
    }
    armed_ = true;
  }
  return !poll() && takers_.empty();
}

void Queues::ready(std::uint32_t) {
  completions_->take_events();
  armed_ = false;
}

bool Queues::poll() {
  if (broken_) return false;
  Completion batch[32];
  const int count = completions_->poll(batch);
  if (count < 0) {
    break_down(Error{Cause::unavailable,
                     fmt::format("a completion queue of {} broke", device_.name()),
                     {},
                     "see the kernel's log"});
    return true;
  }
  for (const Completion& completion : std::span(batch).first(std::size_t(count))) {
    const auto found = lines_.find(completion.queue_pair);
    if (found == lines_.end()) continue;
    Line& line = found->second;
    if (completion.status == 0 && completion.received) refill(line);
    if (line.user) {
      line.user->completed(line.number, completion);
    } else if (!line.closed) {
      line.early.push_back(completion);
    }
  }
  return count > 0;
}

void Queues::refill(Line& line) {
  int& taken = shared_ ? taken_ : line.taken;
  if (++taken < refill_at_) return;
  const auto posted = shared_ ? shared_->post(taken) : line.pair->post_receives(taken);
  if (!posted) break_down(posted.error());
  taken = 0;
}

void Queues::break_down(Error error) {
  broken_ = std::move(error);
  for (auto& [number, line] : lines_)
    if (line.user) line.user->broken(*broken_);
}

}  // namespace ringtrue::transport::verbs
