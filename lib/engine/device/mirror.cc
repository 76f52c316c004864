#include "engine/device/mirror.h"

#include <sched.h>

#include <algorithm>
#include <cassert>

namespace ringtrue::engine {

namespace cuda = transport::cuda;

namespace {

template <class Each>
bool all_needed(const Transfers& plan, const std::vector<std::uint32_t>& steps, Each each) {
  for (const std::uint32_t s : steps) {
    const auto first = plan.need.begin() + plan.steps[s].first_need;
    if (!std::all_of(first, first + plan.steps[s].needs, each)) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Store>> Mirror::make(cuda::Driver& driver, int gpu, const StoreSetup& setup,
                                            const collective::Algorithm& algorithm) {
  std::unique_ptr<Mirror> made(new Mirror(setup));
  auto data =
      DeviceData::make(driver, gpu, setup.job, setup.values, setup.endpoint.rank(), setup.endpoint.data());
  auto done = assign(made->data_, std::move(data));
  if (done) done = made->equip(algorithm);
  if (!done) return tl::unexpected(done.error());
  setup.loop.add_source(made.get());
  return made;
}

Result<void> Mirror::equip(const collective::Algorithm& algorithm) {
  landed_.resize(window);
  Result<void> made = assign(lifted_, data_->device().make_event());
  for (auto& event : landed_)
    if (made) made = assign(event, data_->device().make_event());
  if (!made) return made;
  const collective::Call& call = setup_.job.call;
  if (!algorithm.uses_packets()) {
    plan_ = transfers_of(algorithm, layout(), rank(), call);
    return {};
  }
  made = assign(blocks_, DeviceBlocks::make(*data_, call,
                                            [this](Error error) { good(tl::unexpected(std::move(error))); }));
  if (!made) return made;
  inner().packets()->note_written([this](const Slice& slice) {
    if (slice.space == Space::data) written_.add(slice.offset, slice.length);
  });
  return {};
}

bool Mirror::good(const Result<void>& result) {
  if (!result && !std::exchange(failed_, true)) setup_.listener.failed(result.error());
  return result.has_value();
}

void Mirror::fill(bool) {
  good(data_->fill());
}

Mismatch Mirror::check(bool everything) {
  const auto found = data_->check(everything);
  if (!found) good(tl::unexpected(found.error()));
  return found.value_or(Mismatch{});
}

// ---- a call ----

collective::Endpoint& Mirror::begin_call() {
  counts_.clear();
  asked_.clear();
  wanted_.assign(plan_.down.size(), 0);
  here_.assign(plan_.down.size(), 0);
  told_ = down_ = 0;
  posts_.clear();
  queue_.clear();
  rising_.clear();
  over_ = arrived_ = false;
  end_waiter_ = nullptr;
  if (blocks_) {
    written_.clear();
    blocks_->start();
  }
  return blocks_ ? static_cast<collective::Endpoint&>(inner()) : *this;
}

void Mirror::end_call() {
  lift();
  assert(rising_.empty() && "a receive that its program did not wait for");
  Result<void> told;
  for (const Transfer& part : written_.all())
    if (told) told = data_->up(part.offset, part.length);
  if (told) told = data_->up_stream().record(*lifted_);
  over_ = true;
  good(told);
}

bool Mirror::has_ended() const {
  if (!over_ || arrived_) return arrived_;
  const auto reached = lifted_->reached();
  if (!reached) const_cast<Mirror*>(this)->good(tl::unexpected(reached.error()));
  return arrived_ = reached && *reached;
}

// Tells the GPU what to copy next, and learns what has come.
bool Mirror::bring() {
  const std::size_t before = down_;
  while (down_ < told_) {
    const auto landed = landed_[down_ % window]->reached();
    if (!landed) good(tl::unexpected(landed.error()));
    if (!landed || !*landed) break;
    here_[asked_[down_++]] = 1;
  }
  while (!failed_ && told_ < asked_.size() && told_ - down_ < window) {
    const Transfer& next = plan_.down[asked_[told_]];
    if (!good(data_->down(next.offset, next.length))) break;
    if (!good(data_->down_stream().record(*landed_[told_ % window]))) break;
    ++told_;
  }
  return down_ > before;
}

std::uint32_t Mirror::step_of(const PostName& name) {
  return plan_.named.at(name)[counts_[name]++];
}

void Mirror::ask(const Post& post) {
  all_needed(plan_, post.steps, [this](std::uint32_t down) {
    if (!std::exchange(wanted_[down], 1)) asked_.push_back(down);
    return true;
  });
  bring();
}

bool Mirror::is_here(const Post& post) const {
  return all_needed(plan_, post.steps, [this](std::uint32_t down) { return here_[down] != 0; });
}

bool Mirror::release() {
  bool any = false;
  while (!queue_.empty() && is_here(posts_[queue_.front().first - 1])) {
    const auto [token, go] = std::move(queue_.front());
    queue_.pop_front();
    launch(token, go);
    any = true;
  }
  return any;
}

void Mirror::lift(const Post& post) {
  for (const std::uint32_t s : post.steps) {
    const Transfers::Step& step = plan_.steps[s];
    for (std::uint32_t u = step.first_up; u < step.first_up + step.ups; ++u)
      if (!failed_) good(data_->up(plan_.up[u].offset, plan_.up[u].length));
  }
}

bool Mirror::lift() {
  return std::erase_if(rising_, [this](std::uint64_t token) {
           const Post& post = posts_[token - 1];
           if (!inner().done(post.inner)) return false;
           lift(post);
           return true;
         }) > 0;
}

// ---- posts ----

Token Mirror::post(std::vector<std::uint32_t> steps, Go go) {
  if (steps.empty()) return Token{};
  posts_.push_back({{}, false, std::move(steps)});
  const std::uint64_t token = posts_.size();
  ask(posts_.back());
  if (queue_.empty() && is_here(posts_.back())) {
    launch(token, go);
  } else {
    queue_.emplace_back(token, std::move(go));
  }
  return Token{token};
}

void Mirror::launch(std::uint64_t token, const Go& go) {
  const Token inner_token = go(inner());
  Post& post = posts_[token - 1];
  post.inner = inner_token;
  post.posted = true;
  if (post.waiter) resume_when_done(Token{token}, post.waiter);
  if (std::any_of(post.steps.begin(), post.steps.end(),
                  [this](std::uint32_t step) { return plan_.steps[step].ups > 0; }))
    rising_.push_back(token);
}

std::vector<std::uint32_t> Mirror::steps_of(PostName (*name)(Rank, Lane), std::span<const Rank> peers,
                                            Lane lane) {
  std::vector<std::uint32_t> steps;
  for (const Rank peer : peers) steps.push_back(step_of(name(peer, lane)));
  return steps;
}

Token Mirror::send_all(std::span<const Rank> to, Lane lane, Slice from) {
  return post(steps_of(PostName::send, to, lane),
              [=, to = std::vector<Rank>(to.begin(), to.end())](RankEndpoint& inner) {
                return inner.send_all(to, lane, from);
              });
}

Token Mirror::receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) {
  return post({step_of(PostName::receive(from, lane))},
              [=](RankEndpoint& inner) { return inner.receive_reduce(from, lane, into, with, how); });
}

Token Mirror::receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) {
  return post(steps_of(PostName::receive, from, lane),
              [=, from = std::vector<Rank>(from.begin(), from.end())](RankEndpoint& inner) {
                return inner.receive_reduce_all(from, lane, into, how);
              });
}

// Done on return: what it needs is waited for here.
void Mirror::copy(Slice into, Slice from) {
  const Post post{{}, true, {step_of(PostName::copy(into))}};
  const Deadline patience = Deadline::in(Seconds(60));
  ask(post);
  while (!failed_ && (!queue_.empty() || !is_here(post))) {
    if (!bring() && !release()) ::sched_yield();
    if (patience.passed()) good(fail(Cause::deadline, "copies from the GPU did not end in time"));
  }
  if (failed_) return;
  inner().copy(into, from);
  lift(post);
}

bool Mirror::done(Token token) const {
  if (token.id == 0) return true;
  const Post& post = posts_[token.id - 1];
  return post.posted && inner().done(post.inner);
}

void Mirror::resume_when_done(Token token, std::coroutine_handle<> waiter) {
  Post& post = posts_[token.id - 1];
  post.waiter = waiter;
  if (!post.posted) return;
  if (inner().done(post.inner)) {
    setup_.loop.resume_soon(waiter);
  } else {
    inner().resume_when_done(post.inner, waiter);
  }
}

// ---- the loop ----

bool Mirror::work() {
  if (failed_) return false;
  bool any = bring();
  any |= release();
  any |= lift();
  if (end_waiter_ && has_ended()) {
    setup_.loop.resume_soon(std::exchange(end_waiter_, nullptr));
    any = true;
  }
  return any;
}

bool Mirror::busy() const {
  return !failed_ && (down_ < asked_.size() || end_waiter_);
}

// A GPU rings no bell: while copies are under way, the thread looks again soon, and at its descriptors as
// well.
bool Mirror::prepare_to_sleep() {
  constexpr std::int64_t soon_ns = 10'000;
  if (busy() && !std::exchange(timer_, true)) setup_.loop.at(now_ns() + soon_ns, [this] { timer_ = false; });
  return std::none_of(rising_.begin(), rising_.end(),
                      [this](std::uint64_t token) { return inner().done(posts_[token - 1].inner); });
}

}  // namespace ringtrue::engine
